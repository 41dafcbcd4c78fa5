package postgres

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// queries are the SQL texts over the tables of one schema.
type queries struct {
	schema string // quoted

	lookup string // lookupArgs; claims the identity, in a transaction
	read   string // lookupArgs; claims nothing
	glance string // hash; the record without what stands beyond it
	find   string // ref
	awaits string // ref of a record; whether an operation settles it
	learn  string // operation, identity, contract
	insert [8]string
	update string
	remove string // hash, ref, version
}

// Bits of the index into queries.insert.
const (
	replacing = 1 << iota // the record whose memory has ended
	spending              // the identity's allow
	pinning               // the operation's row, where one snapshot serves the whole transaction
)

// clock is the server's time in microseconds since 1970, as it runs on within a
// transaction. Where much depends on speed it is part of [momentText].
const clock = `(extract(epoch FROM clock_timestamp()) * 1000000)::int8`

// lookupText reads the record and everything that stands beyond it in one
// statement: one snapshot. The lock only saves waiting for a claim that is under
// way; the primary key decides. Fences are one value, NULL without any: until
// when, and whether one has not ended.
const lookupText = `SELECT ` + momentText + `%s), o.identity, o.horizon,
 EXISTS (SELECT FROM {schema}.allow a WHERE a.hash = $1::uuid AND a.scope = $3::text AND a.operation = $2::text AND a.key = $4::bytea),
 (SELECT int8send(max(f.until)) || boolsend(bool_or(f.ended IS NULL)) FROM {schema}.fence f WHERE f.operation IN ('', $2::text) AND f.scope IN ('', $3::text)),
 ` + wholeText + `
FROM (SELECT) one LEFT JOIN {schema}.operation o ON o.operation = $2::text LEFT JOIN {schema}.record r ON r.hash = $1::uuid`

// glanceText reads the record alone.
const glanceText = `SELECT ` + around + `, ` + wholeText + ` FROM (SELECT) one LEFT JOIN {schema}.record r ON r.hash = $1::uuid`

const (
	lockText = `pg_try_advisory_xact_lock($5::int8 # %d)`
	noLock   = `$5::int8 IS NULL`
)

const findText = `SELECT ` + around + `, ` + wholeText + ` FROM {schema}.record r WHERE r.ref = $1::bytea`

const learnText = `INSERT INTO {schema}.operation (operation, identity, contract) VALUES ($1::text, $2::text, $3::text)
ON CONFLICT (operation) DO NOTHING`

const removeText = `DELETE FROM {schema}.record WHERE hash = $1::uuid AND ref = $2::bytea AND version = $3::int8`

const recordColumns = `ref, version, format, state, disputed, scope, operation, key, actor, raw, deciding, rule, schema,
 created, final, replay_until, remember_until, attempt, fence, lease, evidence, status, effect, digest, header, body`

const recordValues = `$2::bytea, $3::int8, $4::int2, $5::int2, $6::bool, $7::text, $8::text, $9::bytea, $10::bytea, $11::bytea, $12::bytea, $13::text, $14::text,
 $15::int8, $16::int8, $17::int8, $18::int8, $19::int4, $20::int8, $21::int8, $22::bytea, $23::int4, $24::bytea, $25::bytea, $26::bytea, $27::bytea`

// insertText makes itself fail where the record must not be written: nobody
// looks at a number of rows before COMMIT, which is sent along with it; somebody's
// trigger that swallows the row fails it, too. A text that is no uuid fails without
// telling the row to the server's log.
func insertText(kind int) string {
	var with, refused strings.Builder
	pin := ""
	if kind&pinning != 0 {
		pin = " FOR SHARE" // fails where the row has changed since the snapshot
	}
	if kind&replacing != 0 {
		with.WriteString(`gone AS (DELETE FROM {schema}.record WHERE hash = $1::text::uuid AND ref = $30::bytea AND version = $31::int8 RETURNING 1), `)
		refused.WriteString(` WHEN (SELECT count(*) FROM gone) <> 1 THEN '` + markVersion + `'`)
	}
	if kind&spending != 0 {
		with.WriteString(`spent AS (DELETE FROM {schema}.allow WHERE hash = $1::text::uuid AND scope = $7::text AND operation = $8::text AND key = $9::bytea RETURNING 1), `)
		refused.WriteString(` WHEN (SELECT count(*) FROM spent) <> 1 THEN '` + markAllow + `'`)
	}
	return `WITH ` + with.String() + `kept AS (INSERT INTO {schema}.record (hash, identity, ` + recordColumns + `)
VALUES (CAST(CASE WHEN ` + began + ` <> $28::text THEN '` + markEnded + `'
 WHEN (SELECT identity FROM {schema}.operation WHERE operation = $8::text` + pin + `) IS DISTINCT FROM $29::text THEN '` + markIdentity + `'` +
		refused.String() + ` ELSE $1::text END AS uuid), coalesce($29::text, ''), ` + recordValues + `) RETURNING 1) SELECT ` + keptOne
}

// keptOne fails unless the record was kept.
const keptOne = `CAST(CASE WHEN NOT EXISTS (SELECT FROM kept) THEN '` + markLost + `' END AS uuid)`

// keptAll fails unless so many records were kept.
func keptAll(n string) string {
	return `CAST(CASE WHEN (SELECT count(*) FROM kept) <> ` + n + ` THEN '` + markLost + `' END AS uuid)`
}

const updateText = `UPDATE {schema}.record SET (xid, ` + recordColumns + `) = (pg_current_xact_id(), ` + recordValues + `)
WHERE hash = $1::uuid AND ref = $28::bytea AND version = $29::int8`

func newQueries(schema string) queries {
	q := queries{schema: pgx.Identifier{schema}.Sanitize()}
	q.lookup = q.text(fmt.Sprintf(lookupText, fmt.Sprintf(lockText, salt(schema))))
	q.read = q.text(fmt.Sprintf(lookupText, noLock))
	q.glance = q.text(glanceText)
	q.find = q.text(findText)
	q.awaits = q.text(awaitsText)
	q.learn = q.text(learnText)
	q.update = q.text(updateText)
	q.remove = q.text(removeText)
	for kind := range q.insert {
		q.insert[kind] = q.text(insertText(kind))
	}
	return q
}

// text puts the schema's name in.
func (q queries) text(sql string) string { return strings.ReplaceAll(sql, "{schema}", q.schema) }

// salt keeps the locks of two schemas in one database apart.
func salt(schema string) uint32 {
	sum := sha256.Sum256([]byte("refrain " + schema))
	return binary.BigEndian.Uint32(sum[:]) >> 1
}
