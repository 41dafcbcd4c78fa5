package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

var (
	// errRace: another transaction took the identity, or what was seen of it is
	// no longer so. Look again in a new transaction.
	errRace = errors.New("postgres: another transaction was first")
	// errEnded: the transaction an effect was given is not the one the record is
	// written in.
	errEnded = errors.New("postgres: the effect ended the transaction it was given")
	// errBusy: the identity or the tables did not become free in time.
	errBusy = fmt.Errorf("postgres: busy: %w", record.ErrNotBegun)
)

// What queries.insert fails with, as a text that is no uuid.
const (
	markEnded    = "refrain: another transaction"
	markIdentity = "refrain: another identity version"
	markVersion  = "refrain: the record has changed"
	markAllow    = "refrain: the allow is spent"
	markLost     = "refrain: the table did not take the record: it has a trigger or a rule"
)

// sqlState is the SQLSTATE of a server's error; "" for any other.
func sqlState(err error) string {
	var e interface{ SQLState() string }
	if errors.As(err, &e) {
		return e.SQLState()
	}
	return ""
}

// constraintOf names the constraint an error is about, whatever the driver.
func constraintOf(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.ConstraintName
	}
	var pq interface{ Get(field byte) string } // lib/pq's
	if errors.As(err, &pq) {
		return pq.Get('n')
	}
	return ""
}

// lostRace tells what an error of one of our own writes means: errRace, errEnded
// or what it is.
func lostRace(err error) error {
	switch sqlState(err) {
	case "23505":
		if c := constraintOf(err); c == "refrain_record_pkey" || c == "" && strings.Contains(err.Error(), `"refrain_record_pkey"`) {
			return fmt.Errorf("%w: %w", errRace, err)
		}
	case "22P02":
		text := err.Error()
		for _, mark := range [...]string{markIdentity, markVersion, markAllow} {
			if strings.Contains(text, mark) {
				return fmt.Errorf("%w: %w", errRace, err)
			}
		}
		if strings.Contains(text, markEnded) {
			return fmt.Errorf("%w: %w", errEnded, err)
		}
	}
	return err
}

// retryable reports a transaction that may succeed when it is run again.
func retryable(err error) bool {
	state := sqlState(err)
	return state == "40001" || state == "40P01" || errors.Is(err, errRace)
}

// migrated turns the error of one of our own statements about tables that are
// not there into [refrain.ErrNotMigrated].
func migrated(err error) error {
	switch sqlState(err) {
	case "42P01", "3F000":
		return fmt.Errorf("%w: %w", refrain.ErrNotMigrated, err)
	}
	return err
}
