package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// inlined runs the engine's own statements with their arguments in the text, in
// one round trip. What is not a number stands there in hexadecimal, which reads
// the same under every sql_mode and character set. The driver would quote it by
// what it believes of the session, and a routine's SET sql_mode leaves that
// belief wrong: then a key ends its literal and goes on as SQL.
type inlined struct{ runner }

func (q inlined) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	text, err := inline(query, args)
	if err != nil {
		return nil, err
	}
	return q.runner.ExecContext(ctx, text)
}

func (q inlined) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	text, err := inline(query, args)
	if err != nil {
		return nil, err
	}
	return q.runner.QueryContext(ctx, text)
}

func (q inlined) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	text, err := inline(query, args)
	if err != nil {
		failed, cancel := context.WithCancelCause(ctx)
		cancel(err)
		ctx = failed // a *sql.Row can only be made by a query: this one fails at once
	}
	return q.runner.QueryRowContext(ctx, text)
}

var errInline = errors.New("mysql: a statement and its arguments do not fit together")

// inline puts args in the place of the marks of a text of the engine's.
func inline(query string, args []any) (string, error) {
	size := len(query)
	for _, a := range args {
		size += 24
		switch v := a.(type) {
		case []byte:
			size += 2 * len(v)
		case string:
			size += 2 * len(v)
		}
	}
	b := make([]byte, 0, size)
	for {
		i := strings.IndexAny(query, "?'`")
		if i < 0 {
			if len(args) > 0 {
				return "", errInline
			}
			return string(append(b, query...)), nil
		}
		if mark := query[i]; mark != '?' { // a literal or a name, in which a ? is itself
			end := strings.IndexByte(query[i+1:], mark)
			if end < 0 {
				return "", errInline
			}
			b, query = append(b, query[:i+end+2]...), query[i+end+2:]
			continue
		}
		if len(args) == 0 {
			return "", errInline
		}
		var err error
		if b, err = appendValue(append(b, query[:i]...), args[0]); err != nil {
			return "", err
		}
		query, args = query[i+1:], args[1:]
	}
}

func appendValue(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "NULL"...), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case bool:
		if v {
			return append(b, '1'), nil
		}
		return append(b, '0'), nil
	case []byte:
		if v == nil {
			return append(b, "NULL"...), nil
		}
		return append(hex.AppendEncode(append(b, "_binary X'"...), v), '\''), nil
	case string:
		return append(hex.AppendEncode(append(b, "CONVERT(X'"...), []byte(v)), "' USING utf8mb4)"...), nil
	}
	return b, fmt.Errorf("%w: %T", errInline, v)
}

// plain reports that the driver may put the arguments of an effect's statement
// into its text: neither is there anything to escape nor can the driver take a
// mark in a literal for a placeholder, whatever it believes of the session.
// Others are prepared, bytes always: in a text they would be of another type
// than a parameter, which a JSON column refuses.
func plain(query string, args []driver.NamedValue) bool {
	if len(args) == 0 {
		return true
	}
	if strings.Contains(query, `\`) {
		return false
	}
	for _, a := range args {
		switch v := a.Value.(type) {
		case nil, int64, uint64, float64, bool, time.Time:
		case string:
			for i := range len(v) {
				if c := v[i]; c < ' ' || c == '\'' || c == '"' || c == '\\' || c >= 0x7f {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}
