package upkeep

import (
	"context"
	"slices"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// DryReap counts what a reaper would do until the given time, which must not be
// after the store's, and changes nothing. It reads every record, and does not look
// at external operations, for whose sake a reaper may leave more alone.
func DryReap(ctx context.Context, store Retention, until time.Time) (Reaped, error) {
	var done Reaped
	for after, more := "", true; more; {
		page, err := store.Walk(ctx, after, 1000)
		if err != nil {
			return done, err
		}
		rows := make([]Row, 0, len(page.Records))
		for _, rec := range page.Records {
			rows = append(rows, RowOf(rec))
		}
		p := PlanReap(rows, until)
		done.Looked += len(rows) + len(page.Unreadable)
		done.Trimmed += len(p.Trim)
		done.Forgotten += len(p.Forget)
		done.Unfinished += p.Unfinished + len(page.Unreadable)
		for _, r := range slices.Concat(p.Trim, p.Forget) {
			due := r.ReplayUntil
			if !r.RememberUntil.After(until) {
				due = r.RememberUntil
			}
			done.Lag = max(done.Lag, until.Sub(due))
		}
		after, more = page.Next, page.Next != ""
	}
	return done, nil
}

// RowOf is what a reaper reads of a record, but for its operations.
func RowOf(rec record.Record) Row {
	return Row{
		Ref: rec.Ref, Version: rec.Version, Identity: rec.Identity,
		Settled: rec.State.Final() && !rec.Disputed, Kept: rec.Result.Kept(),
		Created: rec.Created, ReplayUntil: rec.ReplayUntil, RememberUntil: rec.RememberUntil,
	}
}
