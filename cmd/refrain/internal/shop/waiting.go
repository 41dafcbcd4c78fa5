package shop

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// waiting is an action that waits for a person: what is known of it, and the
// command that is its way out.
type waiting struct {
	record.Record
	State    string
	Age      time.Duration
	Evidence string
	Command  string
}

// waits are the unknown and the disputed actions, oldest first.
func (s *Shop) waits(ctx context.Context) (all []waiting, err error) {
	for _, state := range [...]string{record.Unknown.String(), "disputed"} {
		recs, now, err := s.db.Oldest(ctx, upkeep.Query{State: state, Limit: shown})
		if err != nil {
			return nil, err
		}
		for _, rec := range recs {
			look := s.quoted
			if rec.Identity.Operation == paymentOperation {
				look = s.charged
			}
			v, waits, err := look(ctx, rec)
			if err != nil {
				return nil, err
			}
			if waits {
				all = append(all, waiting{rec, state, now.Sub(rec.Created).Truncate(time.Second), v.evidence, v.command(rec.Ref, s.database)})
			}
		}
	}
	return all, nil
}

// quoted is what can be told of a quote that waits; nobody else will look.
func (s *Shop) quoted(ctx context.Context, rec record.Record) (v verdict, waits bool, err error) {
	made, err := s.quoteOf(ctx, rec.Ref)
	if err != nil || made == "" {
		return verdict{evidence: "no quote carries this reference", reason: "no quote carries this ref"}, true, err
	}
	return verdict{true, quotePath + made, "quote " + made + " carries this reference", quoteFound}, true, nil
}

const quoteFound = "the quote carries this ref"

// verdict is what a person may conclude: that the action happened, with its effect
// if that is known, or that it did not.
type verdict struct {
	happened bool
	effect   string
	evidence string
	reason   string
}

// command is, for a POSIX shell, how a person decides so.
func (v verdict) command(ref, database string) string {
	as, status, effect := record.Rejected, 409, ""
	if v.happened {
		as, status = record.Confirmed, 201
	}
	if v.effect != "" {
		effect = " --effect " + Word(v.effect)
	}
	return fmt.Sprintf("refrain ops resolve %s --db %s --as %s --status %d%s --reason %s --by support",
		ref, Word(database), as, status, effect, Word(v.reason))
}

// Word is s as one word of a POSIX shell.
func Word(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@=%,+") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
