package main

import (
	"context"
	"time"

	"github.com/refrain-dev/refrain/upkeep"
)

// moment reads a time as a person writes it: RFC 3339, or now, which is the store's.
func moment(ctx context.Context, db upkeep.Retention, flag, text string) (time.Time, error) {
	if text == "now" {
		is, err := db.Incarnation(ctx)
		return is.At, err
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.IsZero() { // the zero time means none, and none may mean now
		return time.Time{}, misused("give a time such as 2026-01-31T12:00:00Z, or now", "%s: %q is no time", flag, text)
	}
	return t.UTC(), nil
}

// shown is a time in a list.
func shown(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
