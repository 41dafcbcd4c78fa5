package shop

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/sqlite"
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
		recs, now, err := s.db.Oldest(ctx, sqlite.Query{State: state, Limit: shown})
		if err != nil {
			return nil, err
		}
		for _, rec := range recs {
			made, err := s.quoteOf(ctx, rec.Ref)
			if err != nil {
				return nil, err
			}
			w := waiting{rec, state, now.Sub(rec.Created).Truncate(time.Second), "no quote carries this reference", Resolve(rec.Ref, s.database, false, "")}
			if made != "" {
				w.Evidence, w.Command = "quote "+made+" carries this reference", Resolve(rec.Ref, s.database, true, quotePath+made)
			}
			all = append(all, w)
		}
	}
	return all, nil
}

// Resolve is the command, for a POSIX shell, by which a person decides that the
// action happened, with its effect if that is known, or did not.
func Resolve(ref, database string, happened bool, effect string) string {
	as, status, reason := record.Rejected, 409, "no quote carries this ref"
	if happened {
		as, status, reason = record.Confirmed, 201, "the quote carries this ref"
	}
	if effect != "" {
		effect = " --effect " + quoted(effect)
	}
	return fmt.Sprintf("refrain ops resolve %s --db %s --as %s --status %d%s --reason %s --by support",
		ref, quoted(database), as, status, effect, quoted(reason))
}

// quoted is one word of a POSIX shell.
func quoted(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
