package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// writer is a ResponseWriter of net/http as Gin wants one.
type writer struct {
	http.ResponseWriter
	status, size int // size is -1 until the status is sent
}

func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) WriteHeader(status int) {
	if status > 0 && !w.Written() {
		w.status = status
	}
}

func (w *writer) WriteHeaderNow() {
	if !w.Written() {
		w.size = 0
		w.ResponseWriter.WriteHeader(w.status)
	}
}

func (w *writer) Write(p []byte) (int, error) {
	w.WriteHeaderNow()
	n, err := w.ResponseWriter.Write(p)
	w.size += n
	return n, err
}

func (w *writer) WriteString(s string) (int, error) {
	w.WriteHeaderNow()
	n, err := io.WriteString(w.ResponseWriter, s)
	w.size += n
	return n, err
}

func (w *writer) Status() int   { return w.status }
func (w *writer) Size() int     { return w.size }
func (w *writer) Written() bool { return w.size >= 0 }

func (w *writer) Flush() {
	w.WriteHeaderNow()
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.size = max(w.size, 0)
	return http.NewResponseController(w.ResponseWriter).Hijack()
}

// CloseNotify never tells: a guarded handler does not end with its client.
func (w *writer) CloseNotify() <-chan bool { return nil }

func (w *writer) Pusher() http.Pusher { return nil }
