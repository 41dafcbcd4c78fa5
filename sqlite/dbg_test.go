package sqlite
import ("testing";"context";"github.com/refrain-dev/refrain")
func TestDbg(t *testing.T) {
	db := openShop(t)
	slow := named("slow", "1")
	slow.Contract.MaxExecution = 2 * slowEffect
	err := run(db, slow, func(ctx context.Context, _ Tx) (refrain.Result, error) {
		<-ctx.Done()
		return done, ctx.Err()
	})
	t.Log(err, db.writer.slow)
	st := trace(t, db)
	p := func(s string) effect { return func(ctx context.Context, tx Tx) (refrain.Result, error) { *st = append(*st, s); return put(s)(ctx, tx) } }
	together(t, db,
		func() { t.Log("a", run(db, call("a"), p("a"))) },
		func() { t.Log("slow", run(db, slow, p("slow"))) },
		func() { t.Log("c", run(db, call("c"), p("c"))) },
	)
	quiet(t, db)
	t.Log(*st)
	if count(*st, "COMMIT") != 4 { t.Fail() }
}
