package main

import (
	"bytes"
	"net/http"
	"net/url"

	"github.com/gofiber/fiber/v3"
	"github.com/valyala/fasthttp"

	"github.com/refrain-dev/refrain/examples/frameworks/adapt"
)

// around is mw as Fiber's middleware. Fiber's own adaptor.HTTPMiddleware calls
// the handler after mw has returned: a guard would record an answer nobody gave.
//
// Everything is in memory before it moves on: the request, the handler's answer,
// streams included, and what mw makes of it. A client sees the first byte when
// the handler has ended, and nobody notices when it leaves.
func around(mw func(http.Handler) http.Handler) fiber.Handler {
	run := adapt.Held(mw)
	return func(c fiber.Ctx) error {
		r, err := request(c)
		if err != nil {
			return err
		}
		outside := fasthttp.AcquireResponse() // what layers around this one have said
		defer fasthttp.ReleaseResponse(outside)
		c.Response().CopyTo(outside)
		w := &answer{header: make(http.Header)}
		defer c.SetContext(c.Context())
		func() {
			defer outside.CopyTo(c.Response())
			run(w, r, func(w http.ResponseWriter, r *http.Request) {
				c.Response().Reset()
				c.SetContext(r.Context())
				if err := c.Next(); err != nil {
					if c.App().ErrorHandler(c, err) != nil {
						c.Response().SetStatusCode(http.StatusInternalServerError)
					}
				}
				relay(w, c.Response())
			})
		}()
		w.send(c.Response())
		return nil
	}
}

// handle mounts h; what it says about memory is what around says.
func handle(h http.Handler) fiber.Handler {
	return around(func(http.Handler) http.Handler { return h })
}

// request is Fiber's request for net/http. Nothing of it is Fiber's memory, and
// each line of a field is one: two keys must not become one.
func request(c fiber.Ctx) (*http.Request, error) {
	target := string(c.Request().Header.RequestURI())
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return nil, fiber.ErrBadRequest
	}
	body := bytes.Clone(c.BodyRaw())
	r := (&http.Request{
		Method: string(c.Request().Header.Method()), URL: u, RequestURI: target,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Host: string(c.Request().Host()), RemoteAddr: c.RequestCtx().RemoteAddr().String(), TLS: c.RequestCtx().TLSConnectionState(),
		Header: make(http.Header), Body: http.NoBody, ContentLength: int64(len(body)),
	}).WithContext(c.Context())
	if len(body) > 0 {
		r.Body = input{bytes.NewReader(body)}
	}
	for name, value := range c.Request().Header.All() {
		if name := string(name); name != "Host" {
			r.Header.Add(name, string(value))
		}
	}
	adapt.Route(r, c.Route().Path, func(name string) string {
		value := string([]byte(c.Params(name)))
		if decoded, err := url.PathUnescape(value); err == nil && !c.App().Config().UnescapePath {
			return decoded
		}
		return value
	})
	return r, nil
}

type input struct{ *bytes.Reader }

func (input) Close() error { return nil }
