//go:build linux

package engines

import (
	"context"
	"errors"
	"fmt"
)

// Found is what stands behind one key: the order's ref and token.
type Found struct{ Ref, Token string }

// Orders reads the table of orders past the engine. A key with two orders is an
// error, as is an order whose record does not say the same, or a record without
// its order.
func (s *Shop) Orders(ctx context.Context) (orders map[string]Found, err error) {
	raw, err := s.raw(s.DSN(""))
	if err != nil {
		return nil, err
	}
	defer raw.Close()
	key, body := "convert_from(r.key, 'UTF8')", "convert_from(r.body, 'UTF8')"
	records := s.Table("record")
	if s.MySQL {
		key, body, records = "CONVERT(r.`key` USING utf8mb4)", "CONVERT(r.body USING utf8mb4)", s.Table("refrain_record")
	}
	rows, err := raw.QueryContext(ctx, "SELECT "+key+", "+body+", r.state FROM "+records+" r")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	receipts := make(map[string]string)
	for rows.Next() {
		var key, body string
		var state int
		if err := rows.Scan(&key, &body, &state); err != nil {
			return nil, err
		}
		if _, twice := receipts[key]; twice || state != 4 {
			return nil, fmt.Errorf("key %s has two records, or one in state %d", key, state)
		}
		receipts[key] = body
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	rows, err = raw.QueryContext(ctx, "SELECT client_key, ref, token FROM "+s.Table("orders"))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	orders = make(map[string]Found)
	var faults []error
	for rows.Next() {
		var key string
		var found Found
		if err := rows.Scan(&key, &found.Ref, &found.Token); err != nil {
			return nil, err
		}
		if _, twice := orders[key]; twice {
			faults = append(faults, fmt.Errorf("key %s was ordered twice", key))
		}
		if receipts[key] != found.Token {
			faults = append(faults, fmt.Errorf("key %s has order %q and receipt %q", key, found.Token, receipts[key]))
		}
		orders[key] = found
	}
	if len(receipts) != len(orders) {
		faults = append(faults, fmt.Errorf("%d receipts and %d orders", len(receipts), len(orders)))
	}
	return orders, errors.Join(append(faults, rows.Err())...)
}
