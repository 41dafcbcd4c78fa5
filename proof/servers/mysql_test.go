//go:build linux

package servers

import (
	"database/sql"
	"strings"
	"testing"
)

func TestMySQL(t *testing.T) {
	m := StartMySQL(t)
	db, err := sql.Open("mysql", m.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var version string
	if err := db.QueryRow("SELECT version()").Scan(&version); err != nil || strings.Contains(version, "Maria") {
		t.Fatalf("%s, %v", version, err)
	}
	t.Log(version)
}
