package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// takes is an effect that holds a value, and writes only if it is free.
func (f *fixture[T]) takes(through *Harness[T], call refrain.Call, rule, value string) func(context.Context, T) (refrain.Result, error) {
	return func(ctx context.Context, tx T) (refrain.Result, error) {
		if err := through.Once(ctx, tx, rule, value); err != nil {
			return refrain.Result{}, err
		}
		return f.effect(call)(ctx, tx)
	}
}

// onces demands what a rule holds.
func (f *fixture[T]) onces(rule string, want ...string) []upkeep.Once {
	f.t.Helper()
	all, err := f.retentionOf(f.connect()).Onces(f.ctx, upkeep.OnceQuery{Rule: rule})
	var got []string
	for _, o := range all {
		got = append(got, o.Value)
		if o.Rule != rule {
			f.t.Errorf("rule %q holds %+v", rule, o)
		}
	}
	if err != nil || !slices.Equal(got, want) {
		f.t.Errorf("rule %q holds %q, %v; want %q", rule, got, err, want)
	}
	return all
}

const invoice = "invoice"

// onceIsTaken: whatever the key, and the transaction goes on.
func onceIsTaken[T any](f *fixture[T]) {
	first, second := f.call("first", "one"), f.call("second", "one")
	out, err := f.execute(f.Harness, first, f.takes(f.Harness, first, invoice, "2026-1"))
	if err != nil {
		f.t.Fatalf("Execute: %s", describe(err))
	}
	if got := f.onces(invoice, "2026-1"); len(got) == 1 && (got[0].Ref != out.Ref || !got[0].At.Equal(epoch)) {
		f.t.Errorf("it holds %+v, want it of %s at %v", got[0], out.Ref, epoch)
	}
	again, err := f.execute(f.Harness, first, f.takes(f.Harness, first, invoice, "2026-1"))
	if err != nil {
		f.t.Errorf("a repeat: %s", describe(err))
	}
	f.sameReplay(again, out)
	for _, h := range []*Harness[T]{f.Harness, f.connect()} {
		if _, err := f.execute(h, second, f.takes(h, second, invoice, "2026-1")); !errors.Is(err, refrain.ErrTaken) {
			f.t.Errorf("another action: %s, want ErrTaken", describe(err))
		}
	}
	f.effects(1)
	_, err = f.execute(f.Harness, second, func(ctx context.Context, tx T) (refrain.Result, error) {
		for range 2 {
			if err := f.Once(ctx, tx, invoice, "2026-1"); !errors.Is(err, refrain.ErrTaken) {
				f.t.Errorf("Once: %v, want ErrTaken", err)
			}
		}
		return f.takes(f.Harness, second, invoice, "2026-2")(ctx, tx)
	})
	if err != nil {
		f.t.Errorf("after ErrTaken the transaction: %s", describe(err))
	}
	third := f.call("third", "one")
	if _, err := f.execute(f.Harness, third, f.takes(f.Harness, third, "receipt", "2026-1")); err != nil {
		f.t.Errorf("under another rule: %s", describe(err))
	}
	f.onces(invoice, "2026-1", "2026-2")
	f.effects(3)
}

// onceIsGivenBack with an effect that fails or is refused.
func onceIsGivenBack[T any](f *fixture[T]) {
	call := f.call("k", "one")
	_, err := f.execute(f.Harness, call, func(ctx context.Context, tx T) (refrain.Result, error) {
		if result, err := f.takes(f.Harness, call, invoice, "2026-1")(ctx, tx); err != nil {
			return result, err
		}
		if err := f.Once(ctx, tx, invoice, "2026-1"); !errors.Is(err, refrain.ErrTaken) {
			f.t.Errorf("twice in one transaction: %v, want ErrTaken", err)
		}
		return refrain.Result{}, errInjected
	})
	if !errors.Is(err, errInjected) {
		f.t.Errorf("Execute: %s", describe(err))
	}
	f.onces(invoice)
	refused := f.call("refused", "one")
	_, err = f.execute(f.Harness, refused, func(ctx context.Context, tx T) (refrain.Result, error) {
		err := f.Once(ctx, tx, invoice, "2026-1")
		return refrain.Result{Rejected: true}, err
	})
	if err != nil {
		f.t.Errorf("Execute: %s", describe(err))
	}
	f.onces(invoice)
	if _, err := f.execute(f.Harness, call, f.takes(f.Harness, call, invoice, "2026-1")); err != nil {
		f.t.Errorf("Execute: %s", describe(err))
	}
	f.onces(invoice, "2026-1")
	f.effects(1)
}

