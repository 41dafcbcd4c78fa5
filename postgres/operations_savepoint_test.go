package postgres

import (
	"context"
	"errors"
	"testing"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/operation"
)

// An action is not left waiting for an operation that its effect has rolled back
// to a savepoint: nothing would ever settle it.
func TestOperationGoneWithASavepoint(t *testing.T) {
	s := newShop(t, Options{})
	var o operation.Operation
	call := keeperCall("savepoint")
	err := s.run(call, func(ctx context.Context, tx Tx) (refrain.Result, error) {
		inner, err := tx.Begin(ctx)
		if err != nil {
			return done, err
		}
		if _, err := s.pay(&o)(ctx, inner); err != nil {
			return done, err
		}
		return done, inner.Rollback(ctx)
	})
	if !errors.Is(err, refrain.ErrEffectFailed) {
		t.Fatalf("%v, want an effect that failed", err)
	}
	if err := s.run(call, s.pay(&o)); err != nil {
		t.Errorf("the key is not free: %v", err)
	}
}
