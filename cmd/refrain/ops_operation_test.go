package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/enginetest"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/shop"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// openPayments is a shop of this process on the database, whose charges nobody
// carries out yet.
func openPayments(t *testing.T, url string) (api *shop.Shop, db engine.Database) {
	t.Helper()
	ctx := context.Background()
	db, err := enginetest.Place(t, url).Open(ctx, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	if err := db.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	api, err = shop.New(ctx, db, shop.Config{ReplayFor: time.Hour, RememberFor: 24 * time.Hour, Wait: -1}, new(shop.Decisions))
	if err != nil {
		t.Fatal(err)
	}
	return api, db
}

func runPayments(t *testing.T, api *shop.Shop) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- api.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func asks(api http.Handler, method, target, key, media, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer demo-north")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	r.Header.Set("Content-Type", media)
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	return w
}

func paysOnce(api http.Handler) *httptest.ResponseRecorder {
	return asks(api, "POST", "/v1/payments", "k", "application/json", `{"account":"anna","amount":5,"currency":"EUR"}`)
}

// operationOf waits until the action's operation is as wanted.
func operationOf(t *testing.T, db engine.Database, ref string, as func(operation.Operation) bool) operation.Operation {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; {
		all, err := db.Operations().Of(context.Background(), ref)
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		if as(all[0]) {
			return all[0]
		}
		if time.Now().After(deadline) {
			t.Fatalf("the operation is %s, due %v: %s", all[0].State, all[0].Due, all[0].Why)
		}
		time.Sleep(5 * time.Millisecond) // another goroutine's transaction
	}
}

// TestResolveIsAdopted: what a person decides about an action ends the operation it
// waits for, and the service's own row follows; nothing is submitted afterwards.
func TestResolveIsAdopted(t *testing.T) {
	for name, tt := range map[string]struct {
		runs    bool // before the decision
		as      string
		status  string
		charges string
		row     string
	}{
		"only accepted, rejected":  {false, "rejected", "410", `"charges":0,"requests":0,`, `"state":"refused"`},
		"only accepted, confirmed": {false, "confirmed", "201", `"charges":0,"requests":0,`, `"state":"paid","charge":"ch_by_hand"`},
		"unknown, confirmed":       {true, "confirmed", "201", `"charges":1,"requests":1,`, `"state":"paid","charge":"ch_by_hand"`},
		"unknown, rejected":        {true, "rejected", "409", `"charges":1,"requests":1,`, `"state":"refused"`},
	} {
		t.Run(name, func(t *testing.T) {
			enginetest.Each(t, enginetest.Engines, func(t *testing.T, url string) {
				api, db := openPayments(t, url)
				if tt.runs {
					runPayments(t, api)
					const form = "application/x-www-form-urlencoded"
					if w := asks(api, "POST", "/provider", "", form, "fault=lose-answer&window=0s&query=false"); w.Code != http.StatusSeeOther {
						t.Fatal(w.Code, w.Body)
					}
				}
				w := paysOnce(api)
				ref := w.Header().Get("Idempotency-Ref")
				if w.Code != http.StatusAccepted {
					t.Fatal(w.Code, w.Body)
				}
				if tt.runs {
					operationOf(t, db, ref, func(o operation.Operation) bool { return o.State == record.Unknown && o.Due.IsZero() })
				}
				exit, stdout, stderr := runMain(t, nil, "ops", "resolve", ref, "--db", url, "--as", tt.as, "--status", tt.status, "--effect", "ch_by_hand", "--reason", "asked", "--by", "support")
				if exit != exitOK {
					t.Fatal(stdout, stderr)
				}
				if !tt.runs {
					runPayments(t, api)
				}
				o := operationOf(t, db, ref, func(o operation.Operation) bool { return o.State.Final() })
				if o.State.String() != tt.as || len(o.Attempts) != map[bool]int{true: 1}[tt.runs] || !o.Due.IsZero() {
					t.Errorf("the operation is %+v", o)
				}
				if again := paysOnce(api); again.Header().Get("Idempotent-Replayed") != "true" || again.Result().Status[:3] != tt.status || again.Body.Len() != 0 {
					t.Errorf("the retry got %d %s", again.Code, again.Body)
				}
				if rows := asks(api, "GET", "/v1/payments", "", "", ""); !strings.Contains(rows.Body.String(), tt.row) {
					t.Errorf("the row is %s", rows.Body)
				}
				if counted := asks(api, "GET", "/provider", "", "", ""); !strings.Contains(counted.Body.String(), tt.charges) {
					t.Errorf("the provider counts %s", counted.Body)
				}
			})
		})
	}
}

// TestResolveDisputedOperation ends the dispute of both.
func TestResolveDisputedOperation(t *testing.T) {
	enginetest.Each(t, enginetest.Engines, func(t *testing.T, url string) {
		ctx := context.Background()
		api, db := openPayments(t, url)
		runPayments(t, api)
		ref := paysOnce(api).Header().Get("Idempotency-Ref")
		o := operationOf(t, db, ref, func(o operation.Operation) bool { return o.State.Final() })
		err := db.Operations().Change(ctx, o.Ref, func(_ context.Context, _ refrain.SQLTx, seen operation.Seen) (operation.Edit, error) {
			next := seen.Operation.Close(1, operation.Reply{End: operation.Confirmed, Reference: "ch_twin"}, seen.Now, operation.Pace{})
			rec, _ := next.Mirror(*seen.Record)
			return operation.Edit{Put: &next, Record: &rec}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		exit, stdout, _ := runMain(t, nil, "ops", "external", "--db", url)
		if exit != exitOK || !strings.Contains(stdout, "  disputed   charge at ") || !strings.Contains(stdout, "a confirmation contradicts") {
			t.Errorf("listed %s", stdout)
		}
		if exit, _, stderr := runMain(t, nil, "ops", "resolve", ref, "--db", url, "--as", "confirmed", "--status", "201", "--effect", "ch_twin", "--reason", "asked", "--by", "support"); exit != exitOK {
			t.Fatal(stderr)
		}
		o = operationOf(t, db, ref, func(operation.Operation) bool { return true })
		rec, err := db.Find(ctx, ref)
		if err != nil || rec.Disputed || o.Disputed || rec.Result.Effect != "ch_twin" || o.Answer.Reference != "ch_twin" {
			t.Errorf("the record %+v, the operation %+v, %v", rec, o, err)
		}
		if _, stdout, _ := runMain(t, nil, "ops", "external", "--db", url); stdout != "" {
			t.Errorf("still listed: %s", stdout)
		}
	})
}

// TestExternalLeavesOutDecided: what a person has decided waits for its service,
// not for a person, though nobody has adopted it yet.
func TestExternalLeavesOutDecided(t *testing.T) {
	t.Parallel()
	url := "sqlite:" + filepath.Join(t.TempDir(), "shop.db")
	api, db := openPayments(t, url)
	ref := paysOnce(api).Header().Get("Idempotency-Ref")
	o := operationOf(t, db, ref, func(operation.Operation) bool { return true })
	park := func(_ context.Context, _ refrain.SQLTx, seen operation.Seen) (operation.Edit, error) {
		next := seen.Operation
		next.Due = time.Time{}
		return operation.Edit{Put: &next}, nil
	}
	if err := db.Operations().Change(context.Background(), o.Ref, park); err != nil {
		t.Fatal(err)
	}
	if _, stdout, _ := runMain(t, nil, "ops", "external", "--db", url); !strings.HasPrefix(stdout, o.Ref+" of "+ref+"  accepted   charge at ") {
		t.Errorf("listed %q", stdout)
	}
	if exit, _, stderr := runMain(t, nil, "ops", "resolve", ref, "--db", url, "--as", "rejected", "--reason", "asked", "--by", "support"); exit != exitOK {
		t.Fatal(stderr)
	}
	if err := db.Operations().Change(context.Background(), o.Ref, park); err != nil { // as one that is looked at much later
		t.Fatal(err)
	}
	if _, stdout, _ := runMain(t, nil, "ops", "external", "--db", url); stdout != "" {
		t.Errorf("listed %q", stdout)
	}
}
