package archive

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain/fingerprint"
	"github.com/refrain-dev/refrain/record"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 123456000, time.UTC)

func sample(n int) record.Record {
	return record.Record{
		Identity: record.Identity{Scope: "tenant=north", Operation: "orders.create", Key: fmt.Sprintf("k\xff%d", n)},
		Ref:      record.NewRef(noon), Version: 3, Format: 1, State: record.Confirmed, Actor: "ann",
		Print:   fingerprint.Print{Raw: [32]byte{1, byte(n)}, Deciding: [32]byte{2}, Rule: fingerprint.RuleJSON, Schema: "1"},
		Created: noon, Final: noon.Add(time.Second), ReplayUntil: noon.Add(time.Hour), RememberUntil: noon.Add(2 * time.Hour), Attempt: 1, Fence: 7,
		Result: record.Result{
			Status: 201, Effect: "/orders/1", Header: [][2]string{{"Content-Type", "text/plain"}, {"X", "a"}, {"X", "b"}}, Body: []byte("a\x00b\n"),
		},
		Evidence: []record.Result{{Status: 500, Body: []byte("late")}},
	}
}

func keep(t *testing.T, path string, records ...record.Record) {
	t.Helper()
	a, err := Append(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Keep(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}

func all(t *testing.T, paths ...string) []record.Record {
	t.Helper()
	records, err := readable(paths...)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// readable is what can be read of archives, and what is wrong with the rest.
func readable(paths ...string) (records []record.Record, wrong error) {
	for rec, err := range Read(paths...) {
		if err != nil {
			wrong = errors.Join(wrong, err)
			continue
		}
		records = append(records, rec)
	}
	return records, wrong
}

// TestRoundTrip: what is read is what was kept, over several openings and files.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	want := []record.Record{sample(1), sample(2), sample(3), sample(4)}
	want[1].State, want[1].Result = record.Rejected, record.Result{Status: 409, Rejected: true, Digest: record.Trimmed}
	want[2].Print, want[2].Evidence = fingerprint.Print{}, nil
	keep(t, first, want[0], want[1])
	keep(t, first, want[2])
	keep(t, second, want[3])
	if got := all(t, first, second); !reflect.DeepEqual(got, want) {
		t.Errorf("read\n%+v\nwant\n%+v", got, want)
	}
	info, err := os.Stat(first)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestCutOff: a batch that a crash cut off is left out and then cut off; those before
// it are whole.
func TestCutOff(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a")
	keep(t, path, sample(1))
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	keep(t, path, sample(2))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for n := len(kept); n < len(whole); n++ {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readable(path)
		if len(got) != 1 || errors.Is(err, ErrCutOff) != (n > len(kept)) {
			t.Fatalf("cut off at %d: %d records, %v", n, len(got), err)
		}
	}
	keep(t, path, sample(3))
	if got := all(t, path); len(got) != 2 || got[1].Print.Raw[1] != 3 {
		t.Errorf("after the cut: %+v", got)
	}
}

// flipped changes one byte after the other of an archive's first ones, 0 meaning all,
// and shows the file with it.
func flipped(t *testing.T, kept record.Record, bits byte, first int, see func(n int, path string, damaged []byte)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a")
	keep(t, path, kept)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if first == 0 {
		first = len(text)
	}
	for n := range first {
		damaged := bytes.Clone(text)
		damaged[n] ^= bits
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		see(n, path, damaged)
	}
}

// TestDamage: a changed byte is an error, or changes nothing: never is it another
// record, or none.
func TestDamage(t *testing.T) {
	t.Parallel()
	want, harmless := sample(1), 0
	flipped(t, want, 0x10, 0, func(n int, path string, _ []byte) {
		told := 0
		for rec, err := range Read(path) {
			switch {
			case err != nil:
				told++
			case !reflect.DeepEqual(rec, want):
				t.Errorf("byte %d: %+v", n, rec)
			default:
				told++
				harmless++
			}
		}
		if told == 0 {
			t.Errorf("byte %d: neither an error nor the record", n)
		}
	})
	if harmless > 10 { // some bits of a frame's head mean nothing
		t.Errorf("%d bytes can be changed unnoticed", harmless)
	}
}

// TestDamageHidesNothingElse: what stands before and behind a damaged batch, and in
// other archives, is read; behind a damaged length nobody knows where to go on.
func TestDamageHidesNothingElse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, other := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	keep(t, other, sample(4))
	var begins []int
	for n := range 3 {
		text, _ := os.ReadFile(path)
		begins = append(begins, len(text))
		keep(t, path, sample(n))
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ at, read int }{
		{begins[1] + 8, 2}, // its length
		{begins[1] + preface + 20, 3},
		{begins[2] - 1, 3}, // its checksum
	} {
		damaged := bytes.Clone(text)
		damaged[c.at] ^= 0x10
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readable(path, other)
		if len(got) != c.read || err == nil || errors.Is(err, ErrCutOff) || !strings.Contains(err.Error(), fmt.Sprintf("at byte %d", begins[1])) {
			t.Errorf("byte %d: %d records, %v", c.at, len(got), err)
		}
	}
}

// TestWrongChecksum: a long batch that is damaged gives none of its records.
func TestWrongChecksum(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a")
	var many []record.Record
	for n := range 3000 { // several blocks
		many = append(many, sample(n))
	}
	keep(t, path, many...)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-1] ^= 1
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readable(path); len(got) != 0 || err == nil {
		t.Errorf("%d records, %v", len(got), err)
	}
}

// TestFull: where the disk is full the archive is as it was, and the error is told.
func TestFull(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		if os.Getenv("REFRAIN_REQUIRE_SERVICES") == "1" {
			t.Fatal(err)
		}
		t.Skip("no /dev/full here")
	}
	a := &File{file: full, path: full.Name()}
	defer a.Close()
	if err := a.Keep(t.Context(), []record.Record{sample(1)}); err == nil {
		t.Error("it was kept on a full disk")
	}
	if a.size != 0 {
		t.Errorf("size %d", a.size)
	}
}

