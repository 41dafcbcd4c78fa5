package postgres

import (
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/refrain-dev/refrain"
)

// Options of an engine. The zero value works.
type Options struct {
	// Schema holds Refrain's tables; "" means "refrain". At most 63 bytes.
	Schema string
	// Now replaces the clock; nil is the database's. One stamp is taken per
	// transaction, when the identity is claimed.
	Now func() time.Time
	// Observer is told every decision; nil is nobody.
	Observer refrain.Observer
	// Isolation is the level of the transactions effects run in; "" means READ
	// COMMITTED. At a higher level an effect runs again after a serialization
	// failure.
	Isolation pgx.TxIsoLevel
	// Busy is how long a call waits for a connection and for what the engine asks
	// on it before the effect; then it is row 9 with nothing executed. It also
	// bounds Load, Find and Change. 0 means 5 s.
	Busy time.Duration
	// Notify tells waiters in other processes that an effect which ran longer than
	// 20 ms has committed; they hear it where [DB.Listen] runs. It is for slow
	// effects: PostgreSQL commits transactions that notify one after the other. A
	// [Group] tells of effects that run alone or hold a claim for over 100 ms.
	// It also tells of external operations that are accepted or become due.
	Notify bool
}

const (
	defaultSchema = "refrain"
	defaultBusy   = 5 * time.Second
	maxName       = 63 // bytes of a name; PostgreSQL cuts longer ones
)

func (o Options) withDefaults() (Options, error) {
	if o.Schema == "" {
		o.Schema = defaultSchema
	}
	if o.Busy <= 0 {
		o.Busy = defaultBusy
	}
	if len(o.Schema) > maxName {
		return o, fmt.Errorf("postgres: the schema's name has %d bytes, %d allowed", len(o.Schema), maxName)
	}
	switch o.Isolation {
	case "":
		o.Isolation = pgx.ReadCommitted
	case pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable:
	default:
		return o, fmt.Errorf("postgres: isolation %q, want read committed, repeatable read or serializable", o.Isolation)
	}
	return o, nil
}

func single(options []Options) (Options, error) {
	switch len(options) {
	case 0:
		return Options{}.withDefaults()
	case 1:
		return options[0].withDefaults()
	}
	return Options{}, errors.New("postgres: more than one Options")
}
