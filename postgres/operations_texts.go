package postgres

import "fmt"

// operationColumns in the order of storedOperation.dest; briefColumns leave the
// input where it is.
const (
	columnsBefore = `o.ref, o.seq, o.version, o.action, o.step, o.provider, o.partition, o.state, o.disputed,
 o.due, o.created, o.final, o.format, o.data, `
	columnsBehind    = `, xid8send(o.xid)`
	operationColumns = columnsBefore + `o.input` + columnsBehind
	briefColumns     = columnsBefore + `NULL::bytea` + columnsBehind
)

// addText is told where the row was not written; see operations.Add.
const addText = `INSERT INTO {schema}.external (ref, action, step, provider, partition, version, format, state, disputed, due, created, data, input)
SELECT $1::bytea, $2::bytea, $3::text, $4::text, $5::text, 1, $6::int2, $7::int2, false, t.now, t.now, $8::text, $9::bytea
FROM (SELECT coalesce($10::int8, ` + clock + `) AS now) t
ON CONFLICT (action, step) WHERE action IS NOT NULL DO NOTHING`

// tellingText tells of the row where it was written.
const tellingText = ` RETURNING pg_notify($11::text, '` + operationsPayload + `')`

const (
	likeText = `SELECT ` + around + `, ` + operationColumns + ` FROM {schema}.external o `
	loadText = likeText + `WHERE o.ref = $1::bytea`
	ofText   = likeText + `WHERE o.action = $1::bytea ORDER BY o.seq`

	listOperationsText = `SELECT ` + around + `, ` + briefColumns + ` FROM {schema}.external o
WHERE ($1::text = '' OR o.provider = $1::text) AND ($2::text = '' OR o.step = $2::text)
 AND ($3::bytea IS NULL OR o.action = $3::bytea) AND ($4::int8 = 0 OR o.state = $4::int8) AND (o.disputed OR NOT $5::bool)
ORDER BY o.seq LIMIT $6::int8`
)

// dueText tells the time, and by provider since when something is due.
const dueText = `SELECT t.now, d.provider, d.since FROM (SELECT coalesce($1::int8, ` + clock + `) AS now) t
LEFT JOIN (SELECT provider, min(due) AS since FROM {schema}.external WHERE due IS NOT NULL GROUP BY provider) d ON d.since <= t.now`

// lockBothText locks operations and then the records that wait for them, and
// reads each in its last version: PostgreSQL looks again at rows that it had to
// wait for. A rekey locks the table of records before its rows, and so does an
// update that changes none.
const lockBothText = `kept_out AS (UPDATE {schema}.record SET version = version WHERE false),
o AS MATERIALIZED (SELECT * FROM {schema}.external o WHERE %s),
r AS MATERIALIZED (SELECT r.ref, r.operation, r.scope, ` + wholeText + ` AS whole FROM {schema}.record r WHERE r.ref IN (SELECT action FROM o) ORDER BY r.ref FOR UPDATE)
SELECT ` + around + `, ` + sinceText + `, %s, ` + operationColumns + `, r.whole,
 (SELECT max(f.until) FROM {schema}.fence f WHERE f.operation IN ('', r.operation) AND f.scope IN ('', r.scope))
FROM t LEFT JOIN o ON true LEFT JOIN r ON r.ref = o.action ORDER BY o.due, o.seq`

// takeText reads the clock first and once: what is due is found by it, in the
// index. changeText reads it when it has waited for the rows.
var (
	takeText = `WITH t AS MATERIALIZED (SELECT coalesce($1::int8, ` + clock + `) AS now), ` +
		fmt.Sprintf(lockBothText, `o.provider = $2::text AND o.due <= (SELECT now FROM t) AND o.format <= $4::int8
 ORDER BY o.due, o.seq LIMIT $3::int8 FOR UPDATE SKIP LOCKED`, `t.now`)
	changeText = `WITH t AS (SELECT 1), ` + fmt.Sprintf(lockBothText, `o.ref = $2::bytea FOR UPDATE`, `coalesce($1::int8, `+clock+`)`)
)

