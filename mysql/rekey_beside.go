package mysql

import (
	"bytes"
	"context"
	"errors"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

// beside is a row that stands beside an identity.
type beside struct {
	hash, key []byte
	scope     string
}

// moveAllows keeps one allow where two become one.
func moveAllows(ctx context.Context, tx runner, r Rekey, to *upkeep.Move) (int, error) {
	return moveBeside(ctx, tx, r, to, "refrain_allow", `UPDATE refrain_allow t JOIN refrain_allow f ON f.hash = ?
		SET t.operation = t.operation WHERE t.hash = ?`)
}

// moveReviews adds up the counts where two reviews become one.
func moveReviews(ctx context.Context, tx runner, r Rekey, to *upkeep.Move) (int, error) {
	return moveBeside(ctx, tx, r, to, "refrain_review", `UPDATE refrain_review t JOIN refrain_review f ON f.hash = ?
		SET t.first = least(t.first, f.first), t.last = greatest(t.last, f.last), t.count = t.count + f.count WHERE t.hash = ?`)
}

func moveBeside(ctx context.Context, tx runner, r Rekey, to *upkeep.Move, table, merge string) (int, error) {
	all, err := rowsBeside(ctx, tx, table, r.Operation)
	if err != nil {
		return 0, err
	}
	moved := 0
	for _, b := range all {
		scope, err := to.Scope(b.scope)
		if err != nil {
			return 0, err
		}
		hash := record.Identity{Scope: scope, Operation: r.To, Key: string(b.key)}.Hash()
		if bytes.Equal(hash[:], b.hash) {
			continue
		}
		var taken bool
		if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM `+table+` WHERE hash = ?) LIMIT 1`, hash[:]).Scan(&taken); err != nil {
			return 0, err
		}
		if taken {
			if _, err := tx.ExecContext(ctx, merge, b.hash, hash[:]); err != nil {
				return 0, err
			}
			err = one(tx.ExecContext(ctx, `DELETE FROM `+table+` WHERE hash = ?`, b.hash))
		} else {
			err = one(tx.ExecContext(ctx, `UPDATE `+table+` SET hash = ?, scope = ?, operation = ? WHERE hash = ?`,
				hash[:], []byte(scope), []byte(r.To), b.hash))
		}
		if err != nil {
			return 0, err
		}
		moved++
	}
	return moved, nil
}

func rowsBeside(ctx context.Context, tx runner, table, operation string) ([]beside, error) {
	rows, err := tx.QueryContext(ctx, "SELECT hash, scope, `key` FROM "+table+` WHERE operation = ?`+every, []byte(operation))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []beside
	for rows.Next() {
		var b beside
		if err := rows.Scan(&b.hash, &b.scope, &b.key); err != nil {
			return nil, err
		}
		all = append(all, b)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

type fence struct {
	id               int64
	operation, scope string
}

// moveFences lets every fence cover what it covered. One for all operations
// stays and is joined by one for the moved identities.
func moveFences(ctx context.Context, tx runner, r Rekey, to *upkeep.Move) (moved int, err error) {
	all, err := fences(ctx, tx, r.Operation)
	if err != nil {
		return 0, err
	}
	for _, f := range all {
		scope := f.scope
		if next, err := to.Rewritten(f.scope); scope != "" && err == nil { // else it covers none of these records
			scope = next
		}
		switch {
		case f.operation != "":
			_, err = tx.ExecContext(ctx, `UPDATE refrain_fence SET operation = ?, scope = ? WHERE id = ?`, []byte(r.To), []byte(scope), f.id)
		case scope == f.scope:
			continue
		default:
			_, err = tx.ExecContext(ctx, "INSERT INTO refrain_fence (operation, scope, until, since, reason, `by`, at, ended)"+
				" SELECT ?, ?, until, since, reason, `by`, at, ended FROM refrain_fence WHERE id = ?", []byte(r.To), []byte(scope), f.id)
		}
		if err != nil {
			return 0, err
		}
		moved++
	}
	return moved, nil
}

func fences(ctx context.Context, tx runner, operation string) ([]fence, error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, operation, scope FROM refrain_fence
		WHERE operation = ? OR operation = X'' AND scope <> X'' ORDER BY id`+every, []byte(operation))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []fence
	for rows.Next() {
		var f fence
		if err := rows.Scan(&f.id, &f.operation, &f.scope); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}
