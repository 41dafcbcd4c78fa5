package postgres

import (
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/refrain-dev/refrain/record"
)

// groupQueries are the statements of a whole group, one row per member: many
// take arrays, one takes values, which PostgreSQL plans once and for all.
type groupQueries struct{ many, one groupTexts }

type groupTexts struct {
	claim  string // now, claims: who may execute
	settle string // now, records, transaction: writes the records
	both   string // now, records, claims: in one statement
}

// markMembers precedes the numbers of those who may not simply execute.
const markMembers = "refrain: not plain: "

// untimed stands for no birth.
const untimed = -1

// plain is what must hold for a member to execute: the decision table's row 1
// and nothing else, with the claim held. The order counts: who does not get the
// lock looks no further. All of it is seen in one snapshot. A record that this
// snapshot does not show is met by the primary key.
const plain = `pg_try_advisory_xact_lock(u.lock # %d)
 AND (SELECT o.identity = u.identity AND (u.born = %d OR o.horizon IS NULL OR o.horizon < u.born)
  FROM {schema}.operation o WHERE o.operation = u.operation)
 AND (SELECT r.hash FROM {schema}.record r WHERE r.hash = u.hash) IS NULL
 AND (SELECT a.hash FROM {schema}.allow a WHERE a.hash = u.hash) IS NULL
 AND NOT coalesce((SELECT bool_or(CASE WHEN u.born = %[3]d THEN f.ended IS NULL AND NOT u.lenient ELSE u.born <= f.until + u.skew END)
  FROM {schema}.fence f WHERE f.operation IN ('', u.operation) AND f.scope IN ('', u.scope)), false)
 AND u.born <= n.now + u.skew`

// moment is the transaction's stamp and what else is told of it.
const moment = `n AS MATERIALIZED (SELECT coalesce($1::int8, (extract(epoch FROM clock_timestamp()) * 1000000)::int8) AS now,
 ` + around + ` AS moment)`

// refused are the members, counted from 1, for whom plain does not hold. It
// stands in a list of its own, so that one failure names them all.
const refused = `refused AS MATERIALIZED (SELECT string_agg(u.member::text, ',') AS members
 FROM n, %s u(hash, operation, scope, lock, identity, born, skew, lenient, member)
 WHERE (` + plain + `) IS NOT TRUE)`

const groupRecords = `kept AS (INSERT INTO {schema}.record (hash, ref, version, format, state, disputed, scope, operation, key, actor,
 raw, deciding, rule, schema, identity, created, final, replay_until, remember_until, attempt, fence, status, effect, digest, header, body)
SELECT CAST(CASE %s ELSE u.hash::text END AS uuid), u.ref, 1, %d, u.state, false, u.scope, u.operation, u.key, u.actor,
 u.raw, u.deciding, u.rule, u.schema, u.identity, n.now, n.now, n.now + u.replay, n.now + u.remember, 1, u.fence, u.status, u.effect, u.digest, u.header, u.body
FROM %s, %s u(hash, operation, scope, ref, state, key, actor, raw, deciding, rule, schema, replay, remember, fence, status,
 effect, digest, header, body, identity) RETURNING 1)`

const momentColumns = `n.moment, n.now` // the moment has a clock of its own

// Types of the arguments that differ from member to member.
const (
	claimTypes  = `uuid text text int8 text int8 int8 bool`
	recordTypes = `uuid text text bytea int2 bytea bytea bytea bytea text text int8 int8 int8 int4 bytea bytea bytea bytea text`
)

func newGroupQueries(q queries, schema string) groupQueries {
	return groupQueries{many: newGroupTexts(q, schema, false), one: newGroupTexts(q, schema, true)}
}

func newGroupTexts(q queries, schema string, one bool) groupTexts {
	list := func(args ...int) string {
		return fmt.Sprintf(refused, members(claimTypes, args, one, true), salt(schema), untimed)
	}
	records := func(when, from string) string {
		return fmt.Sprintf(groupRecords, when, record.Format, from, members(recordTypes, nil, one, false))
	}
	kept := keptAll(`cardinality($2::uuid[])`)
	if one {
		kept = keptOne
	}
	return groupTexts{
		claim: q.text(`WITH ` + moment + `, ` + list(2, 3, 4, 5, 6, 7, 8, 9) + ` SELECT ` + momentColumns + `, refused.members FROM n, refused`),
		settle: q.text(`WITH ` + moment + `, ` + records(`WHEN `+began+` <> $22::text THEN '`+markEnded+`'
 WHEN (SELECT o.identity FROM {schema}.operation o WHERE o.operation = u.operation) IS DISTINCT FROM u.identity THEN '`+markIdentity+`'`, `n`) + ` SELECT ` + kept),
		both: q.text(`WITH ` + moment + `, ` + list(2, 3, 4, 22, 21, 23, 24, 25) + `, ` +
			records(`WHEN refused.members IS NOT NULL THEN '`+markMembers+`' || refused.members`, `n, refused`) +
			` SELECT ` + momentColumns + `, ` + kept + `::text FROM n`),
	}
}

