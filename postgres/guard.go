package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/refrain-dev/refrain"
)

// turn is one effect's time on a connection. Whatever handle, rows or batch the
// effect kept, nothing passes once it is over.
type turn struct {
	conn *pgx.Conn
	base context.Context // of the effect; every statement ends with it

	// busy is held while something is asked of the connection: whoever goes on in a
	// goroutine when the effect has returned must not meet COMMIT there.
	busy sync.Mutex

	mu     sync.Mutex
	over   bool
	poison error // the first error after which nothing may be committed
	last   error // the latest error of any kind, for whoever wonders what broke
	missed error // the first one of a statement the server does not know of
	met    met
	wrote  bool   // a command tag told of changed rows
	large  bool   // large objects were used
	forgot bool   // prepared statements may be gone
	clean  string // the latest text that was admitted
	open   func() error
}

// admit refuses texts that must not reach the server: after the end, after a
// fatal error, and verbs that are not the effect's. It is a guard rail; that the
// transaction is still the same is proven by the record's own statement.
func (t *turn) admit(texts ...string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.standing(); err != nil {
		return err
	}
	for _, text := range texts {
		if text == t.clean { // the handle and the tracer ask about the same one
			continue
		}
		t.forgot = t.forgot || mentions(text, "deallocate") || mentions(text, "discard")
		v := verb(text)
		if v == "" {
			v = schemaVerb(text)
		}
		if v != "" {
			t.poison = fmt.Errorf("%w: %s", refrain.ErrOwned, v)
			return t.poison
		}
		t.clean = text
	}
	return nil
}

// enter is admit for whoever uses the connection until leave. A second goroutine
// is refused, and so is a callback of what is under way: a connection does one
// thing at a time.
func (t *turn) enter(texts ...string) error {
	if !t.busy.TryLock() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.miss(errTwice)
		return errTwice
	}
	if err := t.admit(texts...); err != nil {
		t.busy.Unlock()
		return err
	}
	return nil
}

func (t *turn) leave() { t.busy.Unlock() }

// errTwice: the transaction was used by two at a time.
var errTwice = errors.New("postgres: the transaction is in use by another goroutine or callback")

func (t *turn) standing() error {
	if t.over {
		return pgx.ErrTxClosed
	}
	return t.poison
}

// refuse makes the transaction of no more use.
func (t *turn) refuse(what string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.standing(); err != nil {
		return err
	}
	t.poison = fmt.Errorf("%w: %s", refrain.ErrOwned, what)
	return t.poison
}

// saw keeps what a statement's outcome says of the transaction.
func (t *turn) saw(ctx context.Context, tag pgconn.CommandTag, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note(ctx, tag, err)
}

// note is saw where the lock is held.
func (t *turn) note(ctx context.Context, tag pgconn.CommandTag, err error) {
	if err == nil {
		t.wrote = t.wrote || !tag.Select() && tag.RowsAffected() > 0
		return
	}
	t.last = err
	t.met = t.met.after(ctx, err)
	var unprepared pgx.ErrPreprocessingBatch
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &unprepared) {
		t.miss(err)
	}
	if t.poison == nil && !t.over && (strings.HasPrefix(sqlState(err), "40") || t.conn.IsClosed()) {
		t.poison = err
	}
}

// sent is saw for a statement itself, not for its rows: an error that is not the
// server's says that the server was not asked, or that nobody knows.
func (t *turn) sent(ctx context.Context, tag pgconn.CommandTag, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.note(ctx, tag, err)
	if err != nil {
		t.miss(err)
	}
}

// miss keeps an error after which the server would go on as if the statement had
// never been meant: it is no error of its own, which aborts the transaction.
func (t *turn) miss(err error) {
	if t.missed == nil && !t.over && sqlState(err) == "" {
		t.missed = err
	}
}

func (t *turn) whole() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.missed == nil
}

func (t *turn) forgive() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.missed = nil
}

// swallowed is why a result must not be recorded although the effect returned no
// error: a statement of it failed. What is rolled back anyway may be refused so.
func (t *turn) swallowed(status byte, rejected bool) error {
	switch {
	case rejected:
	case t.missed != nil:
		return fmt.Errorf("%w: %w", errAborted, t.missed)
	case status != active:
		return fmt.Errorf("%w: %w", errAborted, t.last)
	}
	return nil
}

// opened keeps what a result that is being read is closed with. One that the
// effect has closed closes again without harm.
func (t *turn) opened(close func() error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = close
}

// end takes the connection back and closes what the effect left unread. It
// returns why the transaction must not be committed, if a statement said so.
func (t *turn) end() error {
	t.busy.Lock() // a goroutine's last statement ends with the effect's context at the latest
	defer t.busy.Unlock()
	t.mu.Lock()
	open := t.open
	t.open = nil
	t.mu.Unlock()
	if open != nil {
		t.saw(t.base, pgconn.CommandTag{}, open())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	return t.poison
}

// bound makes a statement end with the effect at the latest.
func (t *turn) bound(ctx context.Context) context.Context {
	if ctx.Done() == t.base.Done() {
		return ctx
	}
	both, cancel := context.WithCancelCause(ctx)
	context.AfterFunc(t.base, func() { cancel(context.Cause(t.base)) })
	return both
}

// schemaVerb returns the first statement of text that changes the schema, who may
// do what, or the session beyond the transaction, "" when there is none: the next
// caller on this connection would inherit synchronous_commit=off. Temporary objects
// and SET LOCAL are the effect's own.
func schemaVerb(text string) string {
	for text != "" {
		var words [2]string
		words, text = opening(text)
		switch words[0] {
		case "ALTER", "DROP", "GRANT", "REVOKE", "REINDEX", "CLUSTER", "REASSIGN", "COMMENT", "SECURITY", "IMPORT":
			return words[0]
		case "RESET":
			return words[0]
		case "SET":
			switch words[1] {
			case "LOCAL", "CONSTRAINTS", "TRANSACTION":
			default:
				return words[0]
			}
		case "CREATE":
			switch words[1] {
			case "TEMP", "TEMPORARY", "LOCAL", "GLOBAL":
			default:
				return words[0]
			}
		}
	}
	return ""
}
