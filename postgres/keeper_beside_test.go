package postgres

import (
	"testing"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// Reviews are one row per identity, counted, and capped per scope.
func TestKeeperReview(t *testing.T) {
	k := newKeeper(t, "pgx")
	late := func(c *record.Claim) {
		t.Helper()
		err := k.Change(t.Context(), c.Identity, func(record.Seen, time.Time) (record.Edit, error) { return record.Edit{Review: c}, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	late(claimOf(t, keeperCall("a")))
	late(claimOf(t, keeperCall("a")))
	same(t, "count", k.number(t, `SELECT count FROM {schema}.review`), int64(2))
	k.setup(t, `INSERT INTO {schema}.review SELECT gen_random_uuid(), scope, operation, key, raw, deciding, rule, schema, first, last, 1
		FROM {schema}.review, generate_series(2, $1::int)`, reviewsPerScope)
	late(claimOf(t, keeperCall("b")))
	late(claimOf(t, keeperCall("a")))
	south := keeperCall("a")
	south.Scope = south.Scope.Subject("me")
	late(claimOf(t, south))
	same(t, "rows", k.number(t, `SELECT count(*) FROM {schema}.review`), int64(reviewsPerScope+1))
	same(t, "counted", k.number(t, `SELECT max(count) FROM {schema}.review`), int64(3))
}

// A rekey between the lookup and what is written beside a record is noticed.
func TestKeeperChangeBesideRekey(t *testing.T) {
	k := newKeeper(t, "pgx")
	k.mustSettle(t, keeperCall("first"))
	claim := claimOf(t, keeperCall("k"))
	for name, edit := range map[string]record.Edit{
		"review": {Review: claim}, "grant": {GrantAllow: "asked"},
	} {
		t.Run(name, func(t *testing.T) {
			var versions []string
			err := k.Change(t.Context(), claim.Identity, func(seen record.Seen, _ time.Time) (record.Edit, error) {
				versions = append(versions, seen.IdentityVersion)
				if len(versions) == 1 {
					k.setup(t, `UPDATE {schema}.operation SET identity = $1`, name)
				}
				return edit, nil
			})
			if err != nil || len(versions) != 2 || versions[1] != name {
				t.Errorf("%q, %v", versions, err)
			}
		})
	}
}
