package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/storetest"
)

// TestContractGroup runs the suite where effects queue a statement and return.
func TestContractGroup(t *testing.T) { contractGroup(t, false) }

// TestContractGroupSend runs it where they send what they queued.
func TestContractGroupSend(t *testing.T) { contractGroup(t, true) }

func contractGroup(t *testing.T, send bool) {
	stage := newGroupBed(t, Options{})
	storetest.Run(t, func(t *testing.T, env storetest.Env) *storetest.Harness[*Batch] {
		g := stage.cleared(t, Options{Now: env.Now})
		return g.harness(t, env, send)
	}, storetest.Features{NoExecuteIn: true})
}

// harness is the bed as the suite wants it.
func (b *groupBed) harness(t testing.TB, env storetest.Env, send bool) *storetest.Harness[*Batch] {
	b.db.parked = env.Forgetting
	b.db.between = func(statement string, run func() error) error {
		if statement == commitText {
			if err := env.Commit(); err != nil {
				return err
			}
		}
		return run()
	}
	h := &storetest.Harness[*Batch]{
		Exec: b.group, Store: b.db, Register: b.db.Register, Once: b.group.Once,
		Close: func() error { return b.db.Close(context.Background()) },
		Write: func(ctx context.Context, batch *Batch, id string) error {
			if batch.ended() {
				return errBatchOver
			}
			batch.Queue(`INSERT INTO `+b.schema+`.effects (id) VALUES ($1)`, id)
			if send {
				return batch.Send(ctx)
			}
			return nil
		},
		Effects: func(ctx context.Context) ([]string, error) {
			rows, _ := b.raw.Query(ctx, `SELECT id FROM `+b.schema+`.effects`)
			return pgx.CollectRows(rows, pgx.RowTo[string])
		},
		Reopen: func(t testing.TB) *storetest.Harness[*Batch] { return b.again(t).harness(t, env, send) },
		FailStatement: func(ctx context.Context, batch *Batch) error {
			batch.Queue(`SELECT 1/0`)
			return batch.Send(ctx)
		},
	}
	b.standing(h)
	return h
}

// ended reports whether the batch's effect has.
func (b *Batch) ended() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.over
}

// standing gives the harness what operators do, by hand.
func (b *groupBed) standing(h *storetest.Harness[*Batch]) {
	h.Fence = func(ctx context.Context, f storetest.Fence) error {
		var ended *int64
		if f.Ended {
			ended = new(int64)
		}
		_, err := b.raw.Exec(ctx, `INSERT INTO `+b.schema+`.fence (operation, scope, until, reason, by, at, ended) VALUES ($1, $2, $3, 'test', 'test', 0, $4)`,
			f.Operation, f.Scope, f.Until.UnixMicro(), ended)
		return err
	}
	h.Allow = func(ctx context.Context, id record.Identity) error {
		_, err := b.raw.Exec(ctx, `INSERT INTO `+b.schema+`.allow (hash, scope, operation, key, reason, by, at) VALUES ($1, $2, $3, $4, 'test', 'test', 0)`,
			hashText(id.Hash()), id.Scope, id.Operation, []byte(id.Key))
		return err
	}
	h.Reviews = func(ctx context.Context) (map[record.Identity]int, error) {
		rows, _ := b.raw.Query(ctx, `SELECT scope, operation, key, count FROM `+b.schema+`.review`)
		counts := make(map[record.Identity]int)
		var id record.Identity
		var key []byte
		var n int
		_, err := pgx.ForEachRow(rows, []any{&id.Scope, &id.Operation, &key, &n}, func() error {
			id.Key = string(key)
			counts[id] = n
			return nil
		})
		return counts, err
	}
	h.Audits = func(ctx context.Context) ([]storetest.Audit, error) {
		rows, _ := b.raw.Query(ctx, `SELECT to_timestamp(0) + at * interval '1 microsecond', by, action, ref, reason, detail FROM `+b.schema+`.audit ORDER BY id`)
		return pgx.CollectRows(rows, pgx.RowToStructByPos[storetest.Audit])
	}
	h.Damage = func(ctx context.Context, id record.Identity, how storetest.Damage) error {
		set := map[storetest.Damage]string{
			storetest.Garbled: `state = 99`,
			storetest.Foreign: `key = key || '\x78'::bytea`,
			storetest.Newer:   `format = format + 1`,
		}[how]
		_, err := b.raw.Exec(ctx, `UPDATE `+b.schema+`.record SET `+set+` WHERE hash = $1`, hashText(id.Hash()))
		return err
	}
}
