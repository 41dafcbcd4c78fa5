package postgres

import (
	"context"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain/record"
)

// Listen hears, on a connection of its own, that effects in other processes have
// committed, and wakes who waits for them; see [Options.Notify]. It returns when
// ctx ends or the connection is lost. Without it waiters ask again every now and
// then, and so they do beside it.
func (db *DB) Listen(ctx context.Context) error {
	leave, err := db.tasks.enter()
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(db.ended, cancel)()
	conn, err := pgx.ConnectConfig(ctx, db.conns.Config().ConnConfig)
	if err != nil {
		return fmt.Errorf("postgres: listen: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{db.channel()}.Sanitize()); err != nil {
		return fmt.Errorf("postgres: listen: %w", err)
	}
	db.ears.listening(1)
	defer db.ears.listening(-1)
	for {
		n, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("postgres: listen: %w", err)
		}
		if n.Payload == operationsPayload {
			db.ears.hearDue()
		} else if b, err := hex.DecodeString(n.Payload); err == nil && len(b) == 16 {
			db.ears.hear([16]byte(b))
		}
	}
}

// channel keeps the stores of one database apart.
func (db *DB) channel() string { return fmt.Sprintf("refrain_%08x", salt(db.opts.Schema)) }

// tell is the statement by which a COMMIT wakes waiters elsewhere.
func (db *DB) tell(hash [16]byte) statement {
	return statement{`SELECT pg_notify($1::text, $2::text)`, []any{db.channel(), hex.EncodeToString(hash[:])}}
}

// ears wakes those who wait for an identity. The zero value is ready.
type ears struct {
	mu      sync.Mutex
	loops   int // of Listen
	waiting map[[16]byte]map[chan struct{}]bool

	operations chan struct{} // see due
}

func (e *ears) listening(n int) {
	e.mu.Lock()
	e.loops += n
	e.mu.Unlock()
}

// wake is the driver's: woken is closed when the identity may have been settled;
// nil where nobody listens.
func (e *ears) wake(id record.Identity) (woken <-chan struct{}, stop func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.loops == 0 {
		return nil, func() {}
	}
	hash, ch := id.Hash(), make(chan struct{})
	if e.waiting == nil {
		e.waiting = make(map[[16]byte]map[chan struct{}]bool)
	}
	if e.waiting[hash] == nil {
		e.waiting[hash] = make(map[chan struct{}]bool)
	}
	e.waiting[hash][ch] = true
	return ch, func() { e.drop(hash, ch) }
}

func (e *ears) drop(hash [16]byte, ch chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.waiting[hash], ch)
	if len(e.waiting[hash]) == 0 {
		delete(e.waiting, hash)
	}
}

func (e *ears) hear(hash [16]byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for ch := range e.waiting[hash] {
		close(ch)
	}
	delete(e.waiting, hash)
}
