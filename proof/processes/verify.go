package processes

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	"github.com/ncruces/go-sqlite3/driver"

	"github.com/refrain-dev/refrain/record"
)

// Census is what stands in a database file.
type Census struct {
	Orders     int
	Receipts   int // confirmed records
	Refusals   int // rejected records
	Operations int
}

// Verify walks the file at path, in one snapshot and without writing: SQLite's
// own checks, then every order against its receipt and every record against
// itself. All faults found are in the error. The file may be in use.
func Verify(ctx context.Context, path string) (census Census, err error) {
	db, err := readOnly(path)
	if err != nil {
		return census, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return census, err
	}
	defer tx.Rollback() // nothing was written
	var faults []error
	for _, rule := range rules {
		found, err := list(ctx, tx, rule.query)
		if err != nil {
			return census, fmt.Errorf("%s: %w", rule.fault, err)
		}
		for _, what := range found {
			faults = append(faults, fmt.Errorf("%s: %s", rule.fault, what))
		}
	}
	wrong, err := receipts(ctx, tx)
	if err != nil {
		return census, err
	}
	err = tx.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM demo_order NOT INDEXED),
		(SELECT count(*) FROM refrain_record NOT INDEXED WHERE state = ?),
		(SELECT count(*) FROM refrain_record NOT INDEXED WHERE state = ?),
		(SELECT count(*) FROM refrain_operation)`, record.Confirmed, record.Rejected).
		Scan(&census.Orders, &census.Receipts, &census.Refusals, &census.Operations)
	if err == nil && census.Orders != census.Receipts {
		faults = append(faults, fmt.Errorf("%d orders and %d confirmed receipts", census.Orders, census.Receipts))
	}
	return census, errors.Join(append(append(faults, wrong...), err)...)
}

// readOnly opens the file for reading alone.
func readOnly(path string) (*sql.DB, error) {
	source := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: "mode=ro&_pragma=query_only(ON)&_pragma=busy_timeout(5000)"}
	return driver.Open(source.String())
}

// rules are queries that find nothing in a sound file. The tables themselves
// are read, so that an index cannot hide a row from its own check.
var rules = [...]struct{ fault, query string }{
	{"integrity_check", `SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'`},
	{"foreign_key_check", `SELECT "table" FROM pragma_foreign_key_check`},
	{"identity recorded twice", `SELECT scope || ' ' || operation || ' ' || key FROM refrain_record NOT INDEXED
		GROUP BY scope, operation, key HAVING count(*) > 1`},
	{"hash of two records", `SELECT hex(hash) FROM refrain_record NOT INDEXED GROUP BY hash HAVING count(*) > 1`},
	{"ref of two records", `SELECT ref FROM refrain_record NOT INDEXED GROUP BY ref HAVING count(*) > 1`},
	{"ref on two orders", `SELECT refrain_ref FROM demo_order NOT INDEXED GROUP BY refrain_ref HAVING count(*) > 1`},
	{"order without its receipt", `SELECT order_id FROM demo_order NOT INDEXED WHERE NOT EXISTS (
		SELECT 1 FROM refrain_record WHERE ref = refrain_ref AND state = 4 AND effect = '/v1/orders/' || order_id)`},
	{"receipt without its order", `SELECT ref FROM refrain_record NOT INDEXED WHERE state = 4 AND NOT EXISTS (
		SELECT 1 FROM demo_order WHERE refrain_ref = ref)`},
	{"refusal with an order", `SELECT ref FROM refrain_record NOT INDEXED WHERE state = 5 AND EXISTS (
		SELECT 1 FROM demo_order WHERE refrain_ref = ref)`},
	{"half-done local action", `SELECT ref FROM refrain_record NOT INDEXED WHERE state NOT IN (4, 5)`},
	{"final record without its result", `SELECT ref FROM refrain_record NOT INDEXED WHERE state IN (4, 5)
		AND (status = 0 OR body IS NULL OR header IS NULL OR state = 4 AND effect = '')`},
	{"final record without its deadlines", `SELECT ref FROM refrain_record NOT INDEXED WHERE state IN (4, 5)
		AND NOT coalesce(created <= final AND final < replay_until AND replay_until <= remember_until, FALSE)`},
	{"record of an unknown operation", `SELECT ref FROM refrain_record NOT INDEXED WHERE NOT EXISTS (
		SELECT 1 FROM refrain_operation o WHERE o.operation = refrain_record.operation)`},
	{"migration applied twice", `SELECT version FROM refrain_schema NOT INDEXED GROUP BY version HAVING count(*) > 1`},
}

func list(ctx context.Context, tx *sql.Tx, query string) (found []string, err error) {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var what string
		if err := rows.Scan(&what); err != nil {
			return nil, err
		}
		found = append(found, what)
	}
	return found, rows.Err()
}

// receipts checks what a query cannot: that a record lies under its identity's
// hash and that its result is the order it stands for.
func receipts(ctx context.Context, tx *sql.Tx) (faults []error, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT ref, hash, scope, operation, key, coalesce(body, ''), coalesce(order_id, ''), coalesce(sku, ''), coalesce(quantity, 0)
		FROM refrain_record NOT INDEXED LEFT JOIN demo_order ON refrain_ref = ref`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var ref, id, body, orderID string
		var hash, key []byte
		var identity record.Identity
		var o Order
		if err := rows.Scan(&ref, &hash, &identity.Scope, &identity.Operation, &key, &body, &orderID, &o.SKU, &o.Quantity); err != nil {
			return nil, err
		}
		identity.Key = string(key)
		if want := identity.Hash(); string(hash) != string(want[:]) {
			faults = append(faults, fmt.Errorf("record under another identity's hash: %s", ref))
		}
		if orderID == "" {
			continue
		}
		made := Order{}
		if id, made, err = (Answer{Body: body}).Made(); err != nil || id != orderID || made != o {
			faults = append(faults, fmt.Errorf("receipt of another order: %s: %q", ref, body))
		}
	}
	return faults, rows.Err()
}

// Effects maps each key of the tenant north to the ids of the orders made under
// it, as the file has them.
func Effects(ctx context.Context, path string) (made map[string][]string, err error) {
	db, err := readOnly(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, `SELECT key, order_id FROM refrain_record JOIN demo_order ON refrain_ref = ref WHERE scope = 'tenant=north'`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	made = make(map[string][]string)
	for rows.Next() {
		var key []byte
		var id string
		if err := rows.Scan(&key, &id); err != nil {
			return nil, err
		}
		made[string(key)] = append(made[string(key)], id)
	}
	return made, rows.Err()
}
