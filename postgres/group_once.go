package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/upkeep"
)

// Once takes a value of a rule for ever; see [DB.Once]. It sends the batch, as
// [Batch.Send] does, and after any error but [refrain.ErrTaken] and
// [upkeep.ErrOnce] the effect must return.
func (g *Group) Once(ctx context.Context, batch *Batch, rule, value string) error {
	if err := upkeep.CheckOnce(rule, value); err != nil {
		return err
	}
	taken := false
	query, args := g.db.onceStatement(ctx, rule, value)
	batch.Queue(query, args...).Exec(func(done pgconn.CommandTag) error {
		taken = done.RowsAffected() == 0
		return nil
	})
	if err := batch.Send(ctx); err != nil {
		return fmt.Errorf("postgres: Once: %w", migrated(err))
	}
	if taken {
		return refrain.ErrTaken
	}
	return nil
}
