package postgres

import (
	"github.com/refrain-dev/refrain/record"
)

// statement is one of our own, with its arguments.
type statement struct {
	sql  string
	args []any
}

// writes are the statements that store the final record of an execution, the
// record's own last: with the operation's row where it is the first, in place of
// the record it takes over, spending its allow. They need no look at the numbers
// of rows: what must hold is a condition of the last one, which fails without it
// (see lostRace). s is of the transaction they run in.
func (q queries) writes(c *record.Claim, rec *record.Record, s seen, decision record.Decision) ([]statement, error) {
	args, err := recordArgs(rec, c.Hash)
	if err != nil {
		return nil, err
	}
	args = append(args, s.began, c.IdentityVersion)
	var kind int
	if decision.Replaces {
		kind |= replacing
		args = append(args, packRef(s.Record.Ref), s.Record.Version)
	}
	if decision.SpendsAllow {
		kind |= spending
	}
	if s.frozen {
		kind |= pinning
	}
	last := statement{q.insert[kind], args}
	if s.known {
		return []statement{last}, nil
	}
	first, err := q.learns(c)
	return []statement{first, last}, err
}

// learns stores an operation the store has not seen, with its contract. Who comes
// first decides its identity version.
func (q queries) learns(c *record.Claim) (statement, error) {
	contract, err := c.Contract()
	if err != nil {
		return statement{}, err
	}
	return statement{q.learn, []any{c.Identity.Operation, c.IdentityVersion, string(contract)}}, nil
}

// recordArgs are $1 to $27 of queries.insert and queries.update.
func recordArgs(rec *record.Record, hash [16]byte) ([]any, error) {
	evidence, err := record.EncodeEvidence(rec.Evidence)
	if err != nil {
		return nil, err
	}
	args := make([]any, 0, 31)
	return append(args, hashText(hash), packRef(rec.Ref), rec.Version, int64(rec.Format), int64(rec.State), rec.Disputed,
		rec.Identity.Scope, rec.Identity.Operation, []byte(rec.Identity.Key), []byte(rec.Actor),
		rec.Print.Raw[:], rec.Print.Deciding[:], rec.Print.Rule, rec.Print.Schema,
		rec.Created.UnixMicro(), micros(rec.Final), micros(rec.ReplayUntil), micros(rec.RememberUntil),
		int64(rec.Attempt), rec.Fence, micros(rec.Lease), orNull(evidence), int64(rec.Result.Status), []byte(rec.Result.Effect),
		orNull(rec.Result.Digest), orNull(record.EncodeHeader(rec.Result.Header)), orNull(rec.Result.Body)), nil
}

// orNull keeps nothing as NULL. The result is untyped: a nil []byte is not NULL
// to every driver.
func orNull(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}
