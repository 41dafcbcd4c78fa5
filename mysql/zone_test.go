package mysql

import (
	"testing"
	"time"

	driverlib "github.com/go-sql-driver/mysql"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// Times are instants: neither the zone of the session nor what the driver makes
// of a DATETIME touches a deadline.
func TestTimeZones(t *testing.T) {
	s := newShop(t)
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	variants := map[string]func(*driverlib.Config){
		"as the server":      func(*driverlib.Config) {},
		"session in Kolkata": func(c *driverlib.Config) { c.Params = map[string]string{"time_zone": "'+05:30'"} },
		"session in the west, times parsed": func(c *driverlib.Config) {
			c.Params, c.ParseTime = map[string]string{"time_zone": "'-11:00'"}, true
		},
		"times parsed":              func(c *driverlib.Config) { c.ParseTime = true },
		"times parsed for New York": func(c *driverlib.Config) { c.ParseTime, c.Loc = true, newYork },
		"New York, not parsed":      func(c *driverlib.Config) { c.Loc = newYork },
	}
	engines := map[string]*DB{}
	for name, change := range variants {
		cfg := s.cfg.Clone()
		change(cfg)
		engines["Open "+name] = opened(t, cfg, Options{})
		engines["New "+name] = onForeign(t, cfg, Options{})
	}
	near := func(at time.Time) bool { return time.Since(at).Abs() < time.Minute }
	for name, db := range engines {
		out := mustBuy(t, db, order(name))
		rec, err := db.Find(t.Context(), out.Ref)
		if err != nil {
			t.Fatal(err)
		}
		if !near(rec.Final) || !rec.ReplayUntil.Equal(rec.Final.Add(time.Hour)) || !rec.RememberUntil.Equal(rec.Final.Add(24*time.Hour)) {
			t.Errorf("%s: final %v, replay until %v, remember until %v", name, rec.Final, rec.ReplayUntil, rec.RememberUntil)
		}
		own := attempt(t, db, order("attempt "+name))
		for reader, other := range engines {
			again := mustBuy(t, other, order(name))
			if !again.Replayed || !again.RememberUntil.Equal(rec.RememberUntil) || !again.CreatedAt.Equal(rec.Created) {
				t.Errorf("%s reads %+v of %s, which wrote %+v", reader, again, name, rec)
			}
			standing, now, err := other.Standing(t.Context(), own.Ref)
			if err != nil || !near(now) || standing.State != record.Submitted || !standing.Lease.Equal(own.Lease) {
				t.Errorf("%s at %v reads %+v of %s, %v", reader, now, standing, name, err)
			}
			if done, err := other.Reap(t.Context(), upkeep.Reap{}); err != nil || done.Forgotten != 0 || !near(done.Now) {
				t.Errorf("%s: %+v, %v", reader, done, err)
			}
		}
	}
	// An hour before and after: nothing ends early or late by a zone's difference.
	id := identityOf(t, order("Open times parsed"))
	for ahead, want := range map[time.Duration]record.Action{
		59 * time.Minute: record.Replay, 61 * time.Minute: record.Refuse,
	} {
		db := opened(t, s.cfg, Options{Now: func() time.Time { return time.Now().In(newYork).Add(ahead) }})
		seen, now, err := db.Load(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		claim, err := order("Open times parsed").Claim()
		if err != nil {
			t.Fatal(err)
		}
		if d := record.Decide(claim.Policy, seen, claim.Request, now); d.Action != want {
			t.Errorf("%v later: %+v, want %v", ahead, d, want)
		}
	}
}
