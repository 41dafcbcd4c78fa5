//go:build unix

package wrapped

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/sqlite"
)

// onFile is the engine that needs no server.
const onFile = "sqlite"

// store is a record.Store that can be closed.
type store interface {
	record.Store
	Close(ctx context.Context) error
}

// open opens the setting's engine where its records are. Without a skew a server
// tells the time itself.
func (s Setting) open() (store, error) {
	var now func() time.Time
	if s.Skew != 0 {
		now = func() time.Time { return time.Now().Add(s.Skew) }
	}
	if s.Engine == onFile {
		return sqlite.Open(s.Place.DSN, sqlite.Options{Normal: true, Now: now, Busy: s.Busy})
	}
	shop, err := s.Place.Shop(s.Engine)
	if err != nil {
		return nil, err
	}
	return shop.Connect("", 3, engines.Options{Now: now, Busy: s.Busy})
}

// over runs a trial over every engine; a scene is a place for one record and a
// file of effects. The scenes of a trial share a server's schema or database, each
// with a tenant of its own.
func over(t *testing.T, trial func(t *testing.T, scene func(testing.TB) Setting)) {
	t.Parallel()
	t.Run(onFile, func(t *testing.T) {
		t.Parallel()
		trial(t, func(t testing.TB) Setting {
			t.Helper()
			dir := t.TempDir()
			s := Setting{Engine: onFile, Place: engines.Place{DSN: filepath.Join(dir, "shop.db")}, Effects: filepath.Join(dir, "effects"), Tenant: "north", Charge: "1"}
			db, err := sqlite.Open(s.Place.DSN)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := db.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			return s
		})
	})
	for _, kind := range []engines.Kind{engines.Pgx, engines.MySQL} {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			shop := engines.NewShop(t, kind, engines.Shared(t, kind))
			trial(t, func(t testing.TB) Setting {
				t.Helper()
				dir := t.TempDir()
				return Setting{Engine: kind.Name, Place: shop.Place(), Effects: filepath.Join(dir, "effects"), Tenant: filepath.Base(filepath.Dir(dir)), Charge: "1"}
			})
		})
	}
}
