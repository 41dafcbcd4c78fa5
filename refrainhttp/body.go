package refrainhttp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/refrain-dev/refrain/record"
)

// body is a request body that can be read again for each run of the handler.
type body struct {
	bytes []byte // as received, at most the contract's limit
	rest  *spool // what came beyond the limit; only under Observe
	err   error  // how reading ended; only under Observe does a handler meet it
}

// readBody is the first half of row 13. A length that is declared too large is
// refused unread: a client that waits for 100 Continue is spared the upload.
func (x *exchange) readBody() *record.Error {
	limit := x.contract.BodyLimit()
	if x.r.ContentLength > limit && !x.contract.Observe {
		return tooLarge(fmt.Errorf("%d bytes declared, %d allowed", x.r.ContentLength, limit))
	}
	if x.r.Body == nil || x.r.Body == http.NoBody {
		return nil
	}
	read, err := readUpTo(x.r.Body, limit, x.r.ContentLength)
	if len(read) == 0 && err == nil && x.consumed() {
		err = errConsumed
	}
	over := int64(len(read)) > limit
	switch {
	case over && x.contract.Observe:
		x.body.rest = &spool{} // no limit in memory: straight to the file
		_, x.body.err = io.Copy(x.body.rest, x.r.Body)
	default:
		x.body.err = err
	}
	x.body.bytes = read
	switch {
	case over:
		return tooLarge(fmt.Errorf("over %d bytes", limit))
	case isMaxBytes(err):
		return tooLarge(err)
	case err != nil:
		return &record.Error{Problem: record.BodyNotCanonical, Row: "13", Err: fmt.Errorf("the body ended early: %w", err)}
	}
	return nil
}

var errConsumed = errors.New("a layer around the guard has read it, as Request.FormValue does")

// consumed reports that the body came to its end before the guard saw any of
// it. Taken for empty, it would make all requests under one key the same.
func (x *exchange) consumed() bool {
	return x.r.ContentLength > 0 || len(x.r.PostForm) > 0 || x.r.MultipartForm != nil
}

// isMaxBytes reports that a layer around the guard allows less.
func isMaxBytes(err error) bool {
	if err == nil {
		return false
	}
	var over *http.MaxBytesError
	return errors.As(err, &over)
}

func tooLarge(cause error) *record.Error {
	return &record.Error{Problem: record.BodyTooLarge, Row: "13", Err: cause}
}

// hintMost bounds what a declared length makes us allocate before it arrives.
const hintMost = 64 << 10

// readUpTo reads until the end or one byte past limit.
func readUpTo(r io.Reader, limit, declared int64) ([]byte, error) {
	hint := min(declared, limit, hintMost) + 1 // one more than is there, to meet the end
	if declared < 0 {
		hint = 512
	}
	buf := make([]byte, 0, hint)
	for int64(len(buf)) <= limit {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := r.Read(buf[len(buf):min(int64(cap(buf)), limit+1)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, nil
		}
		if err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// open returns the body from its start, in again where it is whole.
func (b *body) open(again *rewound) io.ReadCloser {
	if b.rest == nil && b.err == nil {
		again.Reset(b.bytes)
		return again
	}
	parts := []io.Reader{bytes.NewReader(b.bytes)}
	if b.rest != nil {
		parts = append(parts, b.rest.reader())
	}
	if b.err != nil {
		parts = append(parts, failing{b.err})
	}
	return io.NopCloser(io.MultiReader(parts...))
}

// length is what a handler finds in ContentLength: -1 where it ends in an error.
func (b *body) length() int64 {
	switch {
	case b.err != nil:
		return -1
	case b.rest != nil:
		return int64(len(b.bytes)) + b.rest.size
	}
	return int64(len(b.bytes))
}

func (b *body) close() {
	if b.rest != nil {
		b.rest.close()
	}
}

type rewound struct{ bytes.Reader }

func (*rewound) Close() error { return nil }

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
