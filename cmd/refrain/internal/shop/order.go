package shop

import (
	"encoding/json"
	"errors"
	"fmt"
)

// orderSchema is the table of orders. The record's ref is stamped on each order,
// so the business data itself says that an action made one order at most.
const orderSchema = `CREATE TABLE IF NOT EXISTS demo_order (
	n           {serial},
	order_id    VARCHAR(64) NOT NULL UNIQUE,
	tenant      VARCHAR(64) NOT NULL,
	sku         VARCHAR(64) NOT NULL,
	quantity    BIGINT NOT NULL CHECK (quantity > 0),
	refrain_ref VARCHAR(64) NOT NULL UNIQUE
){options}`

// soldOut is the sku the shop refuses for good.
const soldOut = "SOLD-OUT"

// maxSKU is the longest sku in characters.
const maxSKU = 64

type order struct {
	ID       string `json:"order_id"`
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

// parseOrder reads {"sku":"…","quantity":n}.
func parseOrder(contentType string, body []byte) (order, error) {
	given, err := members(contentType, body)
	if err != nil {
		return order{}, err
	}
	var o order
	for name, value := range given {
		switch name {
		case "sku":
			o.SKU, err = parseText(name, value, maxSKU)
		case "quantity":
			o.Quantity, err = parseQuantity(value)
		default:
			err = fmt.Errorf("%q is not a member of an order", cut(name))
		}
		if err != nil {
			return order{}, err
		}
	}
	switch {
	case given["sku"] == nil:
		return order{}, errors.New("sku is missing")
	case given["quantity"] == nil:
		return order{}, errors.New("quantity is missing")
	}
	return o, nil
}

func parseQuantity(value json.RawMessage) (int64, error) {
	if n, ok := integer(string(value)); ok && n >= 1 {
		return n, nil
	}
	return 0, errors.New("quantity must be an integer of 1 or more")
}
