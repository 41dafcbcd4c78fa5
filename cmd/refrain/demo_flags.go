package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/shop"
)

// demoFlags are the demo's own flags as they were given.
type demoFlags struct {
	listen              string
	ephemeral           bool
	replayFor, remember time.Duration
	wait, skew, delay   time.Duration
	maxExecution, lease time.Duration
	async               bool
	witness             string // file
}

var demoDefaults = demoFlags{
	listen: "127.0.0.1:8080", replayFor: 24 * time.Hour, remember: 720 * time.Hour, wait: refrain.DefaultWait,
	maxExecution: refrain.DefaultMaxExecution, lease: refrain.DefaultLease,
}

func (f *demoFlags) add(cmd *cobra.Command) {
	flags, def := cmd.Flags(), demoDefaults
	flags.StringVar(&f.listen, "listen", def.listen, "`address` to listen on; port 0 takes a free one")
	flags.BoolVar(&f.ephemeral, "ephemeral", false, "use a temporary database, removed at exit")
	flags.DurationVar(&f.replayFor, "replay-for", def.replayFor, "how long full results are replayed")
	flags.DurationVar(&f.remember, "remember-for", def.remember, "how long actions are recognised")
	flags.DurationVar(&f.wait, "wait", def.wait, "how long a duplicate waits for the first; 0s: not at all")
	flags.DurationVar(&f.skew, "skew", 0, "tolerated clock difference to clients; 0s: none (default: 5m or a quarter of --remember-for, whichever is less)")
	flags.DurationVar(&f.delay, "effect-delay", 0, "how long an order takes after its insert; 0s: no time")
	flags.BoolVar(&f.async, "async", false, "answer a repeat of a payment that is not settled 202 with its state, at once, instead of waiting and 409")
	flags.StringVar(&f.witness, "witness", "", "a `file` outside the database's backup: a database that comes back older is fenced")
	flags.DurationVar(&f.maxExecution, "max-execution", def.maxExecution, "how long the handler of a quote may take")
	flags.DurationVar(&f.lease, "lease", def.lease, "how long a quote's claim outlives its process; at least 1s")
}

// check reports the first flag that is wrong, in the words of the flags.
func (f demoFlags) check() error {
	const century, day, most = 100 * 365 * 24 * time.Hour, 24 * time.Hour, time.Hour
	for _, rule := range []struct {
		bad        bool
		flag       string
		value      time.Duration
		says, hint string
	}{
		{f.wait < 0, "--wait", f.wait, "less than nothing", "0s means none"},
		{f.skew < 0, "--skew", f.skew, "less than nothing", "0s means none"},
		{f.delay < 0, "--effect-delay", f.delay, "less than nothing", "0s means none"},
		{f.wait > most, "--wait", f.wait, "over an hour", "lower --wait"},
		{f.replayFor < time.Second, "--replay-for", f.replayFor, "less than a second", "raise --replay-for"},
		{f.remember < f.replayFor, "--remember-for", f.remember, "shorter than --replay-for " + short(f.replayFor),
			"raise --remember-for or lower --replay-for"},
		{f.remember > century, "--remember-for", f.remember, "over 100 years", "lower --remember-for"},
		{f.skew > f.remember/4, "--skew", f.skew, "over a quarter of --remember-for " + short(f.remember), "lower --skew or raise --remember-for"},
		{f.maxExecution <= 0, "--max-execution", f.maxExecution, "no time", "raise --max-execution"},
		{f.maxExecution > day, "--max-execution", f.maxExecution, "over a day", "lower --max-execution"},
		{f.lease < time.Second, "--lease", f.lease, "less than a second", "raise --lease"},
	} {
		if rule.bad {
			return misused(rule.hint, "%s %s is %s", rule.flag, short(rule.value), rule.says)
		}
	}
	return nil
}

// short is d as people write it: 10h, not 10h0m0s.
func short(d time.Duration) string {
	text := d.String()
	for _, zero := range [...]string{"m0s", "h0m"} {
		if n := len(text) - len(zero); n > 0 && text[n:] == zero {
			text = text[:n+1]
		}
	}
	return text
}

// config is the shop's, where zero means the contract's default: here it means none.
func (f demoFlags) config() (shop.Config, error) {
	if err := f.check(); err != nil {
		return shop.Config{}, err
	}
	c := shop.Config{ReplayFor: f.replayFor, RememberFor: f.remember, Wait: orNone(f.wait), Skew: orNone(f.skew), Delay: f.delay,
		MaxExecution: f.maxExecution, Lease: f.lease, Async: f.async}
	for _, contract := range c.Contracts() {
		if err := contract.Validate(); err != nil {
			return c, misused("durations are written 90s, 5m, 24h", "%w", err)
		}
	}
	return c, nil
}

func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}
