//go:build linux

package retention

import (
	"context"
	"encoding/base32"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/proof/engines"
	"github.com/refrain-dev/refrain/record"
)

// seed copies the only record of a table n times, as if one had come each
// millisecond, the last of them an hour ago: columns keep what they have, but for
// the identity and the times. A third is past its memory, a third past its replay.
func (b *bench) seed(t *testing.T, n int) {
	t.Helper()
	ctx := context.Background()
	columns, values := b.template(t, ctx)
	begin := time.Now().Add(-time.Hour - time.Duration(n)*time.Millisecond)
	const batch = 500
	tx, err := b.raw.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	insert, err := tx.PrepareContext(ctx, b.insert(columns, batch))
	if err != nil {
		t.Fatal(err)
	}
	args := make([]any, 0, batch*len(columns))
	for i := range (n + batch - 1) / batch * batch {
		at := begin.Add(time.Duration(i) * time.Millisecond)
		for c, name := range columns {
			args = append(args, b.value(name, values[c], i, n, at))
		}
		if len(args) == cap(args) {
			if _, err := insert.ExecContext(ctx, args...); err != nil {
				t.Fatal(err)
			}
			args = args[:0]
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// template is the record that is copied, without what the database fills in.
func (b *bench) template(t *testing.T, ctx context.Context) (columns []string, values []any) {
	rows, err := b.raw.QueryContext(ctx, "SELECT * FROM "+b.table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	all, err := rows.Columns()
	if err != nil || !rows.Next() {
		t.Fatal("no record to copy: ", err)
	}
	scanned := make([]any, len(all))
	for i := range scanned {
		scanned[i] = new(any)
	}
	if err := rows.Scan(scanned...); err != nil {
		t.Fatal(err)
	}
	for i, name := range all {
		if name != "n" && name != "xid" {
			columns, values = append(columns, name), append(values, *scanned[i].(*any))
		}
	}
	return columns, values
}

// insert is a statement for so many rows.
func (b *bench) insert(columns []string, rows int) string {
	var s strings.Builder
	quoted := strings.NewReplacer("key", b.quote+"key"+b.quote, "schema", b.quote+"schema"+b.quote).Replace(strings.Join(columns, ", "))
	fmt.Fprintf(&s, "INSERT INTO %s (%s) VALUES ", b.table, quoted)
	for r := range rows {
		if r > 0 {
			s.WriteString(", ")
		}
		s.WriteString("(")
		for c := range columns {
			if c > 0 {
				s.WriteString(", ")
			}
			if b.dollar {
				fmt.Fprintf(&s, "$%d", r*len(columns)+c+1)
			} else {
				s.WriteString("?")
			}
		}
		s.WriteString(")")
	}
	return s.String()
}

var refEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// value is a column of the i-th copy of n, made at that time.
func (b *bench) value(column string, value any, i, n int, at time.Time) any {
	id := record.Identity{Scope: refrain.Tenant("north").String(), Operation: engines.Contract().Operation, Key: seedKey(i)}
	replay, remember := time.Now().Add(time.Hour), time.Now().Add(24*time.Hour)
	switch {
	case i < n/3:
		replay, remember = at.Add(time.Second), at.Add(time.Minute)
	case i < 2*n/3:
		replay = at.Add(time.Second)
	}
	switch column {
	case "hash":
		hash := id.Hash()
		if b.dollar {
			return fmt.Sprintf("%x", hash)
		}
		return hash[:]
	case "key":
		return []byte(id.Key)
	case "ref":
		ref := record.NewRef(at)
		if b.textRef {
			return ref
		}
		raw, err := refEncoding.DecodeString(strings.TrimPrefix(ref, "op_"))
		if err != nil {
			panic(err)
		}
		return raw
	case "created", "final":
		return at.UnixMicro()
	case "replay_until":
		return replay.UnixMicro()
	case "remember_until":
		return remember.UnixMicro()
	}
	return value
}

func seedKey(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012x", i) }
