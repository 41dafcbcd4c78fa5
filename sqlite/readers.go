package sqlite

import (
	"context"
	"errors"
	"sync"

	"github.com/ncruces/go-sqlite3"
)

// readers is the pool of connections that lookups read through. A lookup takes
// one connection for one statement.
type readers struct {
	source string
	check  func() error     // whether the file is still the one that was opened
	slots  chan *statements // every slot is always here or with one lookup

	mu     sync.Mutex
	closed bool
}

func newReaders(source string, size int) *readers {
	r := &readers{source: source, slots: make(chan *statements, size)}
	for range size {
		r.slots <- new(statements)
	}
	return r
}

func (r *readers) exec(context.Context, string, ...any) (int64, error) {
	return 0, errors.New("sqlite: readers do not write")
}

func (r *readers) row(ctx context.Context, query string, read func(row) error, args ...any) error {
	return r.lend(ctx, func(s *statements) error {
		_, err := s.run(query, read, args)
		return err
	})
}

func (r *readers) rows(ctx context.Context, query string, read func(row) error, args ...any) error {
	return r.lend(ctx, func(s *statements) error { return s.rows(query, read, args) })
}

// lend gives a connection to work, whose statement ends with ctx.
func (r *readers) lend(ctx context.Context, work func(*statements) error) error {
	var s *statements
	select {
	case s = <-r.slots:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { r.slots <- s }()
	if err := r.open(s); err != nil {
		return err
	}
	if ctx.Done() != nil {
		s.conn.SetInterrupt(ctx)
		defer s.conn.SetInterrupt(context.Background())
	}
	err := work(s)
	if err != nil && ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	if fatal(err) {
		err = errors.Join(err, drop(s)) // a fresh connection next time
	}
	return err
}

func (r *readers) open(s *statements) (err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errClosed
	}
	if s.conn == nil {
		if err := r.check(); err != nil {
			return err
		}
		s.conn, err = sqlite3.Open(r.source)
	}
	return err
}

func drop(s *statements) error {
	err := s.close()
	if s.conn != nil {
		err = errors.Join(err, s.conn.Close())
	}
	s.conn = nil
	return err
}

// close waits for the lookups under way and closes the connections.
func (r *readers) close() error {
	r.mu.Lock()
	again := r.closed
	r.closed = true
	r.mu.Unlock()
	if again {
		return nil
	}
	var errs []error
	for range cap(r.slots) {
		s := <-r.slots
		errs = append(errs, drop(s))
		defer func() { r.slots <- s }()
	}
	return errors.Join(errs...)
}
