package mysql

import (
	"encoding/base32"
	"errors"
	"strconv"
	"time"
)

// anyRow is a row as database/sql gives it: copies, nil for NULL. Text and
// binary protocol, and a user's parseTime, make no difference to it.
type anyRow []any

func scanAny(s scanner, n int) (anyRow, error) {
	r := make(anyRow, n)
	dest := make([]any, n)
	for i := range r {
		dest[i] = &r[i]
	}
	return r, s.Scan(dest...)
}

func (r anyRow) null(i int) bool { return r[i] == nil }

func (r anyRow) integer(i int) int64 {
	switch v := r[i].(type) {
	case int64:
		return v
	case uint64:
		return int64(v)
	case []byte:
		n, _ := strconv.ParseInt(string(v), 10, 64)
		return n
	}
	return 0
}

func (r anyRow) text(i int) string {
	switch v := r[i].(type) {
	case []byte:
		return string(v)
	case string:
		return v
	}
	return ""
}

func (r anyRow) blob(i int) []byte {
	switch v := r[i].(type) {
	case []byte:
		return v
	case string:
		return []byte(v)
	}
	return nil
}

// instant is a time stored in microseconds; zero for NULL.
func (r anyRow) instant(i int) time.Time {
	if r.null(i) {
		return time.Time{}
	}
	return time.UnixMicro(r.integer(i)).UTC()
}

// micros is how a time is stored.
func micros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// orNull keeps nothing as NULL.
func orNull(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

const refBytes = 18

var (
	refEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)
	errRef      = errors.New("a malformed ref")
)

// encodeRef is the stored form of a ref, without its prefix and encoding; nil
// for a text that is none.
func encodeRef(ref string) []byte {
	if len(ref) != len("op_")+refEncoding.EncodedLen(refBytes) {
		return nil
	}
	b, err := refEncoding.DecodeString(ref[len("op_"):])
	if err != nil || len(b) != refBytes {
		return nil
	}
	return b
}

func decodeRef(b []byte) (string, error) {
	if len(b) != refBytes {
		return "", errRef
	}
	return "op_" + refEncoding.EncodeToString(b), nil
}
