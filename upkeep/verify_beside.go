package upkeep

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// beside checks what stands beside the records.
func (c *checking) beside(ctx context.Context) error {
	last := ""
	for _, s := range c.spans {
		c.reaper.Looked++
		if s.After != last || s.Last <= s.After && s.Last != "" {
			c.reaper.fault("the span behind %q begins behind %q", last, s.After)
		}
		last = s.Last
	}
	if err := c.fenced(ctx); err != nil {
		return err
	}
	if err := c.reviewed(ctx); err != nil {
		return err
	}
	return c.horizon(ctx)
}

func (c *checking) fenced(ctx context.Context) error {
	fences, err := c.Store.Fences(ctx)
	if err != nil {
		return err
	}
	for _, f := range fences {
		c.fences.Looked++
		switch {
		case f.Until.After(f.At.Add(clocksApart)):
			c.fences.fault("fence %d: set %s, until %s", f.ID, f.At.Format(time.RFC3339), f.Until.Format(time.RFC3339))
		case !f.Ended.IsZero() && f.Ended.Before(f.At):
			c.fences.fault("fence %d: ended before it was set", f.ID)
		}
	}
	return nil
}

func (c *checking) reviewed(ctx context.Context) error {
	q := ReviewQuery{Limit: 1000}
	for {
		page, err := c.Store.Reviews(ctx, q)
		if err != nil {
			return err
		}
		for _, r := range page {
			c.reviews.Looked++
			seen, now, err := c.Store.Load(ctx, r.Identity)
			if err != nil {
				return err
			}
			if rec := seen.Record; rec != nil && !forgotten(rec, now) && r.Last.After(rec.Created) { // an older one is over: its fence ended
				c.reviews.fault("%s: its record is %s", r.ID(), rec.Ref)
			}
		}
		if len(page) < q.Limit {
			return nil
		}
		q.After = page[len(page)-1].ID()
	}
}

// horizon checks that it covers what the archive says was forgotten, and that it
// does not reach into the future, where it would refuse what is new.
func (c *checking) horizon(ctx context.Context) error {
	contracts, err := c.Store.Contracts(ctx)
	if err != nil {
		return err
	}
	horizons := make(map[string]time.Time)
	keyTimes := make(map[string]record.KeyTime)
	for operation, stored := range contracts {
		c.horizons.Looked++
		if horizons[operation], err = c.Store.Horizon(ctx, operation); err != nil {
			return err
		}
		keyTimes[operation] = KeyTime([]byte(stored))
		if horizons[operation].After(c.now.Add(24 * time.Hour)) {
			c.horizons.fault("%s: it is %s", operation, horizons[operation].Format(time.RFC3339))
		}
	}
	if c.Forgotten == nil {
		return nil
	}
	fences, err := c.Store.Fences(ctx)
	if err != nil {
		return err
	}
	for rec, err := range c.Forgotten {
		if err != nil {
			return err
		}
		c.horizons.Looked++
		operation := rec.Identity.Operation
		kt, known := keyTimes[operation]
		born, timed := kt.Birth(rec.Identity.Key)
		if !known || !timed || !born.After(horizons[operation]) ||
			slices.ContainsFunc(fences, func(f Fence) bool { return f.Covers(rec.Identity) && !born.After(f.Until) }) {
			continue
		}
		_, err := c.Store.Find(ctx, rec.Ref) // archived, and then not forgotten
		if err != nil && !errors.Is(err, record.ErrNotFound) {
			return err
		}
		if err != nil {
			c.horizons.fault("%s: born %s, and the horizon of %s is %s", rec.Ref, born.Format(time.RFC3339Nano), operation, horizons[operation].Format(time.RFC3339Nano))
		}
	}
	return nil
}
