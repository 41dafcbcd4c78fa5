package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// What cannot be decoded, and another identity under the same hash, is never none.
func TestKeeperUnreadable(t *testing.T) {
	for name, tt := range map[string]struct {
		damage string
		want   error
	}{
		"garbled":      {`UPDATE {schema}.record SET deciding = 'x'`, record.RecordUnreadable},
		"no deadline":  {`UPDATE {schema}.record SET remember_until = NULL`, record.RecordUnreadable},
		"a short ref":  {`UPDATE {schema}.record SET ref = 'x'`, record.RecordUnreadable},
		"no state":     {`UPDATE {schema}.record SET state = 9`, record.RecordUnreadable},
		"evidence":     {`UPDATE {schema}.record SET evidence = '{'`, record.RecordUnreadable},
		"other key":    {`UPDATE {schema}.record SET key = 'K'`, record.RecordUnreadable},
		"other scope":  {`UPDATE {schema}.record SET scope = 'tenant=North'`, record.RecordUnreadable},
		"newer format": {`UPDATE {schema}.record SET format = 2, deciding = 'x'`, record.ErrNewerFormat},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKeeper(t, "pgx")
			k.mustSettle(t, keeperCall("k"))
			k.setup(t, tt.damage)
			claim := claimOf(t, keeperCall("k"))
			if seen, _, err := k.Load(t.Context(), claim.Identity); !errors.Is(err, tt.want) {
				t.Errorf("Load = %+v, %v", seen.Record, err)
			}
			if seen, _, err := k.glance(t.Context(), claim.Identity); !errors.Is(err, tt.want) {
				t.Errorf("glance = %+v, %v", seen.Record, err)
			}
			if _, err := k.settle(claim, nil); !errors.Is(err, tt.want) {
				t.Errorf("executed: %v", err)
			}
			err := k.Change(t.Context(), claim.Identity, func(record.Seen, time.Time) (record.Edit, error) {
				return record.Edit{}, errors.New("asked")
			})
			if !errors.Is(err, tt.want) {
				t.Errorf("Change: %v", err)
			}
		})
	}
}

// A final record is told only once it is acknowledged.
func TestKeeperAcknowledges(t *testing.T) {
	k := newKeeper(t, "pgx")
	rec := k.mustSettle(t, keeperCall("k"))
	waiting := k.open(t, "open")
	refused := errors.New("not on the standbys")
	asked := 0
	oldest := func() uint64 { // of the server's transactions, others' too
		return uint64(k.number(t, `SELECT pg_snapshot_xmin(pg_current_snapshot())::text::int8`))
	}
	wrote := uint64(k.number(t, `SELECT xid::text::int8 FROM {schema}.record WHERE final IS NOT NULL`))
	before := oldest()
	k.acknowledge = func(_ context.Context, found seen) error {
		asked++
		if found.xid != wrote || found.xmin < before || found.xmin > oldest() || found.postmaster == "" {
			t.Errorf("asked about %d below %d of %q; want %d below at least %d", found.xid, found.xmin, found.postmaster, wrote, before)
		}
		return refused
	}
	if _, _, err := k.Load(t.Context(), rec.Identity); !errors.Is(err, refused) {
		t.Errorf("Load: %v", err)
	}
	if _, _, err := k.glance(t.Context(), rec.Identity); !errors.Is(err, refused) {
		t.Errorf("glance: %v", err)
	}
	if _, err := k.Find(t.Context(), rec.Ref); !errors.Is(err, refused) {
		t.Errorf("Find: %v", err)
	}
	if _, _, err := k.Standing(t.Context(), rec.Ref); !errors.Is(err, refused) {
		t.Errorf("Standing: %v", err)
	}
	same(t, "asked", asked, 4)
	if _, err := k.Find(t.Context(), waiting.Ref); err != nil {
		t.Errorf("an open one: %v", err)
	}
}
