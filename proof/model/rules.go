package model

import (
	"time"

	"github.com/refrain-dev/refrain/record"
)

// rules are the transitions under test; a planted fault replaces one.
type rules struct {
	open     func(c *record.Claim, seen record.Seen, now time.Time) (record.Edit, *record.Record, bool, error)
	complete func(own *record.Record, seen record.Seen, now time.Time, result record.Result, p record.Policy) (record.Edit, *record.Record, error)
	extend   func(own *record.Record, seen record.Seen, now time.Time, lease time.Duration) (record.Edit, error)
	release  func(own *record.Record, seen record.Seen, p record.Policy) (record.Edit, error)
	lost     func(own *record.Record, seen record.Seen) (record.Edit, error)
	expire   func(seen record.Seen, now time.Time) record.Edit
	resolve  func(seen record.Seen, now time.Time, result record.Result, p record.Policy, by, reason string) (record.Edit, error)
	// stale: the reader writes what it looked up, not what is there.
	stale bool
}

func sound() rules {
	return rules{
		open:     (*record.Claim).Open,
		complete: (*record.Record).Complete,
		extend:   (*record.Record).Extend,
		release:  (*record.Record).Release,
		lost:     (*record.Record).Lost,
		expire:   record.Expire,
		resolve:  record.Resolve,
	}
}
