package storetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// answers writes a row and answers with result.
func (f *fixture[T]) answers(call refrain.Call, result refrain.Result) func(context.Context, T) (refrain.Result, error) {
	return func(ctx context.Context, tx T) (refrain.Result, error) {
		_, err := f.effect(call)(ctx, tx)
		return result, err
	}
}

// noise is n bytes that do not compress and repeat for a seed.
func noise(n int) []byte {
	body := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n)}).Read(body)
	return body
}

// resultSizeLimit: at the limit a body is kept whole; one byte more is rolled
// back, and never a silent second run or a cut answer.
func resultSizeLimit[T any](f *fixture[T]) {
	const limit = 1000
	f.contract.MaxResponse = limit
	for _, n := range []int{0, 1, limit - 1, limit} {
		call := f.call("size "+string(rune('a'+n%26)), "one")
		body := noise(n)
		out, err := f.execute(f.Harness, call, f.answers(call, refrain.Result{Body: body}))
		if err != nil || !bytes.Equal(out.Body, body) {
			f.t.Fatalf("%d bytes: %s", n, describe(err))
		}
		f.replay(call, out)
	}
	f.effects(4)
	call := f.call("too large", "one")
	out, err := f.execute(f.Harness, call, f.answers(call, refrain.Result{Body: noise(limit + 1)}))
	refusal := f.isRefusal(out, err, "15", record.ResponseTooLarge)
	if refusal.Retryable() {
		f.t.Error("row 15 invites a retry")
	}
	f.effects(4)
	f.fresh(call)
}

// resultKeepsDigest: by contract the action is kept and only the digest of its
// body; the first caller gets its whole value, repeats are told it is done.
func resultKeepsDigest[T any](f *fixture[T]) {
	f.contract.MaxResponse, f.contract.KeepDigest = 1000, true
	call := f.call("k", "one")
	body := noise(1001)
	out, err := f.execute(f.Harness, call, f.answers(call, refrain.Result{Body: body, Effect: "/orders/7"}))
	if err != nil || out.Replayed || out.Kept() {
		f.t.Fatalf("Execute = %d bytes, %v; want a digest", len(out.Body), err)
	}
	for _, h := range []*Harness[T]{f.Harness, f.connect()} {
		again, err := f.execute(h, call, f.effect(call))
		done := f.isRefusal(again, err, "5", record.ResultGone)
		if done.Ref != out.Ref || done.Effect != "/orders/7" || done.State != record.Confirmed {
			f.t.Errorf("done tells %+v", done)
		}
	}
	rec, err := f.Store.Find(f.ctx, out.Ref)
	if sum := sha256.Sum256(body); err != nil || len(rec.Result.Body) > 0 || !bytes.Equal(rec.Result.Digest, sum[:]) {
		f.t.Errorf("stored: %d bytes, digest %x, %v", len(rec.Result.Body), rec.Result.Digest, err)
	}
	f.effects(1)

	typed := f.call("typed", "one")
	done, err := refrain.Do(f.ctx, f.Exec, typed, func(ctx context.Context, tx T) ([]byte, error) {
		return body, f.Write(ctx, tx, f.row(ctx, typed))
	})
	if err != nil || !bytes.Equal(done.Value, body) {
		f.t.Errorf("Do = %d bytes, %v; want the whole value", len(done.Value), err)
	}
	_, err = f.do(typed)
	f.isRefusal(refrain.Outcome{}, err, "5", record.ResultGone)
	f.effects(2)
}

