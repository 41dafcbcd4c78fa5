package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/refrain-dev/refrain"
)

// TestModes: every way pgx sends statements; poolers in transaction mode need the
// last two.
func TestModes(t *testing.T) {
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe,
		pgx.QueryExecModeDescribeExec, pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol} {
		t.Run(mode.String(), func(t *testing.T) {
			s := newShop(t, Options{}, func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = mode })
			ctx := t.Context()
			call := keeperCall("k\x00\xff") // any bytes
			call.Actor = "clerk\x00"
			result := refrain.Result{Status: 201, Header: [][2]string{{"A", "\xff"}}, Body: []byte("\x00\xff'\\"), Effect: "/orders/1"}
			effect := func(ctx context.Context, tx Tx) (refrain.Result, error) { return result, s.order(ctx, tx, "it's") }
			out, err := s.Execute(ctx, call, effect)
			if err != nil || out.Replayed {
				t.Fatalf("Execute = %+v, %v", out, err)
			}
			again, err := s.Execute(ctx, call, effect)
			if err != nil || !again.Replayed || again.Ref != out.Ref {
				t.Errorf("Execute again = %+v, %v", again, err)
			}
			same(t, "the replayed result", again.Result, result)
			same(t, "the actor", again.Actor, call.Actor)
			other := call
			other.Input = []byte("other")
			wantRow(t, s.run(other, effect), "4", refrain.ErrKeyReused)
			err = pgx.BeginFunc(ctx, s.conns, func(tx pgx.Tx) error {
				_, err := s.ExecuteIn(ctx, tx, keeperCall("joined"), s.put("joined"))
				return err
			})
			if err != nil {
				t.Errorf("ExecuteIn: %v", err)
			}
			rejected, err := s.Execute(ctx, keeperCall("rejected"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
				return refrain.Result{Rejected: true}, s.order(ctx, tx, "undone")
			})
			if err != nil || !rejected.Rejected {
				t.Errorf("a rejection = %+v, %v", rejected, err)
			}
			s.wantItems(t, "it's", "joined")
			s.wantIdle(t)
		})
	}
}