// onceAmongMany: of many who want it at the same time, one gets it.
func onceAmongMany[T any](f *fixture[T]) {
	const n = 8
	through := []*Harness[T]{f.Harness, f.connect()}
	var all [n]<-chan answer
	for i := range all {
		h, call := through[i%2], f.call(fmt.Sprint("k", i), "one")
		all[i] = background(func() (a answer) {
			a.out, a.err = f.execute(h, call, f.takes(h, call, invoice, "2026-1"))
			return a
		})
	}
	got := 0
	for _, ch := range all {
		switch a := await(f.t, ch, "an action"); {
		case a.err == nil:
			got++
		case !errors.Is(a.err, refrain.ErrTaken):
			f.t.Errorf("an action: %s, want ErrTaken", describe(a.err))
		}
	}
	if got != 1 {
		f.t.Errorf("%d actions hold one value", got)
	}
	f.onces(invoice, "2026-1")
	f.effects(1)
}

// onceInTheCallers transaction: of no action, and of one that joins it.
func onceInTheCallers[T any](f *fixture[T]) {
	tx, end := f.begin()
	if err := f.Once(f.ctx, tx, invoice, "2026-1"); err != nil {
		f.t.Errorf("Once: %v", err)
	}
	end(false)
	f.onces(invoice)
	tx, end = f.begin()
	if err := f.Once(f.ctx, tx, invoice, "2026-1"); err != nil {
		f.t.Errorf("Once: %v", err)
	}
	call := f.call("k", "one")
	out, err := f.ExecuteIn(f.ctx, tx, call, f.takes(f.Harness, call, invoice, "2026-2"))
	if err != nil {
		f.t.Fatalf("ExecuteIn: %s", describe(err))
	}
	if err := f.Once(f.ctx, tx, invoice, "2026-1"); !errors.Is(err, refrain.ErrTaken) {
		f.t.Errorf("Once again: %v, want ErrTaken", err)
	}
	end(true)
	f.note(out, nil)
	if got := f.onces(invoice, "2026-1", "2026-2"); len(got) == 2 && (got[0].Ref != "" || got[1].Ref != out.Ref) {
		f.t.Errorf("it holds %+v, want the second of %s", got, out.Ref)
	}
	f.effects(1)
}

// onceOutlivesTheRecord: a key without a time may run again, what its rule holds
// stays.
func onceOutlivesTheRecord[T any](f *fixture[T]) {
	call := f.call("k", "one")
	out, err := f.execute(f.Harness, call, f.takes(f.Harness, call, invoice, "2026-1"))
	if err != nil {
		f.t.Fatalf("Execute: %s", describe(err))
	}
	f.clock.set(out.RememberUntil)
	f.forget(10, 1)
	f.forgets(call)
	f.clock.advance(1000 * 24 * time.Hour)
	if _, err := f.execute(f.Harness, call, f.takes(f.Harness, call, invoice, "2026-1")); !errors.Is(err, refrain.ErrTaken) {
		f.t.Errorf("past the memory: %s, want ErrTaken", describe(err))
	}
	f.effects(1)
}

