package storetest

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// verify checks after every property what must hold whatever happened: at most
// one effect per identity and memory, a record for every effect, an effect for
// every confirmed outcome, a result in every final record, nothing half-done.
func (f *fixture[T]) verify() {
	if f.broken {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), patience+time.Duration(len(f.committed))*10*time.Millisecond)
	defer cancel()
	rows, err := f.Effects(ctx)
	if err != nil {
		f.t.Errorf("invariants: Effects: %v", err)
		return
	}
	f.verifyEffects(ctx, rows)
	f.verifyOutcomes(ctx, rows)
	f.verifyRecords(ctx)
}

func (f *fixture[T]) verifyEffects(ctx context.Context, rows []string) {
	effects, orphans := map[string]int{}, map[string]int{}
	for _, row := range rows {
		id, rest, _ := strings.Cut(row, "/")
		ref, _, _ := strings.Cut(rest, "/")
		effects[id]++
		switch _, err := f.Store.Find(ctx, ref); {
		case errors.Is(err, record.ErrNotFound):
			orphans[id]++
		case err != nil:
			f.t.Errorf("invariants: Find(%s): %v", ref, err)
		}
	}
	for id, n := range effects {
		if n > 1+f.ended[id] {
			f.t.Errorf("invariants: identity %s had %d effects in %d memories", id, n, 1+f.ended[id])
		}
		if orphans[id] > f.ended[id] {
			f.t.Errorf("invariants: %d effects of identity %s have no record, %d were forgotten", orphans[id], id, f.ended[id])
		}
	}
}

// verifyOutcomes holds what callers were told against what is stored.
func (f *fixture[T]) verifyOutcomes(ctx context.Context, rows []string) {
	wrote := make(map[string]bool, len(rows))
	for _, row := range rows {
		_, rest, _ := strings.Cut(row, "/")
		ref, _, _ := strings.Cut(rest, "/")
		wrote[ref] = true
	}
	for ref, body := range f.committed {
		rec, err := f.Store.Find(ctx, ref)
		if errors.Is(err, record.ErrNotFound) && len(f.ended) > 0 {
			continue
		}
		if err != nil {
			f.t.Errorf("invariants: Find(%s), which a caller was told: %v", ref, err)
			continue
		}
		if rec.Result.Kept() && !bytes.Equal(rec.Result.Body, body) {
			f.t.Errorf("invariants: record %s has body %.80q, the caller got %.80q", ref, rec.Result.Body, body)
		}
		written := wrote[ref]
		if written && rec.State != record.Confirmed {
			f.t.Errorf("invariants: record %s is %v but has an effect", ref, rec.State)
		}
		if !written && rec.State == record.Confirmed && bytes.Contains(body, []byte("/"+ref+"/")) {
			f.t.Errorf("invariants: record %s is confirmed without its effect", ref)
		}
	}
}

func (f *fixture[T]) verifyRecords(ctx context.Context) {
	records, err := f.Store.List(ctx, record.Record{}, 1000)
	if err != nil {
		f.t.Errorf("invariants: List: %v", err)
		return
	}
	for _, rec := range records {
		if f.placed[rec.Ref] {
			continue
		}
		switch {
		case !record.ValidRef(rec.Ref):
			f.t.Errorf("invariants: a record has ref %q", rec.Ref)
		case !rec.State.Final():
			f.t.Errorf("invariants: record %s is left %v", rec.Ref, rec.State)
		case rec.Final.IsZero() || rec.ReplayUntil.Before(rec.Final) || rec.RememberUntil.Before(rec.ReplayUntil):
			f.t.Errorf("invariants: record %s: final %v, replay until %v, remember until %v", rec.Ref, rec.Final, rec.ReplayUntil, rec.RememberUntil)
		case rec.State == record.Rejected != rec.Result.Rejected:
			f.t.Errorf("invariants: record %s is %v, its result rejected = %t", rec.Ref, rec.State, rec.Result.Rejected)
		}
	}
}