// headsText is the operation that others of its partition wait for.
const headsText = `SELECT p.name, h.seq, h.due FROM json_array_elements_text($2::json) AS p (name)
CROSS JOIN LATERAL (` + headText + `) h`

const headText = `SELECT e.seq, e.due FROM {schema}.external e
 WHERE e.provider = $1::text AND e.partition = p.name AND e.partition <> '' AND e.due IS NOT NULL AND e.final IS NULL
 ORDER BY e.seq LIMIT 1`

// passText makes the head due where an earlier operation than it does not stand
// there any more. One that is under way has its lease for due. Whoever decides
// about the head just now may be about to postpone it: the row is waited for,
// whenever it was due.
const passText = `UPDATE {schema}.external
SET xid = pg_current_xact_id(), due = least(due, $4::int8), version = version + CASE WHEN due > $4::int8 THEN 1 ELSE 0 END
WHERE seq = (SELECT h.seq FROM (SELECT $2::text AS name) p CROSS JOIN LATERAL (` + headText + `) h)
 AND seq > $3::int8 AND due IS NOT NULL AND final IS NULL AND state <> $5::int8`

// sinceText identifies the transaction within its session.
const sinceText = `(extract(epoch FROM transaction_timestamp()) * 1000000)::int8`

// complete fails where the transaction is another one or a row of kept is missing.
// Nobody looks at a number of rows before COMMIT, which is sent along with it.
const complete = ` SELECT CAST(CASE WHEN ` + sinceText + ` <> $2::int8 THEN '` + markEnded + `'
 WHEN (SELECT count(*) FROM kept) <> $3::int8 THEN '` + markVersion + `' END AS uuid)`

const putText = `WITH kept AS (UPDATE {schema}.external o
SET xid = pg_current_xact_id(), version = o.version + 1, format = u.format, state = u.state, disputed = u.disputed, due = u.due, final = u.final, data = u.data
FROM json_to_recordset($1::json) AS u (seq int8, version int8, format int2, state int2, disputed bool, due int8, final int8, data text)
WHERE o.seq = u.seq AND o.version = u.version RETURNING 1)` + complete

// asideText moves what cannot be read out of the way.
const asideText = `UPDATE {schema}.external SET xid = pg_current_xact_id(), due = $2::int8
WHERE seq IN (SELECT u.seq::int8 FROM json_array_elements_text($1::json) AS u (seq))`

// mirrorText changes what a record shows of the operation it waits for.
const mirrorText = `WITH kept AS (UPDATE {schema}.record r
SET xid = pg_current_xact_id(), version = r.version + 1, format = u.format, state = u.state, disputed = u.disputed, lease = u.lease
FROM json_to_recordset($1::json) AS u (ref text, version int8, format int2, state int2, disputed bool, lease int8)
WHERE r.ref = decode(u.ref, 'hex') AND r.version = u.version RETURNING 1)` + complete

// replaceText replaces the version of a record that was seen; the arguments are
// those of queries.update and what identifies the transaction.
const replaceText = `WITH kept AS (` + updateText + ` RETURNING 1)
SELECT CAST(CASE WHEN ` + sinceText + ` <> $30::int8 THEN '` + markEnded + `'
 WHEN (SELECT count(*) FROM kept) <> 1 THEN '` + markVersion + `' END AS uuid)`

const forgetOperationsText = `DELETE FROM {schema}.external WHERE seq IN (SELECT o.seq FROM {schema}.external o
 WHERE o.final < $1::int8 AND NOT o.disputed AND o.format <= $2::int8 AND NOT EXISTS (SELECT FROM {schema}.record r WHERE r.ref = o.action)
 ORDER BY o.final, o.seq LIMIT $3::int8 FOR UPDATE OF o SKIP LOCKED)`