// hostileValues in the order of their bytes.
func hostileValues() []string {
	values := []string{
		" ", "'", "''", `"`, `\`, "A", "a", "a ", "a\x00", "a\x00b", "aa", "b", "%", "_", "\xff", "\xff\x00", "é", "e\u0301", "日本", "🙂",
		strings.Repeat("z", 255), strings.Repeat("z", 254),
	}
	slices.Sort(values)
	return values
}

// onceIsListed in the order of the values, page by page; bytes are compared as
// they are.
func onceIsListed[T any](f *fixture[T]) {
	values := hostileValues()
	call := f.call("k", "one")
	_, err := f.execute(f.Harness, call, func(ctx context.Context, tx T) (refrain.Result, error) {
		for _, v := range values {
			if err := f.Once(ctx, tx, invoice, v); err != nil {
				f.t.Errorf("Once(%q): %v", v, err)
			}
		}
		if err := f.Once(ctx, tx, "Invoice", "a"); err != nil {
			f.t.Errorf("a rule that differs by its case: %v", err)
		}
		return refrain.Result{Body: []byte("x")}, nil
	})
	if err != nil {
		f.t.Fatalf("Execute: %s", describe(err))
	}
	f.onces(invoice, values...)
	f.onces("Invoice", "a")
	f.onces("invoic")
	var got []string
	for after := ""; ; after = got[len(got)-1] {
		page, err := f.retention().Onces(f.ctx, upkeep.OnceQuery{Rule: invoice, After: after, Limit: 5})
		if err != nil || len(page) > 5 {
			f.t.Fatalf("Onces = %d, %v", len(page), err)
		}
		for _, o := range page {
			got = append(got, o.Value)
		}
		if len(page) < 5 {
			break
		}
	}
	if !slices.Equal(got, values) {
		f.t.Errorf("by five: %q, want %q", got, values)
	}
}

// onceIsRemoved by somebody, who leaves a line that does not tell the value.
func onceIsRemoved[T any](f *fixture[T]) {
	call, other := f.call("k", "one"), f.call("other", "one")
	if _, err := f.execute(f.Harness, call, f.takes(f.Harness, call, invoice, "2026-1")); err != nil {
		f.t.Fatalf("Execute: %s", describe(err))
	}
	for _, tt := range [][2]string{{invoice, "2026-2"}, {"receipt", "2026-1"}} {
		if err := f.retention().RemoveOnce(f.ctx, tt[0], tt[1], "ops", "typing error"); !errors.Is(err, record.ErrNotFound) {
			f.t.Errorf("RemoveOnce(%q): %v, want ErrNotFound", tt, err)
		}
	}
	if err := f.retention().RemoveOnce(f.ctx, invoice, "2026-1", "ops", "cancelled"); err != nil {
		f.t.Errorf("RemoveOnce: %v", err)
	}
	if err := f.retention().RemoveOnce(f.ctx, invoice, "2026-1", "ops", "again"); !errors.Is(err, record.ErrNotFound) {
		f.t.Errorf("RemoveOnce again: %v, want ErrNotFound", err)
	}
	f.onces(invoice)
	f.audited(Audit{At: epoch, By: "ops", Action: "once-remove", Reason: "cancelled", Detail: invoice})
	if _, err := f.execute(f.Harness, other, f.takes(f.Harness, other, invoice, "2026-1")); err != nil {
		f.t.Errorf("what was given free: %s", describe(err))
	}
	f.effects(2)
}

// onceRefuses what it cannot keep, and the transaction goes on.
func onceRefuses[T any](f *fixture[T]) {
	call := f.call("k", "one")
	_, err := f.execute(f.Harness, call, func(ctx context.Context, tx T) (refrain.Result, error) {
		for _, tt := range [][2]string{{"", "v"}, {invoice, ""}, {strings.Repeat("r", 101), "v"}, {invoice, strings.Repeat("v", 256)}} {
			if err := f.Once(ctx, tx, tt[0], tt[1]); !errors.Is(err, upkeep.ErrOnce) {
				f.t.Errorf("Once with %d and %d bytes: %v, want ErrOnce", len(tt[0]), len(tt[1]), err)
			}
		}
		if err := f.Once(ctx, tx, strings.Repeat("r", 100), strings.Repeat("v", 255)); err != nil {
			f.t.Errorf("the longest: %v", err)
		}
		return f.effect(call)(ctx, tx)
	})
	if err != nil {
		f.t.Errorf("Execute: %s", describe(err))
	}
	f.onces(invoice)
	f.effects(1)
}
