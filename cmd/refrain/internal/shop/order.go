package shop

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"
)

// schema is the shop's one table. The record's ref is stamped on each order, so
// the business data itself says that an action made one order at most.
const schema = `CREATE TABLE IF NOT EXISTS demo_order (
	n           INTEGER PRIMARY KEY,
	order_id    TEXT NOT NULL UNIQUE,
	tenant      TEXT NOT NULL,
	sku         TEXT NOT NULL,
	quantity    INTEGER NOT NULL CHECK (quantity > 0),
	refrain_ref TEXT NOT NULL UNIQUE
)`

// soldOut is the sku the shop refuses for good.
const soldOut = "SOLD-OUT"

// maxSKU is the longest sku in characters.
const maxSKU = 64

type order struct {
	ID       string `json:"order_id"`
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

var errMediaType = errors.New("the media type must be application/json")

// parseOrder reads {"sku":"…","quantity":n}. Names are compared as they are:
// encoding/json would take "SKU" for "sku".
func parseOrder(contentType string, body []byte) (order, error) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
		return order{}, errMediaType
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(body, &members); err != nil || members == nil {
		return order{}, errors.New("the body must be one JSON object")
	}
	var o order
	for name, value := range members {
		switch name {
		case "sku":
			o.SKU, err = parseSKU(value)
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
	case members["sku"] == nil:
		return order{}, errors.New("sku is missing")
	case members["quantity"] == nil:
		return order{}, errors.New("quantity is missing")
	}
	return o, nil
}

func parseSKU(value json.RawMessage) (string, error) {
	var sku *string
	if json.Unmarshal(value, &sku) != nil || sku == nil || *sku == "" ||
		utf8.RuneCountInString(*sku) > maxSKU || strings.ContainsFunc(*sku, unicode.IsControl) {
		return "", fmt.Errorf("sku must be a string of 1 to %d characters", maxSKU)
	}
	return *sku, nil
}

func parseQuantity(value json.RawMessage) (int64, error) {
	if n, ok := integer(string(value)); ok && n >= 1 {
		return n, nil
	}
	return 0, errors.New("quantity must be an integer of 1 or more")
}

// cut keeps what an answer repeats of a request short.
func cut(s string) string {
	if runes := []rune(s); len(runes) > maxSKU {
		return string(runes[:maxSKU]) + "…"
	}
	return s
}
