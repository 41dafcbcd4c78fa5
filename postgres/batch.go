package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Batch is what an effect of a [Group] writes with: statements are queued, and
// go to the server together with the other callers'. It is valid until the
// effect returns, and used by one goroutine.
type Batch struct {
	send func(ctx context.Context, queued []*pgx.QueuedQuery) error

	mu     sync.Mutex
	over   bool
	queued []*pgx.QueuedQuery
	writes int   // statements sent that may have changed something
	failed error // the first of Send
}

// errBatchOver: the effect has ended.
var errBatchOver = errors.New("postgres: the batch was used after its effect ended")

// Queue adds a statement; its arguments must not change until the effect has
// returned. What it answers is read by a callback of the returned query, which
// runs inside [Batch.Send] or, at the latest, after the effect has returned.
// Rows given to a callback are already in memory. A statement that fails makes
// the whole effect fail.
//
// SELECT, INSERT, UPDATE, DELETE and MERGE share a transaction with other
// callers; an effect with any other statement, or with set_config, runs alone.
func (b *Batch) Queue(query string, args ...any) *pgx.QueuedQuery {
	q := &pgx.QueuedQuery{SQL: query, Arguments: args}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.queued = append(b.queued, q)
	}
	return q
}

// Len is the number of statements that are queued and not sent yet.
func (b *Batch) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queued)
}

// Send sends what is queued and returns after the callbacks have run, with the
// first error of one of them. It is for an effect that must know an answer
// before it goes on; each Send is one more round trip of everybody in the group,
// and an effect that needs none is written with its record in a single one.
//
// After an error of Send the effect must return: what it did is rolled back,
// whatever it answers, and it may run again.
func (b *Batch) Send(ctx context.Context) error {
	queued, err := b.take(false)
	if err != nil || len(queued) == 0 {
		return err
	}
	err = b.send(ctx, queued)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed == nil {
		b.failed = err
	}
	return err
}

// swallowed is the error of a Send after which the effect returned none. What is
// rolled back anyway may be refused so.
func (b *Batch) swallowed(rejected bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed == nil || rejected {
		return nil
	}
	return fmt.Errorf("%w: %w", errAborted, b.failed)
}

// take empties the queue; at its end the batch takes no more.
func (b *Batch) take(end bool) ([]*pgx.QueuedQuery, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return nil, errBatchOver
	}
	b.over = end
	queued := b.queued
	b.queued = nil
	if !end {
		b.writes += changing(queued)
	}
	return queued, nil
}

// wrote reports whether the effect asked for a change.
func (b *Batch) wrote() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.writes > 0
}

// changing counts the statements that do more than read, as far as their first
// word tells.
func changing(queued []*pgx.QueuedQuery) (n int) {
	for _, q := range queued {
		switch word, _ := firstWord(q.SQL); word {
		case "SELECT", "VALUES", "TABLE", "SHOW", "EXPLAIN":
		default:
			n++
		}
	}
	return n
}

// listens reports whether somebody waits for one of the answers.
func listens(queued []*pgx.QueuedQuery) bool {
	for _, q := range queued {
		if q.Fn != nil {
			return true
		}
	}
	return false
}

// shareable reports whether a statement leaves nothing behind in a transaction
// but what it writes: no setting, no savepoint, no end of it. Statements go one
// by one, so the first word is the only verb.
func shareable(query string) bool {
	switch word, _ := firstWord(query); word {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "WITH", "VALUES", "TABLE":
		return !mentions(query, "set_config")
	}
	return false
}

// firstWord is the first word of a statement in capitals, and what follows it.
func firstWord(query string) (word, rest string) {
	for query != "" {
		n := skipped(query)
		if n == 0 && query[0] == '(' {
			n = 1
		}
		if n == 0 {
			break
		}
		query = query[n:]
	}
	n := 0
	for n < len(query) && letter(query[n]) {
		n++
	}
	return strings.ToUpper(query[:n]), query[n:]
}

// mentions is strings.Contains for a word in small letters, whatever its case.
func mentions(query, word string) bool {
	for i := 0; i+len(word) <= len(query); i++ {
		if query[i]|0x20 == word[0] && strings.EqualFold(query[i:i+len(word)], word) {
			return true
		}
	}
	return false
}
