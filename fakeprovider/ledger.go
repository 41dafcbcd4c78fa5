package fakeprovider

import (
	"errors"
	"fmt"
	"time"
)

// Charge is one charge that was made.
type Charge struct {
	ID       string    `json:"id"`
	Account  string    `json:"account"`
	Amount   int64     `json:"amount"` // in the currency's smallest unit
	Currency string    `json:"currency"`
	Key      string    `json:"key"`
	Created  time.Time `json:"created"`
}

// State is what the provider knows of a key.
type State string

// The states of a key.
const (
	Charged  State = "charged"
	Declined State = "declined"
	Pending  State = "pending"
	NotFound State = "not-found"
)

// Report is the answer to a question by key. Charges are all that were ever made
// with the key, also after the window in which it was known.
type Report struct {
	State   State    `json:"state"`
	Charges []Charge `json:"charges"`
}

// MaxCharges bounds how many charges and keys a provider holds; beyond it charges
// are answered with 507.
const MaxCharges = 100_000

var (
	errInUse  = errors.New("key_in_use")
	errReused = errors.New("key_reused")
	errFull   = errors.New("full")
)

// entry is what the provider remembers of a key.
type entry struct {
	order  order
	at     time.Time
	state  State
	charge Charge
}

// order is the payload that a key stands for.
type order struct {
	Account  string `json:"account"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

// ledger holds charges and keys. Its owner locks it.
type ledger struct {
	charges []Charge
	keys    map[string]*entry
}

// claim begins o under key, or returns the entry of an earlier one that is
// replayed.
func (l *ledger) claim(key string, o order, now time.Time, window time.Duration) (mine, replayed *entry, err error) {
	known := l.keys[key]
	switch {
	case known != nil && known.state == Pending && window > 0:
		return nil, nil, errInUse
	case known != nil && now.Before(known.at.Add(window)):
		if known.order != o {
			return nil, nil, errReused
		}
		return nil, known, nil
	case len(l.charges) >= MaxCharges || len(l.keys) >= MaxCharges:
		return nil, nil, errFull
	}
	mine = &entry{order: o, at: now, state: Pending}
	l.keys[key] = mine
	return mine, nil, nil
}

// free forgets a claim under which nothing was done.
func (l *ledger) free(key string, e *entry) {
	if l.keys[key] == e {
		delete(l.keys, key)
	}
}

// act charges or declines.
func (l *ledger) act(key string, e *entry, declined bool, now time.Time) {
	e.state = Declined
	if declined {
		return
	}
	e.state = Charged
	e.charge = Charge{ID: fmt.Sprintf("ch_%06d", len(l.charges)+1), Account: e.order.Account, Amount: e.order.Amount, Currency: e.order.Currency, Key: key, Created: now}
	l.charges = append(l.charges, e.charge)
}

func (l *ledger) report(key string) Report {
	r := Report{State: NotFound, Charges: []Charge{}}
	for _, c := range l.charges {
		if c.Key == key {
			r.Charges = append(r.Charges, c)
		}
	}
	if known := l.keys[key]; known != nil {
		r.State = known.state
	}
	if len(r.Charges) > 0 {
		r.State = Charged
	}
	return r
}
