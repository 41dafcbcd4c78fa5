package shop

import (
	"bytes"
	_ "embed"
	"html/template"
	"net/http"
	"net/url"
	"time"

	"github.com/refrain-dev/refrain/record"
)

// The page is for people who would rather look: the same orders, records and
// decisions, live, and a form that sends the same order twice. It needs no
// script; with one it reloads its lists in place. It shows no keys.

//go:embed page.html
var pageHTML string

//go:embed style.css
var styleCSS []byte

//go:embed live.js
var liveJS []byte

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"clock": func(t time.Time) string {
		if t.IsZero() {
			return "—"
		}
		return t.UTC().Format("2006-01-02 15:04:05")
	},
	"scope": func(encoded string) string {
		if plain, err := url.QueryUnescape(encoded); err == nil {
			return plain
		}
		return encoded
	},
}).Parse(pageHTML))

// policy lets the page load what it ships and nothing else.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// shown is how many rows each list has.
const shown = 12

func (s *Shop) pageRoutes() {
	s.mux.HandleFunc("GET /{$}", s.showPage)
	s.mux.HandleFunc("GET /style.css", file("text/css; charset=utf-8", styleCSS))
	s.mux.HandleFunc("GET /live.js", file("text/javascript; charset=utf-8", liveJS))
	s.mux.Handle("POST /try", new(http.CrossOriginProtection).Handler(http.HandlerFunc(s.try)))
}

func file(media string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", media)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(content)
	}
}

type tenantOrders struct {
	Tenant string
	Count  int64
	Orders []order
}

type pageData struct {
	Trial     *trial
	Tenants   []tenantOrders
	Records   []record.Record
	Decisions []Decision
	SoldOut   string
}

func (s *Shop) showPage(w http.ResponseWriter, r *http.Request) {
	data := pageData{Trial: s.lastTrial(), Decisions: s.decisions.Last(shown), SoldOut: soldOut}
	var err error
	for _, t := range tokens {
		of := tenantOrders{Tenant: t.tenant}
		if of.Orders, of.Count, err = s.orders(r.Context(), t.tenant, shown); err != nil {
			break
		}
		data.Tenants = append(data.Tenants, of)
	}
	if err == nil {
		data.Records, err = s.db.List(r.Context(), record.Record{}, shown)
	}
	var text bytes.Buffer
	if err == nil {
		err = page.Execute(&text, data)
	}
	if err != nil {
		unreadable(w)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(text.Bytes())
}
