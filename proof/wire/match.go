package wire

import (
	"bytes"
	"encoding/binary"
	"regexp"
)

// Matcher reads what one client sends.
type Matcher interface {
	// Commits reports whether a message that commits a transaction became
	// complete with piece.
	Commits(piece []byte) bool
}

// commit finds the statement among several.
var commit = regexp.MustCompile(`(?i)(^|;)\s*commit\b`)

// postgres reads PostgreSQL's frontend messages, of unencrypted connections.
type postgres struct {
	rest       []byte
	started    bool
	statements map[string]bool // prepared ones that commit, by name
	portals    map[string]bool
}

// Postgres recognises a COMMIT as a simple query or as the execution of a
// prepared statement.
func Postgres() Matcher {
	return &postgres{statements: make(map[string]bool), portals: make(map[string]bool)}
}

func (m *postgres) Commits(piece []byte) (found bool) {
	m.rest = append(m.rest, piece...)
	for {
		kind := byte(0)
		at := 0
		if m.started {
			at = 1
		}
		if len(m.rest) < at+4 {
			return found
		}
		end := at + int(binary.BigEndian.Uint32(m.rest[at:]))
		if len(m.rest) < end {
			return found
		}
		if m.started {
			kind = m.rest[0]
		} else { // a request for encryption or cancellation comes before any startup
			const version3 = 3 << 16
			m.started = binary.BigEndian.Uint32(m.rest[at+4:]) == version3
		}
		found = m.message(kind, m.rest[at+4:end]) || found
		m.rest = m.rest[end:]
	}
}

func (m *postgres) message(kind byte, body []byte) bool {
	one, rest, _ := bytes.Cut(body, []byte{0})
	two, _, _ := bytes.Cut(rest, []byte{0})
	switch kind {
	case 'Q':
		return commit.Match(one)
	case 'P': // Parse: statement, query
		m.statements[string(one)] = commit.Match(two)
	case 'B': // Bind: portal, statement
		m.portals[string(one)] = m.statements[string(two)]
	case 'E': // Execute: portal
		return m.portals[string(one)]
	}
	return false
}

// mysql reads MySQL's packets, of unencrypted connections.
type mysql struct{ rest []byte }

// MySQL recognises a COMMIT among the statements of a query sent as text, and the
// execution of the engine's prepared block that ends in one.
func MySQL() Matcher { return &mysql{} }

// prepare is a text that runs nothing; block is the engine's that commits.
var (
	prepare = regexp.MustCompile(`(?i)^\s*prepare\b`)
	block   = regexp.MustCompile(`(?i)^execute refrain_\w+_record(_locked)?\b`)
)

func commits(query []byte) bool {
	return !prepare.Match(query) && (commit.Match(query) || block.Match(query))
}

func (m *mysql) Commits(piece []byte) (found bool) {
	const query = 3
	m.rest = append(m.rest, piece...)
	for len(m.rest) >= 4 {
		end := 4 + int(m.rest[0]) + int(m.rest[1])<<8 + int(m.rest[2])<<16
		if len(m.rest) < end {
			return found
		}
		if first := m.rest[3] == 0; first && end > 5 && m.rest[4] == query {
			found = commits(m.rest[5:end]) || found
		}
		m.rest = m.rest[end:]
	}
	return found
}
