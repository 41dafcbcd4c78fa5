package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// groupBed is a group executor on a schema of its own.
type groupBed struct {
	db     *DB
	group  *Group
	schema string        // quoted
	name   string        // bare
	raw    *pgxpool.Pool // past the engine
	pool   *pgxpool.Pool
}

func newGroupBed(t testing.TB, opts Options, tweaks ...func(*pgxpool.Config)) *groupBed {
	t.Helper()
	ctx := context.Background()
	config, err := pgxpool.ParseConfig(keeperURL(t))
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 2
	raw, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	b := &groupBed{name: "group_" + strings.ToLower(rand.Text()[:12]), raw: raw}
	b.schema = pgx.Identifier{b.name}.Sanitize()
	t.Cleanup(func() {
		if _, err := raw.Exec(ctx, `DROP SCHEMA IF EXISTS `+b.schema+` CASCADE`); err != nil {
			t.Error(err)
		}
		raw.Close()
	})
	b.connect(t, opts, tweaks...)
	if err := b.db.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := raw.Exec(ctx, `CREATE TABLE `+b.schema+`.effects (n bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text NOT NULL)`); err != nil {
		t.Fatal(err)
	}
	return b
}

// connect opens the engine on the bed's schema.
func (b *groupBed) connect(t testing.TB, opts Options, tweaks ...func(*pgxpool.Config)) {
	t.Helper()
	b.on(t, enginePool(t, keeperURL(t), 8, tweaks...), opts)
	b.db.owned = true
}

// on opens the engine on somebody's pool.
func (b *groupBed) on(t testing.TB, pool *pgxpool.Pool, opts Options) {
	t.Helper()
	opts.Schema, b.pool = b.name, pool
	db, err := New(pool, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	b.db, b.group = db, db.Group()
}

// again is another engine on the same tables, as another process has it.
func (b *groupBed) again(t testing.TB) *groupBed {
	other := &groupBed{schema: b.schema, name: b.name, raw: b.raw}
	other.connect(t, b.db.opts)
	return other
}

var groupContract = refrain.Contract{
	Operation: "orders.create", Schema: "1", ReplayFor: time.Hour, RememberFor: 24 * time.Hour, Wait: 20 * time.Second,
}

func groupCall(key string) refrain.Call {
	return refrain.Call{Contract: groupContract, Scope: refrain.Tenant("north"), Key: key, Input: []byte("one")}
}

type batchEffect = func(context.Context, *Batch) (record.Result, error)

// inserts is an effect of one statement that nobody reads.
func (b *groupBed) inserts(id string) batchEffect {
	return func(_ context.Context, batch *Batch) (record.Result, error) {
		batch.Queue(`INSERT INTO `+b.schema+`.effects (id) VALUES ($1)`, id)
		return record.Result{Status: 201, Body: []byte(id)}, nil
	}
}

// returns is an effect that answers with what the database made.
func (b *groupBed) returns(id string) batchEffect {
	return func(ctx context.Context, batch *Batch) (record.Result, error) {
		var n string
		batch.Queue(`INSERT INTO `+b.schema+`.effects (id) VALUES ($1) RETURNING n::text`, id).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
		if err := batch.Send(ctx); err != nil {
			return record.Result{}, err
		}
		return record.Result{Status: 201, Body: []byte(n)}, nil
	}
}

// warm makes the operation known to this process.
func (b *groupBed) warm(t testing.TB) {
	t.Helper()
	if _, err := b.group.Execute(t.Context(), groupCall("warm"), b.inserts("warm")); err != nil {
		t.Fatal(err)
	}
}

// effects counts the rows of each id.
func (b *groupBed) effects(t testing.TB) map[string]int {
	t.Helper()
	rows, _ := b.raw.Query(context.Background(), `SELECT id, count(*)::int FROM `+b.schema+`.effects GROUP BY id`)
	counts := make(map[string]int)
	var id string
	var n int
	if _, err := pgx.ForEachRow(rows, []any{&id, &n}, func() error { counts[id] = n; return nil }); err != nil {
		t.Fatal(err)
	}
	return counts
}

// result is what a call returned.
type groupResult struct {
	out refrain.Outcome
	err error
}

// together runs calls as members of one group: both leaders are kept at a COMMIT
// of their own until all calls wait in the queue.
func (b *groupBed) together(t *testing.T, keys []string, effect func(key string) batchEffect) map[string]groupResult {
	t.Helper()
	release, held := make(chan struct{}), make(chan struct{}, groupsAtOnce)
	open := sync.OnceFunc(func() { close(release) })
	defer open()
	between := b.db.between
	b.db.between = func(_ string, run func() error) error {
		select {
		case <-release:
		default:
			held <- struct{}{}
			<-release
		}
		return between("", run)
	}
	var wg sync.WaitGroup
	for range groupsAtOnce {
		key := "filler-" + rand.Text()
		wg.Go(func() {
			if _, err := b.group.Execute(context.Background(), groupCall(key), b.inserts(key)); err != nil {
				t.Errorf("a filler: %v", err)
			}
		})
		<-held
	}
	var mu sync.Mutex
	results := make(map[string]groupResult)
	for _, key := range keys {
		wg.Go(func() {
			out, err := b.guarded(t.Context(), key, effect(key))
			mu.Lock()
			defer mu.Unlock()
			results[key] = groupResult{out, err}
		})
	}
	b.await(t, func() bool {
		b.group.mu.Lock()
		defer b.group.mu.Unlock()
		mu.Lock()
		defer mu.Unlock()
		return len(b.group.queue)+len(results) == len(keys)
	}, "all calls in the queue")
	open()
	wg.Wait()
	b.db.between = between
	return results
}

// guarded turns a panic of the caller's into an error.
func (b *groupBed) guarded(ctx context.Context, key string, effect batchEffect) (out refrain.Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
	}()
	return b.group.Execute(ctx, groupCall(key), effect)
}

// await asks until it is so.
func (b *groupBed) await(t testing.TB, so func() bool, what string) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); !so(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// keys are n of them.
func groupKeys(n int) (keys []string) {
	for i := range n {
		keys = append(keys, fmt.Sprintf("key-%02d", i))
	}
	return keys
}

// counter counts the statements of batches by their text; those of groups and of
// other transactions differ in case.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) tweak(config *pgxpool.Config) { config.ConnConfig.Tracer = c }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (c *counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}
func (c *counter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}
func (c *counter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
func (c *counter) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	if data.Err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = make(map[string]int)
	}
	c.n[data.SQL]++
}

// commits since the last time it was asked.
func (c *counter) commits() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.n[commitText] + c.n["commit"] // a group's and a transaction's own
	clear(c.n)
	return n
}
