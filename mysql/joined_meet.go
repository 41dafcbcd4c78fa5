package mysql

import (
	"context"
	"database/sql"
	"strings"
)

// meetSQL asks a transaction of the caller's who it is; the identity's lock, or
// NULL, comes ahead.
const meetSQL = `, VERSION(), @@SESSION.innodb_lock_wait_timeout, ` + homeSQL + ` LIMIT 1`

// meet learns whether an Execute has the identity under way, and what kind of
// session this is.
func (j *joined) meet(ctx context.Context) error {
	lock, args := `SELECT NULL`, []any(nil)
	if !j.db.noLock.Load() {
		lock, args = `SELECT `+lockIsHeld, []any{j.claim.Hash[:]}
	}
	var other sql.NullBool
	var version string
	var here sql.NullString
	err := ofLock(args != nil, j.q.QueryRowContext(ctx, lock+meetSQL, args...).Scan(&other, &version, &j.patience, &here))
	if noSuchLock(err) {
		j.db.noLock.Store(true)
		return j.meet(ctx)
	}
	if err != nil {
		return err
	}
	j.held, j.maria = other.Bool, strings.Contains(version, "MariaDB")
	return j.sameDatabase(ctx, here.String)
}
