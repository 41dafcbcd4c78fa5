package shop

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/refrain-dev/refrain"
)

// maxQuoteBody is the longest request for a quote in bytes.
const maxQuoteBody = 16 << 10

type wishKey struct{}

// checked stands outside of the guard: who asks, and whether it is a quote at
// all. What it answers never becomes a record.
func (s *Shop) checked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, ok := s.tenant(w, r); !ok {
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxQuoteBody))
		var asked wish
		if err == nil {
			asked, err = parseWish(r.Header.Get("Content-Type"), body)
		}
		var over *http.MaxBytesError
		switch {
		case errors.As(err, &over):
			writeProblem(w, tooLong, "")
		case errors.Is(err, errMediaType):
			writeProblem(w, badMedia, err.Error())
		case err != nil:
			writeProblem(w, badQuote, err.Error())
		default:
			r = r.WithContext(context.WithValue(r.Context(), wishKey{}, asked))
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
		}
	})
}

// quote is a handler as it was before there was a guard: it commits its row in
// a transaction of its own, and no rollback of ours undoes it. Only the ref is
// new: it lets the row tell which action made it.
func (s *Shop) quote(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	asked := ctx.Value(wishKey{}).(wish)
	if err := s.pause(ctx, asked.delay); err != nil {
		writeProblem(w, quoteFailed, "")
		return
	}
	switch asked.fail {
	case failHang:
		<-ctx.Done()
		fallthrough
	case failBefore:
		writeProblem(w, quoteFailed, "")
		return
	}
	made, err := s.insertQuote(ctx, asked.text)
	switch {
	case err != nil || asked.fail == failAfter:
		writeProblem(w, quoteFailed, "")
	case asked.fail == failPanic:
		panic(http.ErrAbortHandler) // the server does not print the stack of this one
	default:
		w.Header().Set("Location", quotePath+made.ID)
		writeJSON(w, http.StatusCreated, made)
	}
}

func (s *Shop) insertQuote(ctx context.Context, text string) (quote, error) {
	running, _ := refrain.CallFrom(ctx)
	made := quote{ID: "qt_" + strings.ToLower(rand.Text()), Text: text, Ref: running.Ref}
	err := s.db.Update(ctx, func(ctx context.Context, tx refrain.SQLTx) error {
		_, err := tx.ExecContext(ctx, s.db.SQL(`INSERT INTO {quotes} (quote_id, tenant, text, refrain_ref) VALUES (?, ?, ?, ?)`),
			made.ID, running.Scope.Get("tenant"), made.Text, made.Ref)
		return err
	})
	return made, err
}
