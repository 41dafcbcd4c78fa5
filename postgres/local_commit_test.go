package postgres

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain"
)

// pretended makes a text of ours believe in synchronous standbys.
func pretended(texts ...*string) {
	for _, text := range texts {
		*text = strings.ReplaceAll(*text, `current_setting('synchronous_standby_names')`, `'believed'`)
	}
}

func (a *acks) knows() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.xmin > 0
}

// A COMMIT that did not wait for the standbys, by the effect's doing or the
// role's, vouches for nothing.
func TestLocalCommitVouchesForNothing(t *testing.T) {
	for _, local := range []bool{true, false} {
		s := newSQLShop(t, "pgx", Options{}, configured)
		pretended(&s.sql.lookup)
		err := s.do(keeperCall("k"), func(ctx context.Context, tx SQLTx) (refrain.Result, error) {
			if local {
				if _, err := tx.ExecContext(ctx, `SET LOCAL synchronous_commit = local`); err != nil {
					return done, err
				}
			}
			return done, s.order(ctx, tx, "k")
		})
		if err != nil || s.acks.knows() == local {
			t.Errorf("SQL, local %t: acknowledged %t, %v", local, s.acks.knows(), err)
		}

		b := newGroupBed(t, Options{}, func(c *pgxpool.Config) {
			if local {
				c.ConnConfig.RuntimeParams["synchronous_commit"] = "local"
			}
		})
		b.warm(t)
		pretended(&b.group.sql.one.both, &b.group.sql.one.claim)
		b.group.quiet.Store(true)
		for key, effect := range map[string]batchEffect{"queued": b.inserts("queued"), "sent": b.returns("sent")} {
			b.db.acks.xmin = 0
			if _, err := b.group.Execute(t.Context(), groupCall(key), effect); err != nil || b.db.acks.knows() == local {
				t.Errorf("Group, %s, local %t: acknowledged %t, %v", key, local, b.db.acks.knows(), err)
			}
		}
	}
}
