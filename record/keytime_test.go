package record

import (
	"strings"
	"testing"
	"time"
)

func TestBirth(t *testing.T) {
	t.Parallel()
	// RFC 9562 appendix A.6 and the example of the ULID specification.
	const v7, ulid = "017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "01ARYZ6S41TSV4RRFFQ69G5FAV"
	v7Born := time.Date(2022, 2, 22, 19, 22, 22, 0, time.UTC)
	ulidBorn := time.UnixMilli(1469918176385).UTC()
	tests := []struct {
		name string
		key  string
		born time.Time // zero: untimed by shape and as a ULID
		ulid bool      // timed as a ULID only
	}{
		{"UUIDv7", v7, v7Born, false},
		{"UUIDv7 in lower case", strings.ToLower(v7), v7Born, false},
		{"UUIDv7 of variant b", strings.Replace(v7, "-98", "-B8", 1), v7Born, false},
		{"UUIDv7 at the epoch", "00000000-0000-7000-8000-000000000000", time.UnixMilli(0).UTC(), false},
		{"UUIDv7 at the end of its time", "ffffffff-ffff-7fff-bfff-ffffffffffff", time.UnixMilli(1<<48 - 1).UTC(), false},
		{"ULID", ulid, ulidBorn, true},
		{"ULID in lower case", strings.ToLower(ulid), ulidBorn, true},
		{"greatest ULID", "7" + strings.Repeat("Z", 25), time.UnixMilli(1<<48 - 1).UTC(), true},
		{"UUIDv4", "f47ac10b-58cc-4372-a567-0e02b2c3d479", time.Time{}, false},
		{"UUIDv1", "c232ab00-9414-11ec-b3c8-9f6bdeced846", time.Time{}, false},
		{"version 7, variant 7", strings.Replace(v7, "-98", "-78", 1), time.Time{}, false},
		{"version 7, variant c", strings.Replace(v7, "-98", "-C8", 1), time.Time{}, false},
		{"a digit that is none", strings.Replace(v7, "F", "G", 1), time.Time{}, false},
		{"last digit is none", v7[:35] + "z", time.Time{}, false},
		{"a hyphen out of place", "017F22E27-9B0-7CC3-98C4-DC0C0C07398F", time.Time{}, false},
		{"no hyphens", strings.ReplaceAll(v7, "-", ""), time.Time{}, false},
		{"in braces", "{" + v7 + "}", time.Time{}, false},
		{"with a prefix", "urn:uuid:" + v7, time.Time{}, false},
		{"a byte short", v7[:35], time.Time{}, false},
		{"a byte long", v7 + "0", time.Time{}, false},
		{"ULID over 48 bits", "8" + strings.Repeat("Z", 25), time.Time{}, false},
		{"ULID with U", ulid[:25] + "U", time.Time{}, false},
		{"ULID with O in its time", "O" + ulid[1:], time.Time{}, false},
		{"ULID a byte short", ulid[:25], time.Time{}, false},
		{"ULID a byte long", ulid + "0", time.Time{}, false},
		{"bytes over ASCII", strings.Repeat("é", 13), time.Time{}, false},
		{"empty", "", time.Time{}, false},
	}
	for _, tt := range tests {
		for _, kt := range []KeyTime{ByShape, ULID, None, Required} {
			want := tt.born
			if kt == None || tt.ulid && kt != ULID {
				want = time.Time{}
			}
			got, timed := kt.Birth(tt.key)
			if timed == want.IsZero() || !got.Equal(want) {
				t.Errorf("%s under KeyTime %d: %v, %t, want %v", tt.name, kt, got, timed, want)
			}
			if timed && got.Location() != time.UTC {
				t.Errorf("%s: birth is not in UTC", tt.name)
			}
		}
	}
}

// TestReadsMore: only where a key that Birth knows now had none before.
func TestReadsMore(t *testing.T) {
	t.Parallel()
	keys := []string{"017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "01ARYZ6S41TSV4RRFFQ69G5FAV", "plain"}
	for _, kt := range []KeyTime{ByShape, ULID, None, Required} {
		for _, other := range []KeyTime{ByShape, ULID, None, Required} {
			want := false
			for _, key := range keys {
				_, now := kt.Birth(key)
				_, before := other.Birth(key)
				want = want || now && !before
			}
			if kt.ReadsMore(other) != want {
				t.Errorf("%v reads more than %v: %t, want %t", kt, other, !want, want)
			}
		}
	}
}
