package postgres

import (
	"testing"
)

// A glance tells of a record what Load tells of it. One whose row does not tell its
// identity version is left to Load.
func TestKeeperGlance(t *testing.T) {
	for _, driver := range []string{"pgx", "postgres", "native"} {
		t.Run(driver, func(t *testing.T) {
			k := newKeeper(t, driver)
			rec := k.mustSettle(t, keeperCall("k"))
			loaded, _, err := k.Load(t.Context(), rec.Identity)
			if err != nil {
				t.Fatal(err)
			}
			seen, now, err := k.glance(t.Context(), rec.Identity)
			if err != nil || now.IsZero() || seen.IdentityVersion != loaded.IdentityVersion {
				t.Fatalf("a glance at %v: %+v, %v", now, seen, err)
			}
			same(t, "the record", seen.Record, loaded.Record)
			if _, err := k.Rekey(t.Context(), europe); err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"k", "new"} {
				seen, now, err := k.glance(t.Context(), claimOf(t, european(key)).Identity)
				if err != nil || now.IsZero() || seen.Record != nil {
					t.Errorf("a glance at %s after a rekey, at %v: %+v, %v", key, now, seen.Record, err)
				}
			}
		})
	}
}
