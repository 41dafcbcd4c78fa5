package sqlite

import (
	"fmt"
	"time"

	"github.com/refrain-dev/refrain"
)

// formatClock stood still while testdata/format1.sql was made.
var formatClock = time.Date(2026, 1, 1, 12, 0, 0, 123456000, time.UTC)

var charge = refrain.Contract{Operation: "payments.charge", Schema: "1", ReplayFor: time.Hour, RememberFor: 48 * time.Hour,
	KeyTime: refrain.KeyTimeULID, MaxResponse: 16, KeepDigest: true}

// written is a call whose record is in the file, with how it is answered.
type written struct {
	call    refrain.Call
	result  refrain.Result // of its effect
	row     string         // "" is a replay
	problem error
}

// formatCalls are the calls whose records the file has.
func formatCalls() map[string]written {
	born := uuid7(formatClock.Add(-time.Second), 1)
	header := [][2]string{{"Content-Type", "application/json"}, {"Link", "</a>"}, {"Link", "</b>, \xff"}}
	south := func(key string) refrain.Call {
		c := call(key)
		c.Scope = refrain.Tenant("south").Subject("u 1&2")
		return c
	}
	of := func(c refrain.Contract, key string) refrain.Call {
		return refrain.Call{Contract: c, Scope: refrain.Tenant("north"), Key: key, Input: []byte("tea"), Actor: "anna"}
	}
	return map[string]written{
		"confirmed": {call: of(contract, born), result: refrain.Result{Status: 201, Header: header, Body: []byte("{\"id\":1}\x00\xff\n'"), Effect: "/orders/1"}},
		"untimed":   {call: call("order 7, ü \x00\xfe"), result: refrain.Result{Status: 200, Body: []byte("seven")}},
		"subject":   {call: south("untimed"), result: refrain.Result{Effect: "urn:order:3"}},
		"rejected":  {call: call("rejected"), result: refrain.Result{Status: 422, Header: header[:1], Body: []byte(`{"no":"stock"}`), Rejected: true}},
		"digest": {call: of(charge, "01KDWMZKYR0000000000000001"), result: refrain.Result{Status: 200, Header: header[:1], Body: []byte("longer than its contract keeps"), Effect: "/charges/1"},
			row: "5", problem: refrain.ErrResultGone},
		"accepted": {call: of(charge, "accepted"), row: "6", problem: refrain.ErrInProgress},
		"unknown":  {call: of(charge, "unknown"), row: "7", problem: refrain.ErrOutcomeUnknown},
		"lost":     {call: of(charge, "lost"), row: "7", problem: refrain.ErrOutcomeUnknown},
		"disputed": {call: of(charge, "disputed"), result: refrain.Result{Status: 201, Body: []byte("paid")}, row: "7", problem: refrain.ErrOutcomeDisputed},
		"expired":  {call: call(uuid7(formatClock.Add(-3*time.Hour), 2)), row: "2", problem: refrain.ErrTooLate},
		"allowed":  {call: fenced(uuid7(formatClock.Add(-24*time.Hour), 3)), result: refrain.Result{Body: []byte("allowed")}},
		"review":   {call: fenced(uuid7(formatClock.Add(-24*time.Hour), 4)), row: "2", problem: refrain.ErrTooLate},
	}
}

// fenced is a call that the file's fence covers.
func fenced(key string) refrain.Call {
	c := call(key)
	c.Scope = refrain.Tenant("east")
	return c
}

func uuid7(born time.Time, n int) string {
	ms := born.UnixMilli()
	return fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, n)
}
