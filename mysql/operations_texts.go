package mysql

// operationColumns in the order decodeOperation reads them; briefColumns leave the
// input where it is.
const (
	columnsBefore = "o.ref, o.seq, o.version, o.action, o.step, o.provider, o.`partition`, o.state, o.disputed," +
		" o.due, o.created, o.final, o.format, o.data, "
	operationColumns = columnsBefore + "o.input"
	briefColumns     = columnsBefore + "NULL"
)

const operationColumnCount = 15

// addSQL makes itself fail (NULL into created, 1048 whatever the sql_mode) in a
// session whose unique keys may not be checked or whose clock stands.
const addSQL = "INSERT INTO refrain_external (ref, action, step, provider, `partition`, line, version, format, state, disputed, data, input, due, created)\n" +
	"VALUES (?, ?, ?, ?, ?, ?, 1, ?, ?, 0, ?, ?, COALESCE(?, " + nowSQL + "), IF(@@SESSION.unique_checks, COALESCE(?, IF(" + pinnedSQL + ", NULL, " + nowSQL + ")), NULL))"

// momentSQL is asked behind what it is the time of.
const momentSQL = `SELECT ` + nowSQL + `, ` + pinnedSQL + `, @@max_allowed_packet, EXISTS (SELECT 1 FROM refrain_fence) LIMIT 1`

const readOperationsSQL = `SELECT ` + nowSQL + `, ` + pinnedSQL + `, ` + looseSQL + `, ` + operationColumns + ` FROM refrain_external o WHERE `

const listOperationsSQL = `SELECT ` + nowSQL + `, ` + pinnedSQL + `, ` + looseSQL + `, ` + briefColumns + ` FROM refrain_external o WHERE `

// dueSQL reads of each provider one entry of the index: MIN knows no NULL.
const dueSQL = `SELECT provider, MIN(due) FROM refrain_external FORCE INDEX (refrain_external_due) GROUP BY provider HAVING MIN(due) <= ?` + every

// takeSQL finds what is due by its index alone: NULL stands before every time and
// is less than none.
const takeSQL = `SELECT ` + operationColumns + ` FROM refrain_external o FORCE INDEX (refrain_external_due)
 WHERE o.provider = ? AND o.due <= COALESCE(?, ` + nowSQL + `) AND o.format <= ? ORDER BY o.due, o.seq LIMIT ? FOR UPDATE SKIP LOCKED`

const changeSQL = `SELECT ` + operationColumns + ` FROM refrain_external o WHERE o.ref = ? LIMIT 1 FOR UPDATE`

// waitingSQL locks the record that waits for an operation, which is locked.
const waitingSQL = `SELECT ` + columns + `, r.body FROM refrain_external o STRAIGHT_JOIN refrain_record r ON r.ref = o.action WHERE o.ref = ? LIMIT 1 FOR UPDATE`

// headSQL is the operation that others of its partition wait for.
const headSQL = `SELECT seq, due, line FROM refrain_external FORCE INDEX (refrain_external_line) WHERE provider = ? AND line = ? ORDER BY seq LIMIT 1`

// headSeqSQL finds the head as it is committed, beside what this transaction wrote. In
// an UPDATE of several tables it would be a locking read: it would wait for a row
// that an application has inserted and not committed, for as long as that takes.
const headSeqSQL = `SELECT MIN(seq) INTO @refrain_next FROM refrain_external FORCE INDEX (refrain_external_line) WHERE provider = ? AND line = ?`

// passSQL makes the head that headSeqSQL found due where an earlier operation than it
// does not stand there any more. One that is under way has its lease for due. The
// row is found by its primary key, so whoever decides about it just now is waited
// for before anything of it is compared: it may be postponed.
const passSQL = `UPDATE refrain_external SET version = version + 1, due = ?
 WHERE seq = @refrain_next AND seq > ? AND due > ? AND final IS NULL AND state <> ?`

const putSQL = `UPDATE refrain_external SET version = ?, format = ?, state = ?, disputed = ?, due = ?, line = ?, final = ?, data = ?
 WHERE seq = ? AND version = ?`

// asideSQL moves what cannot be read out of the way.
const asideSQL = `UPDATE refrain_external SET due = ? WHERE seq = ?`

// replaceSQL writes a record in place of the version that was seen, in its row.
const replaceSQL = "UPDATE refrain_record SET version = ?, format = ?, state = ?, disputed = ?, actor = ?, raw = ?, deciding = ?, rule = ?, `schema` = ?," +
	" created = ?, final = ?, replay_until = ?, remember_until = ?, attempt = ?, fence = ?, lease = ?, evidence = ?, status = ?, effect = ?," +
	" digest = ?, header = ?, body = ? WHERE hash = ? AND ref = ? AND version = ?"

// forgettableSQL looks without a lock: what is settled and undisputed when it is
// deleted was so when it was found, and a record that is gone does not come back.
const forgettableSQL = `SELECT o.seq FROM refrain_external o FORCE INDEX (refrain_external_final) LEFT JOIN refrain_record r ON r.ref = o.action
 WHERE o.final < ? AND NOT o.disputed AND o.format <= ? AND r.n IS NULL ORDER BY o.final, o.seq LIMIT ?`
