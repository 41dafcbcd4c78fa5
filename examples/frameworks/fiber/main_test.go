package main

import (
	"net"
	"testing"

	"github.com/gofiber/fiber/v3"

	"github.com/refrain-dev/refrain/examples/frameworks/contract"
	"github.com/refrain-dev/refrain/examples/frameworks/shop"
)

func TestContract(t *testing.T) {
	t.Parallel()
	contract.Check(t, contract.Framework{Serve: listen, Decodes: true})
}

func listen(t *testing.T, s *shop.Shop) string {
	t.Helper()
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	app := routes(s)
	done := make(chan error)
	go func() { done <- app.Listener(listener, fiber.ListenConfig{DisableStartupMessage: true}) }()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	return "http://" + listener.Addr().String()
}
