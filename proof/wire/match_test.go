package wire

import (
	"encoding/binary"
	"strings"
	"testing"
)

func postgresMessage(kind byte, parts ...string) string {
	body := strings.Join(parts, "\x00") + "\x00"
	length := binary.BigEndian.AppendUint32(nil, uint32(len(body)+4))
	if kind == 0 {
		return string(length) + body
	}
	return string(kind) + string(length) + body
}

func mysqlPacket(sequence byte, body string) string {
	return string([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), sequence}) + body
}

func TestMatchers(t *testing.T) {
	startup := postgresMessage(0, "\x00\x03\x00\x00user", "commit", "")
	encryption := "\x00\x00\x00\x08\x04\xd2\x16\x2f"
	parse := func(name, query string) string { return postgresMessage('P', name, query, "\x00") }
	bind := func(portal, statement string) string { return postgresMessage('B', portal, statement, "\x00\x00") }
	execute := postgresMessage('E', "", "\x00\x00\x00")
	for _, tt := range []struct {
		name   string
		match  func() Matcher
		stream []string // each one message
		at     int      // the message that commits, or -1
	}{
		{"simple", Postgres, []string{startup, postgresMessage('Q', "begin"), postgresMessage('Q', "commit")}, 2},
		{"behind a request for encryption", Postgres, []string{encryption, startup, postgresMessage('Q', "COMMIT")}, 2},
		{"among others", Postgres, []string{startup, postgresMessage('Q', "INSERT INTO t VALUES (1); COMMIT ;")}, 1},
		{"a word of another", Postgres, []string{startup, postgresMessage('Q', "INSERT INTO committed VALUES ('commit')")}, -1},
		{"prepared", Postgres, []string{startup, parse("s1", "commit"), parse("s2", "select 1"), bind("", "s2"), execute, bind("", "s1"), execute}, 6},
		{"unnamed", Postgres, []string{startup, parse("", "commit"), bind("", ""), execute}, 3},
		{"unnamed again", Postgres, []string{startup, parse("", "commit"), parse("", "select 1"), bind("", ""), execute}, -1},
		{"MySQL", MySQL, []string{mysqlPacket(1, "\x03commit: the login"), mysqlPacket(0, "\x03BEGIN"), mysqlPacket(0, "\x03COMMIT")}, 2},
		{"MySQL among others", MySQL, []string{mysqlPacket(0, "\x03RELEASE SAVEPOINT a; INSERT INTO t VALUES (1);\n COMMIT; DO RELEASE_LOCK('a')")}, 0},
		{"MySQL prepares", MySQL, []string{mysqlPacket(0, "\x16COMMIT")}, -1},
		{"MySQL prepares a block", MySQL, []string{mysqlPacket(0, "\x03PREPARE refrain_a_record FROM 'BEGIN NOT ATOMIC DO 1; COMMIT; END'")}, -1},
		{"MySQL runs a block", MySQL, []string{mysqlPacket(0, "\x03EXECUTE refrain_a_begin USING x'00'"), mysqlPacket(0, "\x03EXECUTE refrain_a_record_locked USING x'00'")}, 1},
		{"MySQL rolls back", MySQL, []string{mysqlPacket(0, "\x03ROLLBACK")}, -1},
	} {
		whole, single := tt.match(), tt.match()
		found := whole.Commits([]byte(strings.Join(tt.stream, "")))
		if found != (tt.at >= 0) {
			t.Errorf("%s: in one piece: %t", tt.name, found)
		}
		at := -1
		for i, message := range tt.stream {
			for j := range len(message) {
				if !single.Commits([]byte(message[j : j+1])) {
					continue
				}
				if at = i; j != len(message)-1 {
					t.Errorf("%s: found before the end of message %d", tt.name, i)
				}
			}
		}
		if at != tt.at {
			t.Errorf("%s: byte by byte: message %d, want %d", tt.name, at, tt.at)
		}
	}
}
