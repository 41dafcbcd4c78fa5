package shop

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	defaultLimit = 100
	maxLimit     = 1000
)

// asksList is whose list is asked for and how much of it; ok is false when that
// was refused.
func (s *Shop) asksList(w http.ResponseWriter, r *http.Request) (tenant string, limit int, ok bool) {
	if tenant, ok = s.tenant(w, r); !ok {
		return "", 0, false
	}
	text := r.URL.Query().Get("limit")
	if text == "" {
		return tenant, defaultLimit, true
	}
	limit, err := strconv.Atoi(text)
	if ok = err == nil && limit >= 1 && limit <= maxLimit; !ok {
		writeProblem(w, badLimit, "")
	}
	return tenant, limit, ok
}

// newest reads a tenant's rows by a query of (tenant, tenant, limit), whose last
// column counts all of them; fields are where the others go.
func newest[T any](ctx context.Context, s *Shop, query, tenant string, limit int, fields func(*T) []any) (list []T, count int64, err error) {
	list = []T{}
	rows, err := s.db.Reader().QueryContext(ctx, s.db.SQL(query), tenant, tenant, limit)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var row T
		if err := rows.Scan(append(fields(&row), &count)...); err != nil {
			return nil, 0, err
		}
		list = append(list, row)
	}
	return list, count, rows.Err()
}

// row reads one row. An id that is no text of this database's is nobody's: some
// engines would refuse to compare it.
func (s *Shop) row(ctx context.Context, query, id string, more ...any) interface{ Scan(...any) error } {
	if !utf8.ValidString(id) || strings.ContainsRune(id, 0) {
		return nobody{}
	}
	return s.db.Reader().QueryRowContext(ctx, s.db.SQL(query), append([]any{id}, more...)...)
}

type nobody struct{}

func (nobody) Scan(...any) error { return sql.ErrNoRows }

// answerRow answers with what was read, or with why there is nothing.
func answerRow(w http.ResponseWriter, row any, err error) {
	switch {
	case errors.Is(err, sql.ErrNoRows):
		writeProblem(w, notFound, "")
	case err != nil:
		writeProblem(w, notReadable, "")
	default:
		writeJSON(w, http.StatusOK, row)
	}
}
