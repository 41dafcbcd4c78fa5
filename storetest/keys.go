package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

func keyFromFuture[T any](f *fixture[T]) {
	edge := epoch.Add(f.policy().Skew)
	f.fresh(f.call(timed(edge, 1), "one"))
	late := f.call(timed(edge.Add(time.Millisecond), 2), "one")
	refusal := f.refused(late, "2b", record.KeyFromFuture)
	if !refusal.Born.Equal(edge.Add(time.Millisecond)) || !refusal.Now.Equal(epoch) {
		f.t.Errorf("it tells born %v, now %v", refusal.Born, refusal.Now)
	}
	f.effects(1)
	f.clock.advance(time.Millisecond)
	f.fresh(late)
}

// keyLength: 1 to 255 bytes, counted as bytes, never cut.
func keyLength[T any](f *fixture[T]) {
	f.refused(f.call("", "one"), "11", record.KeyMissing)
	for _, long := range []string{strings.Repeat("k", 256), strings.Repeat("é", 128), strings.Repeat("k", 1000), strings.Repeat("k", 8192)} {
		f.refused(f.call(long, "one"), "11", record.KeyInvalid)
	}
	f.effects(0)
	longest := strings.Repeat("k", 254)
	widest := f.call(longest+"w", "one") // in the longest permitted scope
	widest.Scope = refrain.Tenant(strings.Repeat("%", 255)).Subject(strings.Repeat("&", 255))
	calls := []refrain.Call{
		f.call("k", "one"), f.call(strings.Repeat("k", 36), "one"), f.call(longest, "one"), f.call(longest+"a", "one"), f.call(longest+"b", "one"),
		f.call(strings.Repeat("é", 127)+"k", "one"), widest,
	}
	f.allApart(calls)
}

// allApart demands that each call is an action of its own and replays itself.
func (f *fixture[T]) allApart(calls []refrain.Call) {
	f.t.Helper()
	rows, err := f.Effects(f.ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	originals := make([]refrain.Outcome, len(calls))
	for i, call := range calls {
		out, err := f.do(call)
		if err != nil || out.Replayed {
			f.t.Fatalf("%q in %s: %+v, %v; want an action of its own", call.Key, call.Scope, out, err)
		}
		originals[i] = out
	}
	for i, call := range calls {
		f.replay(call, originals[i])
	}
	f.effects(len(rows) + len(calls))
}

// keyBytes: keys and scopes are compared byte for byte; no collation, no
// normal form, no trimming.
func keyBytes[T any](f *fixture[T]) {
	alike := []string{
		"AbC", "aBc", "abc", "ABC",
		"\u00e9", "e\u0301", "e", "\u00c9",
		"ß", "ss", "SS", "ẞ",
		"k", "k ", " k", "k  ", "k\t", "k\n", "k\x00", "k\x00\x00",
		"ı", "i", "I", "İ", "\ufb01", "fi", "\u00c5", "\u212b", "A\u030a", "\u03a9", "\u2126", "１", "1", "01", "1.0",
	}
	f.sameInBoth(alike)
}

// sameInBoth uses each text as a key and, on one key, as a tenant and a subject.
func (f *fixture[T]) sameInBoth(texts []string) {
	f.t.Helper()
	var calls []refrain.Call
	seen := map[string]bool{}
	for _, text := range texts {
		if seen[text] {
			f.t.Fatalf("%q is in the list twice", text)
		}
		seen[text] = true
		call := f.call("one key", "one")
		call.Scope = refrain.Tenant(text)
		subject := call
		subject.Scope = refrain.Tenant("t").Subject(text)
		calls = append(calls, f.call(text, "one"), call, subject)
	}
	f.allApart(calls)
}

// keyHostile: no text a client can send is anything but a key.
func keyHostile[T any](f *fixture[T]) {
	keys := hostile()
	if len(keys) < 300 {
		f.t.Fatalf("only %d hostile keys", len(keys))
	}
	var calls []refrain.Call
	for _, key := range keys {
		if len(key) > record.MaxKey {
			if _, err := f.do(f.call(key, "one")); !errors.Is(err, record.KeyInvalid) {
				f.t.Errorf("%d bytes: %s", len(key), describe(err))
			}
			continue
		}
		calls = append(calls, f.call(key, "one"))
	}
	f.allApart(calls)
	for _, call := range calls {
		rec, _, err := f.Store.Load(f.ctx, identity(call))
		if err != nil || rec.Record == nil || rec.Record.Identity != identity(call) {
			f.t.Errorf("key %q is stored as %+v, %v", call.Key, rec.Record, err)
		}
	}
	for limit, want := range map[int]int{0: 100, 300: 300} {
		if found, err := f.Store.List(f.ctx, record.Record{}, limit); err != nil || len(found) != want {
			f.t.Errorf("List of %d records with limit %d = %d, %v; want %d", len(calls), limit, len(found), err, want)
		}
	}
}

// hostile is every fragment bare and in each frame, without repetition.
func hostile() []string {
	fragments := []string{
		"'", `"`, "`", ";", "--", "/*", "*/", "#", "' OR '1'='1", "1; DROP TABLE records", "'; DELETE FROM effects; --",
		"UNION SELECT NULL", "$1", "?", ":key", "@p1", "%", "_", `\`, `\'`, "NULL", "null", "NaN", "true",
		"..", "../../../etc/passwd", `..\..\windows`, "/", "//", "C:\\", "file:///etc/hosts", "~", "|", "`id`", "$(id)", "&&",
		"%s", "%d%n", "%!v(BADINDEX)", "{{.}}", "${jndi:ldap://h/a}", "<script>", "&amp;", "\r\nSet-Cookie: a=b",
		"\x00", "\x00\x00", "\x01\x02", "\x1b[31m", "\x7f", "\xff", "\xff\xfe", "\xc3\x28", "\xed\xa0\x80", "\xf0\x9f", "\xc0\x80",
		"\u202e", "\u200b", "\ufeff", "\u2028", "\U0001F600", "\U0010FFFF", "\ufffd", "漢字", "\u0000\u0300",
		"0", "-1", "1e999", "9223372036854775808", "0x00", "[]", "{}", `{"$gt":""}`, `\u0000`, "a=b&c=d", "a%3Db", "+", "%2B", "%00",
	}
	frames := []string{"%[1]s", "a%[1]sb", "%[1]s%[1]s", " %[1]s", "%[1]s "}
	keys := []string{
		strings.Repeat("\xff", 255), strings.Repeat("'", 255), strings.Repeat("\x00", 255),
		strings.Repeat("A", 256), strings.Repeat("A", 8<<10), strings.Repeat("\x00", 8<<10), strings.Repeat("é", 4<<10),
	}
	seen := map[string]bool{}
	for _, frame := range frames {
		for _, fragment := range fragments {
			key := fmt.Sprintf(frame, fragment)
			if !seen[key] {
				seen[key] = true
				keys = append(keys, key)
			}
		}
	}
	return keys
}
