package trials

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/proof/engines"
)

// TestZonesOfSessions: by the server's own clock, whatever the zones of its
// sessions and what a driver makes of a time, every instance tells and keeps the
// same deadlines, an hour and a day from now.
func TestZonesOfSessions(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, room *engines.Shop) {
		zones := []map[string]string{
			nil, {"timezone": "America/New_York"}, {"timezone": "Asia/Kolkata", "datestyle": "SQL,DMY"}, {"timezone": "Pacific/Kiritimati"},
		}
		if room.MySQL {
			zones = []map[string]string{
				nil, {"time_zone": "'-11:00'"}, {"time_zone": "'+05:30'", "parseTime": "true"}, {"time_zone": "'+13:00'", "parseTime": "true", "loc": "America/New_York"},
			}
		}
		var instances []*shop
		for _, params := range zones {
			instances = append(instances, serve(t, connect(t, room, session{params: params}), nil, guard, orders, create))
		}
		deadline := func(a answer, name string) time.Time {
			t.Helper()
			seconds, err := strconv.ParseInt(strings.TrimPrefix(a.header.Get(name), "@"), 10, 64)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			return time.Unix(seconds, 0)
		}
		for n, writer := range instances {
			key := "k" + strconv.Itoa(n)
			first := writer.post(key, order)
			wantFresh(t, first, 201)
			born := uuidBornAt(time.Now())
			timed := writer.post(born, order)
			wantFresh(t, timed, 201)
			for name, after := range map[string]time.Duration{"Idempotency-Expires": time.Hour, "Idempotency-Remembered": 24 * time.Hour} {
				if off := time.Until(deadline(first, name)) - after; off.Abs() > time.Minute {
					t.Errorf("instance %d: %s is %v off", n, name, off)
				}
			}
			for m, reader := range instances {
				again := reader.post(key, order)
				wantReplay(t, again, first)
				wantReplay(t, reader.post(born, order), timed)
				for _, name := range []string{"Idempotency-Expires", "Idempotency-Remembered"} {
					if again.header.Get(name) != first.header.Get(name) {
						t.Errorf("instance %d tells %s %s, instance %d told %s", m, name, again.header.Get(name), n, first.header.Get(name))
					}
				}
				status := reader.send("GET", "/v1/operations?operation=orders.create", key, "")
				if want := deadline(first, "Idempotency-Expires").UTC().Format("2006-01-02T15:04:05"); status.status != 200 || !strings.Contains(status.body, want) {
					t.Errorf("instance %d: status = %s, want %s in it", m, status.body, want)
				}
			}
		}
		for n, cleaner := range instances {
			if forgotten, err := forget(t.Context(), cleaner.store); err != nil || forgotten != 0 {
				t.Errorf("instance %d forgets %d, %v", n, forgotten, err)
			}
		}
		instances[0].wantEffects(2 * len(instances))
	})
}
