package postgres

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// once demands that each key had one effect and a fresh outcome.
func (b *groupBed) once(t *testing.T, results map[string]groupResult, keys []string) {
	t.Helper()
	effects := b.effects(t)
	refs := make(map[string]bool)
	for _, key := range keys {
		r := results[key]
		if r.err != nil || r.out.Replayed || effects[key] != 1 || refs[r.out.Ref] {
			t.Errorf("%s: %v, replayed %t, %d effects; want one of its own", key, r.err, r.out.Replayed, effects[key])
			continue
		}
		refs[r.out.Ref] = true
		rec, err := b.db.Find(t.Context(), r.out.Ref)
		if err != nil || rec.Identity.Key != key || !rec.Created.Equal(r.out.CreatedAt) || !rec.Final.Equal(rec.Created) ||
			!rec.ReplayUntil.Equal(r.out.ReplayUntil) || !rec.RememberUntil.Equal(r.out.RememberUntil) || string(rec.Result.Body) != string(r.out.Body) {
			t.Errorf("%s: stored %+v, %v; told %+v", key, rec, err, r.out)
		}
	}
}

// TestGroupShares: whoever comes while a COMMIT is under way is in one group, up
// to 64, and everybody is told of a record of their own.
func TestGroupShares(t *testing.T) {
	for name, effect := range map[string]func(*groupBed, string) batchEffect{
		"queued": (*groupBed).inserts, "sent": (*groupBed).returns,
	} {
		t.Run(name, func(t *testing.T) {
			var count counter
			b := newGroupBed(t, Options{}, count.tweak)
			b.warm(t)
			count.commits()
			keys := groupKeys(64)
			results := b.together(t, keys, func(key string) batchEffect { return effect(b, key) })
			if n := count.commits(); n != groupsAtOnce+1 {
				t.Errorf("%d calls took %d COMMITs, want one", len(keys), n-groupsAtOnce)
			}
			b.once(t, results, keys)
		})
	}
}

// TestGroupFewCommits: 64 callers who come as they like.
func TestGroupFewCommits(t *testing.T) {
	var count counter
	b := newGroupBed(t, Options{}, count.tweak)
	b.warm(t)
	count.commits()
	keys := groupKeys(64)
	results := make(map[string]groupResult)
	done := make(chan struct {
		key string
		r   groupResult
	})
	for _, key := range keys {
		go func() {
			out, err := b.group.Execute(context.Background(), groupCall(key), b.inserts(key))
			done <- struct {
				key string
				r   groupResult
			}{key, groupResult{out, err}}
		}()
	}
	for range keys {
		d := <-done
		results[d.key] = d.r
	}
	if n := count.commits(); n > len(keys)/2 {
		t.Errorf("%d callers took %d COMMITs", len(keys), n)
	}
	b.once(t, results, keys)
}

var errInBatch = errors.New("the effect's own error")