// members is the table of the members' arguments; args are their numbers, $2 and
// on where there are none.
func members(types string, args []int, one, numbered bool) string {
	var values []string
	for i, name := range strings.Fields(types) {
		n := i + 2
		if args != nil {
			n = args[i]
		}
		if one {
			values = append(values, fmt.Sprintf("$%d::%s", n, name))
		} else { // behind a SELECT nobody plans anew for each length
			values = append(values, fmt.Sprintf("(SELECT $%d::%s[])", n, name))
		}
	}
	switch {
	case !one && numbered:
		return "unnest(" + strings.Join(values, ", ") + ") WITH ORDINALITY"
	case !one:
		return "unnest(" + strings.Join(values, ", ") + ")"
	case numbered:
		values = append(values, "1")
	}
	return "(VALUES (" + strings.Join(values, ", ") + "))"
}

// texts are the statements for so many members, and their arguments: those of
// each are arrays, whose only element is taken where there is one.
func (q *groupQueries) texts(n int, each []any) (*groupTexts, []any) {
	if n > 1 {
		return &q.many, each
	}
	for i, arg := range each {
		switch v := arg.(type) {
		case []pgtype.UUID:
			each[i] = v[0]
		case []string:
			each[i] = v[0]
		case [][]byte:
			each[i] = v[0]
		case []int64:
			each[i] = v[0]
		case []int32:
			each[i] = v[0]
		case []int16:
			each[i] = v[0]
		case []bool:
			each[i] = v[0]
		}
	}
	return &q.one, each
}

// claims are the arguments of plain.
type claims struct {
	hash                       []pgtype.UUID
	operation, scope, identity []string
	lock, born, skew           []int64
	lenient                    []bool
}

func claimsOf(members []*member) claims {
	var a claims
	for _, m := range members {
		c := m.claim
		born, lenient := int64(untimed), c.Policy.RunUntimed
		if at, timed := c.Policy.KeyTime.Birth(c.Identity.Key); timed {
			born = at.UnixMicro()
		}
		if c.Request.Fresh { // neither horizon nor fence is for a key made just now
			born, lenient = untimed, true
		}
		a.hash = append(a.hash, pgtype.UUID{Bytes: c.Hash, Valid: true})
		a.operation = append(a.operation, c.Identity.Operation)
		a.scope = append(a.scope, c.Identity.Scope)
		a.identity = append(a.identity, c.IdentityVersion)
		a.lock = append(a.lock, lockKey(c.Hash))
		a.born = append(a.born, born)
		a.skew = append(a.skew, c.Policy.Skew.Microseconds())
		a.lenient = append(a.lenient, lenient)
	}
	return a
}

// recordsArgs are $2 to $21 of the record's statements.
func recordsArgs(members []*member, a claims) []any {
	n := len(members)
	ref, key, actor := make([][]byte, n), make([][]byte, n), make([][]byte, n)
	raw, deciding := make([][]byte, n), make([][]byte, n)
	effect, digest, header, body := make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n)
	rule, schema := make([]string, n), make([]string, n)
	replay, remember, fence := make([]int64, n), make([]int64, n), make([]int64, n)
	state, status := make([]int16, n), make([]int32, n)
	for i, m := range members {
		rec, result := m.rec, m.result
		ref[i], key[i], actor[i] = packRef(rec.Ref), []byte(rec.Identity.Key), []byte(rec.Actor)
		raw[i], deciding[i] = rec.Print.Raw[:], rec.Print.Deciding[:]
		rule[i], schema[i] = rec.Print.Rule, rec.Print.Schema
		replay[i], remember[i] = m.claim.Policy.ReplayFor.Microseconds(), m.claim.Policy.RememberFor.Microseconds()
		fence[i], status[i] = rec.Fence, int32(result.Status)
		state[i] = int16(record.Confirmed)
		if result.Rejected {
			state[i] = int16(record.Rejected)
		}
		effect[i] = []byte(result.Effect)
		digest[i], header[i], body[i] = nilIfEmpty(result.Digest), nilIfEmpty(record.EncodeHeader(result.Header)), nilIfEmpty(result.Body)
	}
	return []any{a.hash, a.operation, a.scope, ref, state, key, actor, raw, deciding, rule, schema, replay, remember, fence, status,
		effect, digest, header, body, a.identity}
}

func nilIfEmpty(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// refusedMembers are the positions named after markMembers, from 0.
func refusedMembers(text string) (at []int) {
	_, list, found := strings.Cut(text, markMembers)
	if !found {
		return nil
	}
	return positions(list)
}

// positions reads "3,17" as 2 and 16; whatever follows the list is left.
func positions(list string) (at []int) {
	n := 0
	for i := range len(list) + 1 {
		switch {
		case i < len(list) && '0' <= list[i] && list[i] <= '9':
			n = n*10 + int(list[i]-'0')
			continue
		case n > 0:
			at = append(at, n-1)
		}
		n = 0
		if i < len(list) && list[i] != ',' {
			break
		}
	}
	return at
}
