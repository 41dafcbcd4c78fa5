package postgres

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/refrain-dev/refrain/record"
)

// binaryRow is what record_send makes of values; nil is NULL.
func binaryRow(values ...[]byte) []byte {
	row := binary.BigEndian.AppendUint32(nil, uint32(len(values)))
	for _, v := range values {
		row = binary.BigEndian.AppendUint32(row, 17)
		if v == nil {
			row = binary.BigEndian.AppendUint32(row, 1<<32-1)
			continue
		}
		row = append(binary.BigEndian.AppendUint32(row, uint32(len(v))), v...)
	}
	return row
}

// A row that was cut anywhere is no row, and columns behind ours are left alone.
func TestSplit(t *testing.T) {
	values := make([][]byte, numColumns)
	values[colHash], values[colKey], values[colBody] = []byte("hash"), []byte{}, []byte("body")
	row := binaryRow(values...)
	for _, whole := range [][]byte{row, binaryRow(append(values, []byte("more"), nil)...)} {
		r, err := split(whole)
		if err != nil {
			t.Fatal(err)
		}
		for col, want := range values {
			if string(r[col]) != string(want) || (r[col] == nil) != (want == nil) {
				t.Errorf("column %d = %q, want %q", col, r[col], want)
			}
		}
		if end := cap(r[colHash]); end != len("hash") {
			t.Errorf("a column reaches %d bytes, into the next one", end)
		}
	}
	for n := range row {
		if _, err := split(row[:n]); !errors.Is(err, record.RecordUnreadable) {
			t.Errorf("cut to %d of %d bytes: %v", n, len(row), err)
		}
	}
	if _, err := split(binaryRow(values[1:]...)); !errors.Is(err, record.RecordUnreadable) {
		t.Errorf("a column too few: %v", err)
	}
}

// What the server tells of its moment is read whole or not at all.
func TestMomentMalformed(t *testing.T) {
	for _, size := range []int{0, momentSize - 1, momentSize + 1} {
		if err := new(seen).moment(make([]byte, size)); !errors.Is(err, errMoment) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	if err := (momentOf{new(seen)}).Scan(nil); !errors.Is(err, errMoment) {
		t.Errorf("NULL: %v", err)
	}
}
