//go:build linux

package engines

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
)

// Order is what an effect does.
type Order struct {
	Token  string
	Before []string // statements before the order's own
	Inside func()   // called behind it; a group may not have sent it yet
}

// exec runs one statement of an effect.
type exec = func(query string, args ...any) error

// place writes the order of a key and returns the ref it is written under.
func (s *Shop) place(ctx context.Context, key string, o Order, run exec) (ref string, err error) {
	marks := "$1, $2, $3"
	if s.MySQL {
		marks = "?, ?, ?"
	}
	for _, statement := range o.Before {
		if err := run(statement); err != nil {
			return "", err
		}
	}
	running, _ := refrain.CallFrom(ctx)
	err = run("INSERT INTO "+s.Table("orders")+" (client_key, ref, token) VALUES ("+marks+")", key, running.Ref, o.Token)
	if err == nil && o.Inside != nil {
		o.Inside()
	}
	return running.Ref, err
}

// Contract is what the orders are placed under.
func Contract() refrain.Contract {
	return refrain.Contract{Operation: "orders.create", Schema: "1", ReplayFor: time.Hour, RememberFor: 24 * time.Hour}
}

// Call is an order under the key.
func Call(key string) refrain.Call {
	return refrain.Call{Contract: Contract(), Scope: refrain.Tenant("north"), Key: key, Input: []byte("the order")}
}

// Row is the row of the decision table an error names, "" for no error, and the
// error's text where it names none.
func Row(err error) string {
	var refusal *refrain.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refusal):
		return refusal.Row
	}
	return err.Error()
}

// Same demands that a replay repeats the outcome.
func Same(replay, first refrain.Outcome) error {
	if !replay.Replayed || string(replay.Body) != string(first.Body) || replay.Ref != first.Ref || replay.Effect != first.Effect ||
		replay.Status != first.Status || !replay.ReplayUntil.Equal(first.ReplayUntil) || !replay.RememberUntil.Equal(first.RememberUntil) ||
		!replay.CreatedAt.Equal(first.CreatedAt) {
		return fmt.Errorf("replayed %+v, first told %+v", replay, first)
	}
	return nil
}

// Idle demands that every connection comes back to the pool.
func (e *Engine) Idle(t testing.TB, within time.Duration) {
	t.Helper()
	if busy := e.Settle(within); busy > 0 {
		t.Errorf("%d connections did not come back", busy)
	}
}

// Settle waits until all connections are back and returns how many are not.
func (e *Engine) Settle(within time.Duration) (busy int) {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		busy = e.Busy()
		if busy <= 0 {
			return 0
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return busy
		}
	}
}

// Timed is a key born at t, a UUIDv7, distinct by n.
func Timed(t time.Time, n int) string {
	ms := t.UnixMilli()
	return fmt.Sprintf("%08x-%04x-7%03x-8%03x-%012x", ms>>16, ms&0xffff, n>>12&0xfff, n&0xfff, n)
}