// TestDamagedLength: it is told, and nothing behind it is cut off.
func TestDamagedLength(t *testing.T) {
	t.Parallel()
	flipped(t, sample(1), 0x40, preface, func(n int, path string, damaged []byte) {
		if a, err := Append(path); err == nil {
			t.Errorf("byte %d: opened", n)
			_ = a.Close()
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, damaged) {
			t.Errorf("byte %d: the file was changed, %v", n, err)
		}
	})
}

// TestOneWriter: a second one would write over what the first has kept.
func TestOneWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.zst")
	first, err := Append(path)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := Append(path); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second writer: %v, %v", second, err)
	}
	if err := first.Keep(t.Context(), []record.Record{sample(1)}); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	keep(t, path, sample(2))
	if got := all(t, path); len(got) != 2 {
		t.Errorf("%d records, want 2", len(got))
	}
}

// TestChangedBeneath: what is kept must be found under the file's name.
func TestChangedBeneath(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(path string) error{
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"removed": os.Remove,
		"renamed": func(path string) error { return os.Rename(path, path+".1") },
		"replaced": func(path string) error {
			return errors.Join(os.Rename(path, path+".1"), os.WriteFile(path, nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.zst")
			a, err := Append(path)
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			if err := errors.Join(a.Keep(t.Context(), []record.Record{sample(1)}), change(path)); err != nil {
				t.Fatal(err)
			}
			if err := a.Keep(t.Context(), []record.Record{sample(2)}); err == nil {
				t.Error("Keep took a record that nobody will find")
			}
		})
	}
}

// TestForeignFile: what is no archive is left as it is, however short.
func TestForeignFile(t *testing.T) {
	t.Parallel()
	for _, notes := range []string{"n", "my notes\n", strings.Repeat("notes ", 100)} {
		path := filepath.Join(t.TempDir(), "notes")
		if err := os.WriteFile(path, []byte(notes), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Append(path)
		if text, _ := os.ReadFile(path); err == nil || string(text) != notes {
			t.Errorf("Append: %v; the notes are %q", err, text)
		}
	}
}

// TestEveryByte: what is no text comes back as it was.
func TestEveryByte(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.zst")
	want := sample(1)
	want.Result.Effect, want.Actor, want.Result.Header = "/o/\xff", "anna\xfe", [][2]string{{"Link", "</b>, \xff"}, {"X", "a"}}
	keep(t, path, want)
	if got := all(t, path); !reflect.DeepEqual(got[0], want) {
		t.Errorf("effect %q, actor %q, header %q", got[0].Result.Effect, got[0].Actor, got[0].Result.Header)
	}
}
