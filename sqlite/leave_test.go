package sqlite

import (
	"context"
	"net/http"
	"runtime"
	"testing"

	"github.com/refrain-dev/refrain"
)

// leaving are the ways an effect ends without returning.
var leaving = map[string]func(){
	"panic":  func() { panic("leave") },
	"abort":  func() { panic(http.ErrAbortHandler) },
	"Goexit": runtime.Goexit,
}

// An effect that does not return takes its work with it and nobody else's; the
// panic goes on in its own goroutine.
func TestLeave(t *testing.T) {
	for name, leave := range leaving {
		t.Run(name, func(t *testing.T) {
			db := openShop(t)
			var errs [2]error
			var runs [2]int
			var recovered any
			together(t, db,
				func() { errs[0] = run(db, call("a"), counted(&runs[0], put("a"))) },
				func() {
					defer func() { recovered = recover() }()
					_ = run(db, call("b"), func(ctx context.Context, tx Tx) (refrain.Result, error) {
						_, _ = put("b")(ctx, tx)
						_, _ = tx.QueryContext(ctx, endless)
						leave()
						return done, nil
					})
					t.Error("Execute returned")
				},
				func() { errs[1] = run(db, call("c"), counted(&runs[1], put("c"))) },
			)
			if errs[0] != nil || errs[1] != nil {
				t.Errorf("neighbours: %v", errs)
			}
			if (recovered == nil) != (name == "Goexit") {
				t.Errorf("recovered %v", recovered)
			}
			equal(t, "runs", runs, [2]int{1, 1})
			wantItems(t, db, "a", "c")
			wantReceipt(t, db, call("b"), false)
			if err := run(db, call("b"), put("b")); err != nil { // its flight has landed
				t.Error(err)
			}
			wantItems(t, db, "a", "b", "c")
		})
	}
}

// The engine's own work leaves as well.
func TestLeaveUpdate(t *testing.T) {
	db := openShop(t)
	func() {
		defer func() { _ = recover() }()
		_ = db.Update(t.Context(), func(ctx context.Context, tx Tx) error {
			_, _ = put("half")(ctx, tx)
			panic("leave")
		})
	}()
	wantItems(t, db)
	wantUsable(t, db)
}
