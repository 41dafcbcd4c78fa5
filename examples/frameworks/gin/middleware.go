package main

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/refrain-dev/refrain/examples/frameworks/adapt"
)

// around is mw as Gin's middleware. What mw does not call is not run.
func around(mw func(http.Handler) http.Handler) gin.HandlerFunc {
	run := adapt.Held(mw)
	return func(c *gin.Context) {
		w, r := c.Writer, c.Request
		defer func() {
			c.Writer, c.Request = w, r
			c.Abort()
		}()
		route(c)
		run(w, r, func(w http.ResponseWriter, r *http.Request) {
			c.Writer, c.Request = &writer{ResponseWriter: w, size: -1, status: http.StatusOK}, r
			c.Next()
			c.Writer.WriteHeaderNow() // a status without a body is Gin's to send at its own end
		})
	}
}

// handle mounts h with the matched route, which gin.WrapH does not tell it.
func handle(h http.Handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		route(c)
		h.ServeHTTP(c.Writer, c.Request)
	}
}

// route tells the request which route was matched. Gin's value of "*name" has
// the slash before it.
func route(c *gin.Context) {
	adapt.Route(c.Request, c.FullPath(), func(name string) string {
		if strings.HasSuffix(c.FullPath(), "/*"+name) {
			return strings.TrimPrefix(c.Param(name), "/")
		}
		return c.Param(name)
	})
}
