package engine

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/upkeep"
)

// connectWithin is how long a server may take to answer, where the URL says
// nothing else.
const connectWithin = 10 * time.Second

// connections are how many an open database has: for the engine, and for reads,
// which slow effects must not keep waiting.
func (o Options) connections() (effects, reads int) {
	if o.Brief {
		return 2, 1
	}
	return 10, 4
}

// server is an open database of a server.
type server struct {
	upkeep.Keeper
	refrain.Executor[refrain.SQLTx]
	operations operation.Store[refrain.SQLTx]
	reader     *sql.DB
	release    func() error // what the engine does not close

	sql   func(statement string) string
	setup string // begins a transaction of Setup, so that two wait for each other
	empty string // counts the tables where Refrain's belong, without those that torn is about
	torn  bool   // a migration under way is seen half done
}

func (s server) Close(ctx context.Context) error {
	return errors.Join(s.Keeper.Close(ctx), s.release())
}

func (s server) Operations() operation.Store[refrain.SQLTx] { return s.operations }

func (s server) Reader() *sql.DB             { return s.reader }
func (s server) Notice() string              { return "" }
func (s server) SQL(statement string) string { return s.sql(statement) }

func (s server) Empty(ctx context.Context) (bool, error) {
	var tables int
	err := s.reader.QueryRowContext(ctx, s.empty).Scan(&tables)
	if err != nil || tables > 0 || !s.torn {
		return tables == 0, err
	}
	status, err := s.MigrationStatus(ctx)
	return status.Version == 0, err
}

func (s server) Setup(ctx context.Context, statements ...string) error {
	return s.Update(ctx, func(ctx context.Context, tx refrain.SQLTx) error {
		for _, statement := range append([]string{s.setup}, statements...) {
			if _, err := tx.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s server) Update(ctx context.Context, work func(ctx context.Context, tx refrain.SQLTx) error) error {
	tx, err := s.reader.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // nothing after a commit
	if err := work(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

// reach asks whether the database answers, and says in one line why it does not.
func reach(ctx context.Context, at Place, db *sql.DB) error {
	ctx, cancel := context.WithTimeoutCause(ctx, connectWithin, errNoAnswer)
	defer cancel()
	err := db.PingContext(ctx)
	if err == nil {
		return nil
	}
	if errors.Is(err, context.DeadlineExceeded) && context.Cause(ctx) == errNoAnswer {
		err = errNoAnswer
	}
	hint := Helps(err)
	if hint == "" {
		hint = "check the URL and the server"
	}
	return unusable(hint, "open %s: %w", at, cause(err))
}

var errNoAnswer = errors.New("no answer within " + connectWithin.String())

// tourName is a name nobody else has.
func tourName() string { return "refrain_tour_" + strings.ToLower(rand.Text()) }

// makeOwn makes a place for a tour. grant helps who may not.
func makeOwn(ctx context.Context, at Place, pool *sql.DB, statement, grant string, remove func(context.Context) error) error {
	defer pool.Close()
	if err := reach(ctx, at, pool); err != nil {
		return err
	}
	_, err := pool.ExecContext(ctx, statement)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil: // it may have been made
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), connectWithin)
		defer cancel()
		return errors.Join(err, remove(bounded))
	}
	hint := Helps(err)
	if hint == grantHelps || hint == "" {
		hint = grant
	}
	return unusable(hint, "%s: a place of its own for the tour: %w", at, cause(err))
}

// removeOwn takes it away.
func removeOwn(ctx context.Context, pool *sql.DB, statement string) error {
	_, err := pool.ExecContext(ctx, statement)
	if err != nil {
		err = unusable("run: "+statement, "the tour's place is left behind: %w", cause(err))
	}
	return errors.Join(err, pool.Close())
}
