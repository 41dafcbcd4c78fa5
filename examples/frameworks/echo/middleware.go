package main

import (
	"net/http"

	"github.com/labstack/echo/v5"

	"github.com/refrain-dev/refrain/examples/frameworks/adapt"
)

// around is mw as Echo's middleware, in place of echo.WrapMiddleware: that one
// hands errors to Echo behind the back of mw, which takes the silence for 200,
// and makes a new guard for each request.
func around(mw func(http.Handler) http.Handler) echo.MiddlewareFunc {
	run := adapt.Held(mw)
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c *echo.Context) error {
			w, r := c.Response(), c.Request()
			defer func() { c.SetResponse(w); c.SetRequest(r) }()
			adapt.Route(r, c.Path(), c.Param)
			run(w, r, func(w http.ResponseWriter, r *http.Request) {
				c.SetResponse(echo.NewResponse(w, c.Logger()))
				c.SetRequest(r)
				if err := next(c); err != nil {
					c.Echo().HTTPErrorHandler(c, err) // the answer to an error is an answer
				}
			})
			return nil
		}
	}
}