// TestGroupBadNeighbour: what goes wrong with one member is that member's alone.
func TestGroupBadNeighbour(t *testing.T) {
	for name, tt := range map[string]struct {
		effect func(b *groupBed) batchEffect
		wrong  func(groupResult) bool
	}{
		"a statement fails": {func(b *groupBed) batchEffect {
			return func(_ context.Context, batch *Batch) (record.Result, error) {
				batch.Queue(`INSERT INTO ` + b.schema + `.effects (id) VALUES ('bad')`)
				batch.Queue(`SELECT 1/0`)
				return record.Result{Status: 201}, nil
			}
		}, func(r groupResult) bool { return !errors.Is(r.err, record.HandlerFailed) || sqlState(r.err) != "22012" }},
		"a statement that was sent fails": {func(b *groupBed) batchEffect {
			return func(ctx context.Context, batch *Batch) (record.Result, error) {
				batch.Queue(`INSERT INTO ` + b.schema + `.effects (id) VALUES ('bad')`)
				batch.Queue(`SELECT 1/0`)
				return record.Result{Status: 201}, batch.Send(ctx)
			}
		}, func(r groupResult) bool { return !errors.Is(r.err, record.HandlerFailed) || sqlState(r.err) != "22012" }},
		"a text is no statement": {func(b *groupBed) batchEffect {
			return func(_ context.Context, batch *Batch) (record.Result, error) {
				batch.Queue(`INSERT INTO ` + b.schema + `.effects (id) VALUES ('bad')`)
				batch.Queue(`SELECT nonsense FROM nowhere`)
				return record.Result{Status: 201}, nil
			}
		}, func(r groupResult) bool { return !errors.Is(r.err, record.HandlerFailed) || sqlState(r.err) != "42P01" }},
		"a callback fails": {func(b *groupBed) batchEffect {
			return func(ctx context.Context, batch *Batch) (record.Result, error) {
				batch.Queue(`INSERT INTO ` + b.schema + `.effects (id) VALUES ('bad') RETURNING id`).QueryRow(func(pgx.Row) error { return errInBatch })
				return record.Result{Status: 201}, batch.Send(ctx)
			}
		}, func(r groupResult) bool {
			return !errors.Is(r.err, record.HandlerFailed) || !errors.Is(r.err, errInBatch)
		}},
		"a callback fails after the effect": {func(b *groupBed) batchEffect {
			return func(ctx context.Context, batch *Batch) (record.Result, error) {
				batch.Queue(`INSERT INTO ` + b.schema + `.effects (id) VALUES ('bad') RETURNING id`).QueryRow(func(pgx.Row) error { return errInBatch })
				return record.Result{Status: 201}, nil
			}
		}, func(r groupResult) bool {
			return !errors.Is(r.err, record.HandlerFailed) || !errors.Is(r.err, errInBatch)
		}},
		"an effect swallows what Send tells": {func(b *groupBed) batchEffect {
			return func(ctx context.Context, batch *Batch) (record.Result, error) {
				batch.Queue(`INSERT INTO ` + b.schema + `.effects (id) VALUES ('bad')`)
				batch.Queue(`SELECT 1/0`)
				_ = batch.Send(ctx)
				return record.Result{Status: 201}, nil
			}
		}, func(r groupResult) bool { return r.err == nil }},
		"a deferred constraint fails": {func(b *groupBed) batchEffect {
			return func(_ context.Context, batch *Batch) (record.Result, error) {
				batch.Queue(`INSERT INTO ` + b.schema + `.child (parent) VALUES (7)`)
				return record.Result{Status: 201}, nil
			}
		}, func(r groupResult) bool { return !errors.Is(r.err, record.HandlerFailed) || sqlState(r.err) != "23503" }},
		"a result is too long": {func(b *groupBed) batchEffect {
			return func(_ context.Context, batch *Batch) (record.Result, error) {
				batch.Queue(`INSERT INTO ` + b.schema + `.effects (id) VALUES ('bad')`)
				return record.Result{Status: 201, Body: make([]byte, 2<<20)}, nil
			}
		}, func(r groupResult) bool { return !errors.Is(r.err, record.ResponseTooLarge) }},
		"an argument panics": {func(b *groupBed) batchEffect {
			return func(_ context.Context, batch *Batch) (record.Result, error) {
				batch.Queue(`INSERT INTO `+b.schema+`.effects (id) VALUES ($1)`, panics{})
				return record.Result{Status: 201}, nil
			}
		}, func(r groupResult) bool { return r.err == nil }},
		"the action is rejected after a write": {func(b *groupBed) batchEffect {
			return func(ctx context.Context, batch *Batch) (record.Result, error) {
				batch.Queue(`INSERT INTO ` + b.schema + `.effects (id) VALUES ('bad')`)
				return record.Result{Status: 409, Rejected: true}, batch.Send(ctx)
			}
		}, func(r groupResult) bool { return r.err != nil || r.out.State != record.Rejected }},
		"the action is rejected": {func(b *groupBed) batchEffect {
			return func(_ context.Context, batch *Batch) (record.Result, error) {
				batch.Queue(`INSERT INTO ` + b.schema + `.effects (id) VALUES ('bad')`)
				return record.Result{Status: 409, Rejected: true}, nil
			}
		}, func(r groupResult) bool { return r.err != nil || r.out.State != record.Rejected }},
	} {
		for _, neighbours := range []string{"queue", "send"} {
			t.Run(name+" where others "+neighbours, func(t *testing.T) {
				b := newGroupBed(t, Options{})
				if _, err := b.raw.Exec(t.Context(), `CREATE TABLE `+b.schema+`.parent (n int PRIMARY KEY);
					CREATE TABLE `+b.schema+`.child (parent int REFERENCES `+b.schema+`.parent DEFERRABLE INITIALLY DEFERRED)`); err != nil {
					t.Fatal(err)
				}
				b.warm(t)
				keys := groupKeys(8)
				results := b.together(t, keys, func(key string) batchEffect {
					effect := b.inserts(key)
					if neighbours == "send" {
						effect = b.returns(key)
					}
					if key == keys[3] {
						effect = tt.effect(b)
					}
					return effect
				})
				if r := results[keys[3]]; tt.wrong(r) {
					t.Errorf("the bad neighbour got %+v, %v", r.out, r.err)
				}
				b.once(t, results, slices.Delete(slices.Clone(keys), 3, 4))
				if n := b.effects(t)["bad"]; n != 0 {
					t.Errorf("%d rows of what was rolled back", n)
				}
			})
		}
	}
}

