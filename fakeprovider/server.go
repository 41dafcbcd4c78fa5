package fakeprovider

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Server is a provider. Its methods may be called by several goroutines at once.
type Server struct {
	// Now is the provider's clock; nil means time.Now. Set it before the first
	// request.
	Now func() time.Time

	closed chan struct{}
	mux    *http.ServeMux

	mu       sync.Mutex
	switches Switches
	ledger   ledger
	requests int
	server   *http.Server
	url      string
	done     chan struct{}
}

// New returns a sound provider that knows keys for a day and can be asked.
func New() *Server {
	s := &Server{
		closed:   make(chan struct{}),
		mux:      http.NewServeMux(),
		switches: Switches{Window: 24 * time.Hour, Query: true},
		ledger:   ledger{keys: map[string]*entry{}},
	}
	s.mux.HandleFunc("POST /charges", s.charge)
	s.mux.HandleFunc("GET /charges", s.list)
	s.mux.HandleFunc("GET /control", s.showControl)
	s.mux.HandleFunc("POST /control", s.setControl)
	return s
}

// Handler serves the provider, for a listener of the caller's.
func (s *Server) Handler() http.Handler { return s.mux }

// Start listens on a free port of 127.0.0.1 until Close.
func (s *Server) Start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
		return errors.New("fakeprovider: closed")
	default:
	}
	if s.server != nil {
		return errors.New("fakeprovider: started already")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.url, s.done = "http://"+listener.Addr().String(), make(chan struct{})
	s.server = &http.Server{
		Handler:           s.mux,
		ReadTimeout:       time.Minute,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	go func(server *http.Server, done chan struct{}) {
		defer close(done)
		_ = server.Serve(listener)
	}(s.server, s.done)
	return nil
}

// URL is where a started provider listens, without a slash at the end.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.url
}

// Close stops listening and ends what is under way: what has not acted yet does
// not act any more. It may be called again.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.closed:
	default:
		close(s.closed)
	}
	server, done := s.server, s.done
	s.mu.Unlock()
	if server != nil {
		_ = server.Close()
		<-done
	}
}

// Set changes how the provider behaves from the next request on.
// An error names a switch that cannot stand so; nothing is changed then.
func (s *Server) Set(change func(*Switches)) error {
	return s.set(func(next *Switches) error { change(next); return nil })
}

func (s *Server) set(change func(*Switches) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.switches
	if err := change(&next); err != nil {
		return err
	}
	if err := next.validate(); err != nil {
		return err
	}
	s.switches = next
	return nil
}

// Charges returns every charge, oldest first.
func (s *Server) Charges() []Charge {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ledger.charges)
}

// Report tells what became of a key, whatever Switches.Query says.
func (s *Server) Report(key string) Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ledger.report(key)
}

// Requests counts the requests for a charge that arrived, whatever became of them.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

func (s *Server) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}
