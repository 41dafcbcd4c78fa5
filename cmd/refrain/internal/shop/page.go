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

//go:embed problems.html
var problemsHTML string

var problemsPage = template.Must(template.New("problems").Parse(problemsHTML))

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
	"since": func(from, to time.Time) string { return to.Sub(from).Round(time.Millisecond).String() },
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
	s.mux.HandleFunc("GET "+problemPath, showProblems)
	s.mux.HandleFunc("GET /style.css", file("text/css; charset=utf-8", styleCSS))
	s.mux.HandleFunc("GET /live.js", file("text/javascript; charset=utf-8", liveJS))
	s.mux.HandleFunc("GET "+providerPath, s.showProvider)
	for path, form := range map[string]http.HandlerFunc{"/try": s.try, "/pay": s.tryPayment, providerPath: s.setProvider} {
		s.mux.Handle("POST "+path, new(http.CrossOriginProtection).Handler(form))
	}
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

type tenantQuotes struct {
	Tenant string
	Count  int64
	Quotes []quote
}

type pageData struct {
	Trial     *trial
	Tenants   []tenantOrders
	Quotes    []tenantQuotes
	Payments  []tenantPayments
	Provider  switchesDoc
	Choices   choices
	Waiting   []waiting
	Records   []record.Record
	Decisions []Decision
	SoldOut   string
}

func (s *Shop) showPage(w http.ResponseWriter, r *http.Request) {
	data := pageData{Trial: s.lastTrial(), Decisions: s.decisions.Last(shown), SoldOut: soldOut, Provider: s.till.describe(), Choices: offered}
	var err error
	for _, t := range tokens {
		of := tenantOrders{Tenant: t.tenant}
		if of.Orders, of.Count, err = s.orders(r.Context(), t.tenant, shown); err != nil {
			break
		}
		data.Tenants = append(data.Tenants, of)
		quoted := tenantQuotes{Tenant: t.tenant}
		if quoted.Quotes, quoted.Count, err = s.quotes(r.Context(), t.tenant, shown); err != nil {
			break
		}
		data.Quotes = append(data.Quotes, quoted)
		charged := tenantPayments{Tenant: t.tenant}
		if charged.Payments, charged.Count, err = s.paymentsShown(r.Context(), t.tenant); err != nil {
			break
		}
		data.Payments = append(data.Payments, charged)
	}
	if err == nil {
		data.Waiting, err = s.waits(r.Context())
	}
	if err == nil {
		data.Records, err = s.db.List(r.Context(), record.Record{}, shown)
	}
	if err != nil {
		writeProblem(w, notReadable, "")
		return
	}
	show(w, page, data)
}

// showProblems describes the shop's own problems.
func showProblems(w http.ResponseWriter, _ *http.Request) { show(w, problemsPage, problems) }

// show answers with a page of the shop's.
func show(w http.ResponseWriter, page *template.Template, data any) {
	var text bytes.Buffer
	if err := page.Execute(&text, data); err != nil { // our own templates and types
		panic(err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(text.Bytes())
}
