//go:build linux

package engines

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Place is where a shop is, for another process.
type Place struct{ DSN, Name string }

// Place tells another process where the shop is.
func (s *Shop) Place() Place { return Place{s.dsn, s.name} }

// Shop is the shop at the place, for an engine of that name.
func (p Place) Shop(kind string) (*Shop, error) {
	for _, k := range Kinds {
		if k.Name == kind {
			return &Shop{k, p.DSN, p.Name}, nil
		}
	}
	return nil, fmt.Errorf("no engine is called %q", kind)
}

// KillSession ends a random session of another client, whose ever it is on a
// private PostgreSQL server, and of the shop on MySQL; done = false if there was
// none.
func (s *Shop) KillSession(ctx context.Context) (done bool, err error) {
	raw, err := s.raw(s.DSN(""))
	if err != nil {
		return false, err
	}
	defer raw.Close()
	if !s.MySQL {
		err = raw.QueryRowContext(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1`).Scan(&done)
	} else {
		var id int64
		err = raw.QueryRowContext(ctx, `SELECT id FROM information_schema.processlist
			WHERE db = ? AND id <> connection_id() ORDER BY rand() LIMIT 1`, s.name).Scan(&id)
		if err == nil {
			_, _ = raw.ExecContext(ctx, fmt.Sprintf("KILL CONNECTION %d", id)) // it may be gone
			done = true
		}
	}
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return done, err
}
