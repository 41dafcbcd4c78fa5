package postgres

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// A proxy tells of a server that it lost under COMMIT in an error that leaves the
// connection alive: it is no answer of the server's.
func TestProxyLostServer(t *testing.T) {
	for code, want := range map[string]bool{"08006": true, "08P01": true, "57P01": true, "57P02": true, "40001": false, "23505": false, "57014": false} {
		err := &pgconn.PgError{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: code}
		if got := mayHaveCommitted(err); got != want {
			t.Errorf("%s: may have committed: %t, want %t", code, got, want)
		}
	}
}

func TestSchemaWithAnyName(t *testing.T) {
	text := Schema("50%d")
	if strings.Contains(text, "%!") || strings.Count(text, `"50%d".migration`) < 2 {
		t.Errorf("a name with a verb in it: %s", text)
	}
}
