package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

// Two engines execute and repeat while a third one moves the identities: no
// effect is doubled, and every receipt replays under its new identity.
func TestRekeyUnderLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	patient := Options{Busy: time.Minute}
	moving := openAt(t, path, patient)
	engines := []*DB{openAt(t, path, patient), openAt(t, path, patient)}

	const callers, before = 4, 25
	var mu sync.Mutex
	refs := make(map[string]string) // key → ref of its receipt
	warm := make(chan struct{}, len(engines)*callers)
	var wg sync.WaitGroup
	for e, db := range engines {
		for n := range callers {
			wg.Go(func() {
				next := call // until the store refuses it
				for i := 0; ; i++ {
					key := fmt.Sprintf("%d-%d-%d", e, n, i)
					out, err := db.Execute(t.Context(), next(key), put(key))
					if errors.Is(err, refrain.ErrContractChanged) {
						next = european // as its process would after a deploy
						out, err = db.Execute(t.Context(), next(key), put(key))
						i += 1 << 20
					}
					if err != nil {
						t.Errorf("%s: %v", key, err)
						return
					}
					mu.Lock()
					refs[key] = out.Ref
					mu.Unlock()
					if i == before {
						warm <- struct{}{}
					}
					if i > 1<<20+before {
						return
					}
				}
			})
		}
	}
	for range len(engines) * callers {
		<-warm
	}
	done, err := moving.Rekey(t.Context(), toEurope)
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if done.Records < len(engines)*callers*before {
		t.Errorf("moved %+v", done)
	}
	var keys []string
	for key, ref := range refs {
		keys = append(keys, key)
		if again := mustRun(t, engines[0], european(key), put("twice")); !again.Replayed || again.Ref != ref {
			t.Errorf("%s replays as %+v, was %s", key, again, ref)
		}
	}
	slices.Sort(keys)
	wantItems(t, moving, keys...)
}

// While a rekey holds the writer, a call that cannot wait is row 9 and executes nothing.
func TestRekeyHoldsWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shop.db")
	moving, other := openAt(t, path), openAt(t, path, Options{Busy: 200 * time.Millisecond})
	first := mustRun(t, other, call("old"), put("old"))
	quiet(t, other)
	runs := 0
	between(t, moving, func(statement string, commit func() error) error {
		if statement == "COMMIT" {
			wantRow(t, run(other, call("new"), counted(&runs, put("new"))), "9", refrain.ErrUnavailable)
			if out, err := other.Execute(t.Context(), call("old"), put("twice")); err != nil || out.Ref != first.Ref {
				t.Errorf("a replay during the rekey: %+v, %v", out, err)
			}
		}
		return commit()
	})
	if _, err := moving.Rekey(t.Context(), toEurope); err != nil {
		t.Fatal(err)
	}
	equal(t, "runs", runs, 0)
	wantItems(t, moving, "old")
}
