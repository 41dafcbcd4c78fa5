package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// Rekey says how the identities of one operation change.
type Rekey struct {
	Operation string // whose records are rewritten
	To        string // its id afterwards; "" keeps it

	// Drop are the scope dimensions every record loses, Add those it gains, a
	// name and its value each, behind the others. Dropping and adding one name
	// changes its value.
	Drop []string
	Add  [][2]string
	// Identity is the identity version afterwards, see
	// [refrain.Contract.IdentityVersion]; it also orders the dimensions. "" is
	// what the rewritten scopes have in common.
	Identity string

	By, Reason string // for the line of audit
}

// Rekeyed is what a [DB.Rekey] did.
type Rekeyed struct {
	Operation string `json:"operation"`
	Identity  string `json:"identity"`
	Records   int    `json:"records"`
	Reviews   int    `json:"reviews"`
	Allows    int    `json:"allows"`
	Fences    int    `json:"fences"`
}

// RekeyError is a refusal to move records, by their refs. Nothing was changed.
type RekeyError struct {
	// Collisions are pairs of records that would become one.
	Collisions [][2]string
	// Live are records with an attempt under way, whose owner would not find
	// them again.
	Live []string
}

func (e *RekeyError) Error() string {
	if len(e.Live) > 0 {
		return fmt.Sprintf("sqlite: %d records have an attempt under way: %s", len(e.Live), shortened(e.Live))
	}
	pairs := make([]string, len(e.Collisions))
	for i, pair := range e.Collisions {
		pairs[i] = pair[0] + " and " + pair[1]
	}
	return fmt.Sprintf("sqlite: %d pairs of records would become one: %s", len(pairs), shortened(pairs))
}

// ErrRekey is wrapped by what is wrong with a [Rekey] itself: identities that
// make no contract.
var ErrRekey = errors.New("sqlite: the rekey cannot be done")

// shortened keeps a message readable; the error has the whole list.
func shortened(list []string) string {
	const shown = 10
	if len(list) > shown {
		return strings.Join(list[:shown], ", ") + ", …"
	}
	return strings.Join(list, ", ")
}

// movedTo begins the identity version of an operation whose records were moved
// to another id. No contract has it, so its old processes execute nothing.
const movedTo = "moved to "

// Rekey rewrites the identity of every record of an operation and of what
// stands beside them: its horizon, fences, allows and reviews. All of it is one
// transaction on the writer, so a crash leaves the old or the new identities;
// meanwhile writers wait, at most their Options.Busy, and are row 9. Afterwards
// a process with the old contract is [refrain.ErrContractChanged].
//
// It refuses with a [RekeyError], with [record.ErrNotFound] for an operation the
// store does not know, and with [ErrRekey] for identities that make no contract. Its memory is about 150 bytes per record.
func (db *DB) Rekey(ctx context.Context, r Rekey) (done Rekeyed, err error) {
	if r.To == "" {
		r.To = r.Operation
	}
	if r.By == "" || r.Reason == "" {
		return Rekeyed{}, fmt.Errorf("%w: it needs a name and a reason", ErrRekey)
	}
	for _, added := range r.Add {
		if err := addable(added[0], added[1]); err != nil {
			return Rekeyed{}, err
		}
	}
	if r.To == r.Operation && len(r.Add) == 0 && len(r.Drop) == 0 && r.Identity == "" {
		return Rekeyed{}, fmt.Errorf("%w: it changes nothing", ErrRekey)
	}
	err = db.writing(ctx, func(ctx context.Context, s *session) error {
		done, err = rekey(ctx, s, r, db.opts.Now())
		return err
	})
	if err != nil {
		return Rekeyed{}, err
	}
	return done, nil
}

func rekey(ctx context.Context, s *session, r Rekey, now time.Time) (Rekeyed, error) {
	done := Rekeyed{Operation: r.To}
	from, err := operation(ctx, s.run, r.Operation)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return done, fmt.Errorf("%w: the store does not know the operation %q", record.ErrNotFound, r.Operation)
	case err != nil:
		return done, err
	case from.contract == "":
		return done, fmt.Errorf("%w: the records of %q were %s", record.ErrNotFound, r.Operation, from.identity)
	}
	rescope := newRescope(r, from.identity)
	moves, err := plan(ctx, s, r, rescope, now)
	if err != nil {
		return done, err
	}
	// All that names the operation moves, and all of it must fit the new identity.
	if done.Records, err = moves.write(ctx, s.run, r.To); err != nil {
		return done, err
	}
	if done.Reviews, err = moveReviews(ctx, s, r, rescope); err != nil {
		return done, err
	}
	if done.Allows, err = moveAllows(ctx, s, r, rescope); err != nil {
		return done, err
	}
	if done.Identity, err = rescope.version(); err != nil {
		return done, err
	}
	if done.Fences, err = moveFences(ctx, s, r, rescope); err != nil {
		return done, err
	}
	if err := moveOperation(ctx, s.run, r, done.Identity, from); err != nil {
		return done, err
	}
	_, err = s.run.exec(ctx, `INSERT INTO refrain_audit (at, by, action, ref, reason, detail) VALUES (?, ?, 'rekey', '', ?, ?)`,
		now.UnixMicro(), r.By, r.Reason,
		fmt.Sprintf("%s by %s to %s by %s: %d records", r.Operation, from.identity, r.To, done.Identity, done.Records))
	return done, err
}

// moveOperation writes the operation's row under its new id and version. The
// row of an old id stays, to be refused.
func moveOperation(ctx context.Context, q runner, r Rekey, identity string, from operationRow) error {
	if r.To != r.Operation {
		known, err := operation(ctx, q, r.To)
		switch {
		case errors.Is(err, sql.ErrNoRows):
		case err != nil:
			return err
		case known.contract != "": // its own processes have begun; they keep their contract
			if known.identity != identity {
				return fmt.Errorf("%w: the store keeps %q by %q, and the moved records would be by %q", ErrRekey, r.To, known.identity, identity)
			}
			from.contract = known.contract
			if known.horizon.After(from.horizon) {
				from.horizon = known.horizon
			}
		}
		_, err = q.exec(ctx, `UPDATE refrain_operation SET identity = ?, contract = '', horizon = NULL WHERE operation = ?`,
			movedTo+r.To, r.Operation)
		if err != nil {
			return err
		}
	}
	published, err := republished(from.contract, r.To, identity)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, `INSERT INTO refrain_operation (operation, identity, contract, horizon) VALUES (?, ?, ?, ?)
		ON CONFLICT (operation) DO UPDATE SET identity = excluded.identity, contract = excluded.contract, horizon = excluded.horizon`,
		r.To, identity, published, micros(from.horizon))
	return err
}

// republished is a stored contract under another identity.
func republished(stored, operation, identity string) (string, error) {
	var c refrain.Contract
	if err := json.Unmarshal([]byte(stored), &c); err != nil {
		return "", fmt.Errorf("sqlite: the stored contract: %w", err)
	}
	c.Operation, c.Dimensions = operation, nil
	if identity != (refrain.Contract{}).IdentityVersion() {
		c.Dimensions = strings.Split(identity, ",")
	}
	published, err := c.MarshalJSON()
	return string(published), err
}
