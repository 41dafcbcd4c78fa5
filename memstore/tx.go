package memstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/refrain-dev/refrain"
)

var (
	// ErrDone: the transaction, or the effect it was given to, has ended.
	ErrDone = errors.New("memstore: the transaction has ended")
	// ErrNoTable: a statement names no table. Like any failed statement it makes
	// its transaction unusable: an effect that ignores it is rolled back.
	ErrNoTable = errors.New("memstore: the table has no name")
)

// Tx is a transaction of key-value rows. It is for one goroutine and, in an
// effect, until the effect returns. A statement that failed poisons it: all
// later ones fail and so does the COMMIT.
type Tx struct{ h *handle }

// handle is one holder's access to a transaction.
type handle struct {
	t       *transaction
	owned   bool // not its holder's to end
	running bool // given to an effect, in which nothing else is executed
	ended   bool
}

func (tx Tx) statement(table string, run func(t *transaction)) error {
	t := tx.h.t
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case tx.h.ended || t.over:
		return ErrDone
	case t.poison != nil:
		return t.poison
	case table == "":
		t.poison = fmt.Errorf("a failed statement has made the transaction unusable: %w", ErrNoTable)
		return ErrNoTable
	}
	run(t)
	return nil
}

// usable reports whether statements can still succeed.
func (tx Tx) usable() error { return tx.statement("any", func(*transaction) {}) }

// Put inserts or replaces a row. Errors: ErrDone, ErrNoTable, or that an
// earlier statement failed; so for all statements.
func (tx Tx) Put(table, key string, value []byte) error {
	return tx.statement(table, func(t *transaction) {
		t.writes++
		t.db.rows.put(t, rowKey{table, key}, bytes.Clone(value))
	})
}

// Delete removes a row; a missing one is no error.
func (tx Tx) Delete(table, key string) error {
	return tx.statement(table, func(t *transaction) {
		t.writes++
		t.db.rows.remove(t, rowKey{table, key})
	})
}

// Get reads a row, its own changes included; ok is false when there is none.
func (tx Tx) Get(table, key string) (value []byte, ok bool, err error) {
	err = tx.statement(table, func(t *transaction) {
		value, ok = t.db.rows.get(rowKey{table, key}, true)
		value = bytes.Clone(value)
	})
	return value, ok, err
}

// Scan reads the rows of a table by key, its own changes included, as they are
// at the call.
func (tx Tx) Scan(table string) (rows iter.Seq2[string, []byte], err error) {
	err = tx.statement(table, func(t *transaction) { rows = scan(&t.db.rows, table, true) })
	return rows, err
}

// Commit makes the changes visible. An effect's transaction is not the effect's
// to end: [refrain.ErrOwned].
func (tx Tx) Commit() error {
	if tx.h.owned {
		return refrain.ErrOwned
	}
	return tx.h.t.commit()
}

// Rollback drops the changes; after Commit it is [ErrDone] and harmless.
func (tx Tx) Rollback() error {
	if tx.h.owned {
		return refrain.ErrOwned
	}
	t := tx.h.t
	t.mu.Lock()
	over := t.over
	t.mu.Unlock()
	if over {
		return ErrDone
	}
	t.end()
	return nil
}

// Begin starts a transaction for [DB.ExecuteIn] or plain writes, waiting for the
// running one under ctx. Its holder must end it; until then nobody else writes,
// and Execute in the same goroutine would wait for itself.
func (db *DB) Begin(ctx context.Context) (Tx, error) {
	t, err := db.begin(ctx)
	if err != nil {
		return Tx{}, err
	}
	return Tx{&handle{t: t}}, nil
}

// Update runs f in a transaction and commits it unless f returns an error,
// panics or ends its goroutine.
func (db *DB) Update(ctx context.Context, f func(tx Tx) error) error {
	return db.within(ctx, func(t *transaction) error { return f(Tx{&handle{t: t, owned: true}}) })
}

// Get reads a committed row.
func (db *DB) Get(table, key string) (value []byte, ok bool) {
	db.mu.RLock()
	defer db.mu.RUnlock()
	value, ok = db.rows.get(rowKey{table, key}, false)
	return bytes.Clone(value), ok
}

// Scan reads the committed rows of a table by key, as they are at the call.
func (db *DB) Scan(table string) iter.Seq2[string, []byte] {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return scan(&db.rows, table, false)
}

func scan(rows *table[rowKey, []byte], name string, mine bool) iter.Seq2[string, []byte] {
	type row struct {
		key   string
		value []byte
	}
	var found []row
	for k, v := range rows.all(mine) {
		if k.table == name {
			found = append(found, row{k.key, bytes.Clone(v)})
		}
	}
	slices.SortFunc(found, func(a, b row) int { return strings.Compare(a.key, b.key) })
	return func(yield func(string, []byte) bool) {
		for _, r := range found {
			if !yield(r.key, r.value) {
				return
			}
		}
	}
}