// panics is an argument that cannot be encoded.
type panics struct{}

func (panics) TextValue() (v struct{}, err error) { panic("no value") }
func (panics) String() string                     { panic("no value") }

// TestGroupMemberLeaves: a panic or Goexit stays in its caller's goroutine, and the
// group goes on without it.
func TestGroupMemberLeaves(t *testing.T) {
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("sent %t", after), func(t *testing.T) {
			b := newGroupBed(t, Options{})
			b.warm(t)
			keys := groupKeys(6)
			if !after {
				keys = append(keys[:2], keys[2:]...)
			}
			var caught any
			gone := make(chan struct{})
			leaves := func(key string, how func()) batchEffect {
				return func(ctx context.Context, batch *Batch) (record.Result, error) {
					_, err := b.returns(key)(ctx, batch)
					if err == nil {
						how()
					}
					return record.Result{}, err
				}
			}
			if !after {
				func() {
					defer func() { caught = recover() }()
					_, _ = b.group.Execute(t.Context(), groupCall("panics"), func(_ context.Context, batch *Batch) (record.Result, error) {
						batch.Queue(`INSERT INTO ` + b.schema + `.effects (id) VALUES ('panics')`)
						panic("boom")
					})
				}()
				if caught != "boom" {
					t.Errorf("recovered %v", caught)
				}
				if n := b.effects(t)["panics"]; n != 0 {
					t.Errorf("%d rows of a panic", n)
				}
				return
			}
			var once = make(chan struct{}, 1)
			results := b.together(t, keys, func(key string) batchEffect {
				if key != keys[2] {
					return b.returns(key)
				}
				return func(ctx context.Context, batch *Batch) (record.Result, error) {
					select {
					case once <- struct{}{}:
						defer close(gone)
						return leaves(key, runtime.Goexit)(ctx, batch)
					default:
						return b.returns(key)(ctx, batch)
					}
				}
			})
			<-gone
			if _, told := results[keys[2]]; told {
				t.Error("a caller that left its goroutine was told something")
			}
			b.once(t, results, slices.Delete(slices.Clone(keys), 2, 3))
			if n := b.effects(t)[keys[2]]; n != 0 {
				t.Errorf("%d rows of a member that left", n)
			}
		})
	}
}

// TestGroupReplaysBeside: a member whose record stands replays, and its neighbours
// commit.
func TestGroupReplaysBeside(t *testing.T) {
	for name, effect := range map[string]func(*groupBed, string) batchEffect{
		"queued": (*groupBed).inserts, "sent": (*groupBed).returns,
	} {
		t.Run(name, func(t *testing.T) {
			b := newGroupBed(t, Options{})
			b.warm(t)
			keys := groupKeys(8)
			elsewhere := b.again(t)
			done := make(map[string]refrain.Outcome)
			for _, key := range []string{keys[1], keys[6]} {
				out, err := elsewhere.group.Execute(t.Context(), groupCall(key), elsewhere.inserts(key))
				if err != nil {
					t.Fatal(err)
				}
				done[key] = out
			}
			results := b.together(t, keys, func(key string) batchEffect { return effect(b, key) })
			var others []string
			for _, key := range keys {
				first, stood := done[key]
				if !stood {
					others = append(others, key)
					continue
				}
				if r := results[key]; r.err != nil || !r.out.Replayed || r.out.Ref != first.Ref || b.effects(t)[key] != 1 {
					t.Errorf("%s: %+v, %v; want the replay of %s", key, r.out, r.err, first.Ref)
				}
			}
			b.once(t, results, others)
		})
	}
}
