package postgres

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

// TestSQLJoinCutOff: whenever the caller's context ends, a transaction that is of
// no more use is told so.
func TestSQLJoinCutOff(t *testing.T) {
	for _, driver := range sqlDrivers {
		s := newSQLShop(t, driver, Options{})
		if err := s.do(keeperCall("first"), s.put("first")); err != nil {
			t.Fatal(err)
		}
		for after := time.Duration(0); after < 3*time.Millisecond; after += 20 * time.Microsecond {
			tx, err := s.handle.BeginTx(context.Background(), nil)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(context.Background(), after)
			_, err = s.ExecuteIn(ctx, tx, keeperCall(after.String()), s.put("next"))
			if err != nil && !errors.Is(err, ErrTxUnusable) && !errors.Is(err, refrain.ErrRetryTransaction) {
				if _, gone := tx.ExecContext(context.Background(), `SELECT 1`); gone != nil {
					t.Errorf("%s, after %v: %v; of no more use: %v", driver, after, err, gone)
				}
			}
			_ = tx.Rollback()
			cancel()
		}
	}
}
