package shop

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// paymentSchema is the table of payments. A row is pending from the transaction
// that accepts the charge until the one that settles it.
const paymentSchema = `CREATE TABLE IF NOT EXISTS demo_payment (
	n           {serial},
	payment_id  VARCHAR(64) NOT NULL UNIQUE,
	tenant      VARCHAR(64) NOT NULL,
	account     VARCHAR(64) NOT NULL,
	amount      BIGINT NOT NULL CHECK (amount > 0),
	currency    VARCHAR(3) NOT NULL,
	state       VARCHAR(16) NOT NULL,
	charge      VARCHAR(64) NOT NULL,
	refrain_ref VARCHAR(64) NOT NULL UNIQUE
){options}`

// The states of a payment.
const (
	pending = "pending"
	paid    = "paid"
	refused = "refused"
)

// maxAccount is the longest account in characters.
const maxAccount = 64

type payment struct {
	ID       string `json:"payment_id"`
	Account  string `json:"account"`
	Amount   int64  `json:"amount"` // in the currency's smallest unit
	Currency string `json:"currency"`
	State    string `json:"state"`
	Charge   string `json:"charge,omitempty"` // the provider's reference
	Ref      string `json:"ref,omitempty"`
}

// parsePayment reads {"account":"…","amount":n,"currency":"EUR"}.
func parsePayment(contentType string, body []byte) (payment, error) {
	given, err := members(contentType, body)
	if err != nil {
		return payment{}, err
	}
	var p payment
	for name, value := range given {
		switch name {
		case "account":
			p.Account, err = parseText(name, value, maxAccount)
		case "amount":
			p.Amount, err = parseAmount(value)
		case "currency":
			p.Currency, err = parseCurrency(value)
		default:
			err = fmt.Errorf("%q is not a member of a payment", cut(name))
		}
		if err != nil {
			return payment{}, err
		}
	}
	for _, name := range [...]string{"account", "amount", "currency"} {
		if given[name] == nil {
			return payment{}, errors.New(name + " is missing")
		}
	}
	return p, nil
}

func parseAmount(value json.RawMessage) (int64, error) {
	if n, ok := integer(string(value)); ok && n >= 1 {
		return n, nil
	}
	return 0, errors.New("amount must be an integer of 1 or more, in the currency's smallest unit")
}

func parseCurrency(value json.RawMessage) (string, error) {
	var code string
	if json.Unmarshal(value, &code) != nil || len(code) != 3 || strings.Trim(code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return "", errors.New("currency must be three capital letters, as EUR")
	}
	return code, nil
}
