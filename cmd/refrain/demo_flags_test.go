package main

import (
	"testing"
	"time"
)

func TestShort(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		10 * time.Hour: "10h", 90 * time.Minute: "1h30m", time.Minute: "1m", 100 * time.Minute: "1h40m", 90 * time.Second: "1m30s",
		0: "0s", 10 * time.Second: "10s", time.Hour + time.Second: "1h0m1s", 250 * time.Millisecond: "250ms", -time.Hour: "-1h",
	} {
		if got := short(d); got != want {
			t.Errorf("%v is %s, want %s", d, got, want)
		}
	}
}

// TestFlagsAreNamed: an error speaks of flags, not of the fields behind them.
func TestFlagsAreNamed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*demoFlags)
		says   string
	}{
		"memory": {func(f *demoFlags) { f.replayFor, f.remember = 10*time.Hour, time.Hour }, "--remember-for 1h is shorter than --replay-for 10h"},
		"replay": {func(f *demoFlags) { f.replayFor = time.Millisecond }, "--replay-for 1ms is less than a second"},
		"skew":   {func(f *demoFlags) { f.skew = 200 * time.Hour }, "--skew 200h is over a quarter of --remember-for 720h"},
		"wait":   {func(f *demoFlags) { f.wait = 2 * time.Hour }, "--wait 2h is over an hour"},
		"bound":  {func(f *demoFlags) { f.maxExecution = 0 }, "--max-execution 0s is no time"},
		"lease":  {func(f *demoFlags) { f.lease = time.Millisecond }, "--lease 1ms is less than a second"},
		"delay":  {func(f *demoFlags) { f.delay = -1 }, "--effect-delay -1ns is less than nothing"},
	} {
		f := demoDefaults
		tt.change(&f)
		if _, err := f.config(); err == nil || err.Error() != tt.says {
			t.Errorf("%s: %v, want %s", name, err, tt.says)
		}
	}
	if c, err := demoDefaults.config(); err != nil || c.Contracts()[1].MaxExecution != 30*time.Second || c.Contracts()[1].Lease != 30*time.Second {
		t.Errorf("the defaults are %+v, %v", c, err)
	}
}
