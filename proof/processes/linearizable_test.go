package processes

import (
	"context"
	"math"
	"path/filepath"
	"sync"
	"testing"

	"github.com/anishathalye/porcupine"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/sqlite"
)

func amount() work { return work{keys: Size(20, 200, 2000), perKey: 12, callers: 6} }

// TestTwoEnginesOnOneFileAreLinearizable: each engine has its own connections
// and memory, as two processes have.
func TestTwoEnginesOnOneFileAreLinearizable(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "shop.db")
	var engines []refrain.Executor[sqlite.Tx]
	for range 2 {
		db, err := sqlite.Open(path)
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
		if err := db.Setup(ctx, `CREATE TABLE IF NOT EXISTS effect (n INTEGER PRIMARY KEY, key TEXT NOT NULL, token TEXT NOT NULL)`); err != nil {
			t.Fatal(err)
		}
		engines = append(engines, db)
	}
	w := amount()
	history := perform(t, Random(t), w, engines, func(ctx context.Context, tx sqlite.Tx, key, token string) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO effect (key, token) VALUES (?, ?)`, key, token)
		return err
	})
	check(t, "sqlite", w, history)

	db, err := readOnly(path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var effects, keys, receipts, same int
	if err := db.QueryRow(`SELECT (SELECT count(*) FROM effect), (SELECT count(DISTINCT key) FROM effect), (SELECT count(*) FROM refrain_record),
		(SELECT count(*) FROM effect e JOIN refrain_record r ON CAST(r.key AS TEXT) = e.key AND CAST(r.body AS TEXT) = e.token)`).
		Scan(&effects, &keys, &receipts, &same); err != nil {
		t.Fatal(err)
	}
	if effects != keys || effects != receipts || effects != same {
		t.Errorf("%d effects of %d keys, %d receipts, %d of them of their effect", effects, keys, receipts, same)
	}
}

func TestMemstoreIsLinearizable(t *testing.T) {
	db := memstore.New(memstore.Options{})
	w := amount()
	history := perform(t, Random(t), w, []refrain.Executor[memstore.Tx]{db, db}, func(_ context.Context, tx memstore.Tx, key, token string) error {
		return tx.Put("effect", key, []byte(token))
	})
	check(t, "memstore", w, history)
}

// doubleGrant looks, runs the effect and stores, without holding anything: the
// check-then-act race. Its first two effects meet, so that it always shows.
type doubleGrant struct {
	mu      sync.Mutex
	records map[string]refrain.Result
	meeting sync.WaitGroup
}

func (d *doubleGrant) Execute(ctx context.Context, call refrain.Call, effect func(context.Context, struct{}) (refrain.Result, error)) (refrain.Outcome, error) {
	d.mu.Lock()
	result, found := d.records[call.Key]
	d.mu.Unlock()
	if found {
		return refrain.Outcome{Result: result, Replayed: true}, nil
	}
	result, err := effect(ctx, struct{}{})
	if err != nil {
		return refrain.Outcome{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.records[call.Key] = result
	return refrain.Outcome{Result: result}, nil
}

func TestDoubleGrantIsNotLinearizable(t *testing.T) {
	t.Parallel()
	grant := &doubleGrant{records: make(map[string]refrain.Result)}
	grant.meeting.Add(2)
	// One caller each and two calls: both are in their effect before either is stored.
	history := perform(t, Random(t), work{keys: 1, perKey: 2, callers: 1}, []refrain.Executor[struct{}]{grant, grant},
		func(context.Context, struct{}, string, string) error {
			grant.meeting.Done()
			grant.meeting.Wait()
			return nil
		})
	if counts := tally(history); counts[executed] != 2 {
		t.Fatalf("the fake granted %d times", counts[executed])
	}
	if porcupine.CheckOperations(model.ToModel(), history) {
		t.Error("a double grant passes for linearizable")
	}
}

func TestModel(t *testing.T) {
	t.Parallel()
	type op struct {
		request, token string
		call, back     int64
		out            output
	}
	const open = math.MaxInt64
	for _, tt := range []struct {
		name string
		ops  []op
		ok   bool
	}{
		{"replay after the execution", []op{{"this", "a", 1, 2, output{executed, "a"}}, {"this", "b", 3, 4, output{replayed, "a"}}}, true},
		{"replay beside the execution", []op{{"this", "a", 1, 4, output{executed, "a"}}, {"this", "b", 2, 3, output{replayed, "a"}}}, true},
		{"replay before the execution", []op{{"this", "a", 3, 4, output{executed, "a"}}, {"this", "b", 1, 2, output{replayed, "a"}}}, false},
		{"replay of other bytes", []op{{"this", "a", 1, 2, output{executed, "a"}}, {"this", "b", 3, 4, output{replayed, "b"}}}, false},
		{"replay of nothing", []op{{"this", "a", 1, 2, output{executed, "a"}}, {"this", "b", 3, 4, output{replayed, ""}}}, false},
		{"replay to another request", []op{{"this", "a", 1, 2, output{executed, "a"}}, {"that", "b", 3, 4, output{replayed, "a"}}}, false},
		{"two executions", []op{{"this", "a", 1, 4, output{executed, "a"}}, {"this", "b", 2, 3, output{executed, "b"}}}, false},
		{"two executions of two requests", []op{{"this", "a", 1, 4, output{executed, "a"}}, {"that", "b", 2, 3, output{executed, "b"}}}, false},
		{"execution of another call", []op{{"this", "a", 1, 2, output{executed, "b"}}}, false},
		{"conflict after the execution", []op{{"this", "a", 1, 2, output{executed, "a"}}, {"that", "b", 3, 4, output{conflict, ""}}}, true},
		{"conflict with nothing", []op{{"this", "a", 3, 4, output{executed, "a"}}, {"that", "b", 1, 2, output{conflict, ""}}}, false},
		{"conflict with the same", []op{{"this", "a", 1, 2, output{executed, "a"}}, {"this", "b", 3, 4, output{conflict, ""}}}, false},
		{"in progress beside the execution", []op{{"this", "a", 1, 4, output{executed, "a"}}, {"this", "b", 2, 3, output{inProgress, ""}}}, true},
		{"in progress after the execution", []op{{"this", "a", 1, 2, output{executed, "a"}}, {"this", "b", 3, 4, output{inProgress, ""}}}, false},
		{"not run, then executed", []op{{"this", "a", 1, 2, output{notRun, ""}}, {"this", "b", 3, 4, output{executed, "b"}}}, true},
		{"not run, yet replayed", []op{{"this", "a", 1, 2, output{notRun, ""}}, {"this", "b", 3, 4, output{replayed, "a"}}}, false},
		{"lost and not done", []op{{"this", "a", 1, open, output{lost, ""}}, {"this", "b", 3, 4, output{executed, "b"}}}, true},
		{"lost and done", []op{{"this", "a", 1, open, output{lost, ""}}, {"this", "b", 3, 4, output{replayed, "a"}}}, true},
		{"lost and done late", []op{{"this", "a", 1, open, output{lost, ""}}, {"this", "b", 3, 4, output{inProgress, ""}}, {"this", "c", 5, 6, output{replayed, "a"}}}, true},
		{"lost, done and done again", []op{{"this", "a", 1, open, output{lost, ""}}, {"this", "b", 3, 4, output{replayed, "a"}}, {"this", "c", 5, 6, output{executed, "c"}}}, false},
	} {
		var history []porcupine.Operation
		for i, o := range tt.ops {
			_, in := newInput("key", o.request, o.token)
			history = append(history, porcupine.Operation{ClientId: i, Input: in, Call: o.call, Output: o.out, Return: o.back})
		}
		if ok := porcupine.CheckOperations(model.ToModel(), history); ok != tt.ok {
			t.Errorf("%s: linearizable %t, want %t", tt.name, ok, tt.ok)
		}
	}
}
