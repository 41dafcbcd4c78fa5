package pg

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/refrainhttp"

	"github.com/refrain-dev/refrain/proof/bench/measure"
	"github.com/refrain-dev/refrain/proof/bench/naked"
)

// Web serves the bare handler and the guarded one on loopback.
type Web struct {
	server *http.Server
	client *http.Client
	url    string
}

// Serve starts it.
func Serve(n Naked, e *Engine, usual func(ctx context.Context, key string) error) (*Web, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /bare", func(w http.ResponseWriter, r *http.Request) {
		reply(w, r, func(ctx context.Context) error { return n.Bare(ctx) })
	})
	mux.HandleFunc("POST /naive", func(w http.ResponseWriter, r *http.Request) {
		reply(w, r, func(ctx context.Context) error { return usual(ctx, r.Header.Get("Idempotency-Key")) })
	})
	guard := refrainhttp.Guard{Principal: func(*http.Request) (refrain.Scope, error) { return refrain.Tenant("north"), nil }}
	guarded := contract
	guarded.Operation = "orders.post"
	mux.Handle("POST /guarded", refrainhttp.Handle(guard, e.db, guarded, func(w http.ResponseWriter, r *http.Request, tx pgx.Tx) error {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return err
		}
		if _, err := tx.Exec(r.Context(), effectSQL, effectArgs...); err != nil {
			return err
		}
		return created(w)
	}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	web := &Web{
		server: &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute},
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
		url:    "http://" + listener.Addr().String(),
	}
	go func() { _ = web.server.Serve(listener) }() // ends with Close
	return web, nil
}

// Close stops it.
func (w *Web) Close() error {
	w.client.CloseIdleConnections()
	return w.server.Close()
}

func reply(w http.ResponseWriter, r *http.Request, work func(context.Context) error) {
	_, err := io.Copy(io.Discard, r.Body)
	if err == nil {
		err = work(r.Context())
	}
	if err != nil {
		http.Error(w, "failed", http.StatusInternalServerError)
		return
	}
	_ = created(w)
}

func created(w http.ResponseWriter) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", "/orders/1")
	w.WriteHeader(http.StatusCreated)
	_, err := w.Write(naked.Body)
	return err
}

// Cases are the rows over HTTP.
func (w *Web) Cases() []measure.Case {
	post := func(path string, key func() string) measure.Op {
		return func(ctx context.Context, _, _ int) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+path, strings.NewReader(`{"sku":"A-1","amount":2,"note":"ring twice"}`))
			if err != nil {
				return err
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Idempotency-Key", key())
			res, err := w.client.Do(r)
			if err != nil {
				return err
			}
			defer res.Body.Close()
			if _, err := io.Copy(io.Discard, res.Body); err != nil {
				return err
			}
			if res.StatusCode != http.StatusCreated {
				return fmt.Errorf("status %d", res.StatusCode)
			}
			return nil
		}
	}
	return []measure.Case{
		{Name: "bare handler", Op: post("/bare", naked.RandomKey)},
		{Name: "naive middleware", Base: "bare handler", Op: post("/naive", naked.RandomKey)},
		{Name: "behind Handle", Base: "bare handler", Op: post("/guarded", naked.RandomKey)},
		{Name: "behind Handle, time-ordered keys", Base: "bare handler", Op: post("/guarded", naked.OrderedKey)},
	}
}