// resultLarge: sizes at which columns, packets and pages are known to cut.
func resultLarge[T any](f *fixture[T]) {
	f.contract.MaxResponse = 20 << 20
	f.contract.CommitWait = time.Minute // on a slow disk
	for i, n := range []int{65_535, 65_536, 1 << 20, 17 << 20} {
		if f.features.MaxBody > 0 && int64(n) > f.features.MaxBody {
			continue
		}
		call := f.call("large "+string(rune('a'+i)), "one")
		body := noise(n)
		if _, err := f.execute(f.Harness, call, f.answers(call, refrain.Result{Body: body})); err != nil {
			f.t.Fatalf("%d bytes: %v", n, err)
		}
		out, err := f.execute(f.connect(), call, f.effect(call))
		if err != nil || !out.Replayed || !bytes.Equal(out.Body, body) {
			f.t.Errorf("%d bytes: replayed %d, equal = %t, %v", n, len(out.Body), bytes.Equal(out.Body, body), err)
		}
	}
}

// resultIsExact: every part of a result comes back as it was given.
func resultIsExact[T any](f *fixture[T]) {
	call := f.call("k", "one")
	result := refrain.Result{
		Status: 207,
		Header: [][2]string{{"Link", "</a>"}, {"Content-Type", "text/plain; charset=utf-8"}, {"Link", "</b>"}, {"x-Empty", ""}, {"X-Odd", "caf\xe9, \x00"}},
		Body:   []byte("\x00\xff body\r\n\u2028"),
		Effect: "/orders/é?a=b&c",
	}
	if _, err := f.execute(f.Harness, call, f.answers(call, result)); err != nil {
		f.t.Fatal(err)
	}
	out, err := f.execute(f.connect(), call, f.effect(call))
	if err != nil || !out.Replayed || out.Status != result.Status || !slices.Equal(out.Header, result.Header) ||
		!bytes.Equal(out.Body, result.Body) || out.Effect != result.Effect || out.Rejected || len(out.Digest) > 0 {
		f.t.Errorf("replayed %+v, %v; want %+v", out, err, result)
	}
}

// resultIsACopy: what callers do to a body they gave or got changes nothing.
func resultIsACopy[T any](f *fixture[T]) {
	call := f.call("k", "one")
	given := []byte("original")
	out, err := f.Exec.Execute(f.ctx, call, func(ctx context.Context, tx T) (refrain.Result, error) {
		return refrain.Result{Body: given, Header: [][2]string{{"A", "original"}}}, f.Write(ctx, tx, f.row(ctx, call))
	})
	if err != nil {
		f.t.Fatal(err)
	}
	copy(given, "SPOILED!")
	for range 2 {
		copy(out.Body, "SPOILED!")
		out.Header[0][1] = "SPOILED!"
		if out, err = f.Exec.Execute(f.ctx, call, f.effect(call)); err != nil {
			f.t.Fatal(err)
		}
		if string(out.Body) != "original" || out.Header[0][1] != "original" {
			f.t.Errorf("replayed %q, %q", out.Body, out.Header)
		}
	}
}

// resultTyped: a Go value comes back as it was, and one that no longer decodes
// is an error that invites no retry.
func resultTyped[T any](f *fixture[T]) {
	type order struct {
		Number int
		Items  []string
	}
	call := f.call("k", "one")
	call.Input = map[string]any{"quantity": 2}
	want := order{7, []string{"apple", "pear"}}
	for i := range 2 {
		done, err := refrain.Do(f.ctx, f.Exec, call, func(ctx context.Context, tx T) (order, error) {
			return want, f.Write(ctx, tx, f.row(ctx, call))
		})
		if err != nil || done.Replayed != (i > 0) || done.Value.Number != 7 || !slices.Equal(done.Value.Items, want.Items) {
			f.t.Errorf("Do %d = %+v, %v", i, done, err)
		}
	}
	_, err := refrain.Do(f.ctx, f.Exec, call, func(context.Context, T) (int, error) { return 1, nil })
	var refusal *refrain.Error
	if !errors.As(err, &refusal) || refusal.Row != "16" || !errors.Is(err, refrain.ErrUnreadable) || refusal.Retryable() {
		f.t.Errorf("Do of another type: %s, want row 16", describe(err))
	}
	f.effects(1)
}
