package main

import (
	"bytes"
	"net/http"

	"github.com/valyala/fasthttp"
)

// perConnection are the fields the server makes for each answer itself.
var perConnection = map[string]bool{
	"Connection": true, "Content-Length": true, "Date": true, "Server": true, "Transfer-Encoding": true,
}

// relay writes Fiber's answer to w. A stream is read to its end; one that breaks
// is no answer.
func relay(w http.ResponseWriter, res *fasthttp.Response) {
	for name, value := range res.Header.All() {
		if name := string(name); !perConnection[name] {
			w.Header().Add(name, string(value))
		}
	}
	w.WriteHeader(res.StatusCode())
	if err := res.BodyWriteTo(w); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// answer is a ResponseWriter in memory. It has no Flush: fasthttp sends when
// Fiber's handlers have returned.
type answer struct {
	header http.Header
	sent   http.Header // as it was when the status was chosen
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= 200 { // fasthttp has no 1xx answers to give
		a.status, a.sent = status, a.header.Clone()
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// send adds the answer to what layers around have said.
func (a *answer) send(res *fasthttp.Response) {
	a.WriteHeader(http.StatusOK)
	res.SetStatusCode(a.status)
	for name, values := range a.sent {
		if perConnection[name] {
			continue
		}
		for i, value := range values {
			if i == 0 && name != "Set-Cookie" && name != "Vary" && name != "Link" {
				res.Header.Set(name, value)
			} else {
				res.Header.Add(name, value)
			}
		}
	}
	res.SetBody(a.body.Bytes())
}
