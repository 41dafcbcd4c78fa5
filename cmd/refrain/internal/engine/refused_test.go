package engine

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// TestServerRefuses: what a server says when it lets nobody in is told in one
// line, with what helps.
func TestServerRefuses(t *testing.T) {
	t.Parallel()
	for code, helps := range map[string]string{
		"28P01": "the user and the password", "28000": "lets this user in", "3D000": "check the name", "53300": "no connection left", "57P03": "run it again", "XX000": "check the URL",
	} {
		at, err := Parse("--db", "postgres://shop:s3cr3t@"+refusing(t, code)+"/shop?sslmode=disable")
		if err != nil {
			t.Fatal(err)
		}
		_, err = at.OpenAsItIs(t.Context(), Options{Brief: true})
		var unfit *Error
		if !errors.As(err, &unfit) || unfit.Usage || !strings.Contains(unfit.Hint, helps) {
			t.Errorf("%s: %v, %+v", code, err, unfit)
			continue
		}
		if said := err.Error(); said != "open "+at.String()+": FATAL: not today (SQLSTATE "+code+")" {
			t.Errorf("%s: %s", code, said)
		}
	}
}

// refusing is the address of a PostgreSQL server that asks for a password and
// then answers every connection with this error.
func refusing(t *testing.T, code string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			backend := pgproto3.NewBackend(conn, conn)
			_, err = backend.ReceiveStartupMessage()
			backend.Send(&pgproto3.AuthenticationCleartextPassword{})
			if err == nil && backend.Flush() == nil {
				_ = backend.SetAuthType(pgproto3.AuthTypeCleartextPassword)
				_, _ = backend.Receive()
				backend.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: code, Message: "not today"})
				_ = backend.Flush()
			}
			conn.Close()
		}
	}()
	return listener.Addr().String()
}
