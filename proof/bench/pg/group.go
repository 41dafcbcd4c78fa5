package pg

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/jackc/pgx/v5"
)

// Group is the naked group executor: batchers drain what waits into one
// transaction of two flushes, all effects and then all records with COMMIT.
type Group struct {
	n     Naked
	queue chan member
}

type member struct {
	key  string
	done chan error
}

const (
	batchers = 2
	most     = 64
)

// NewGroup starts the batchers, which end with ctx.
func NewGroup(ctx context.Context, n Naked) *Group {
	g := &Group{n, make(chan member, 4*most)}
	for range batchers {
		go g.run(ctx)
	}
	return g
}

// Execute queues one effect with its record.
func (g *Group) Execute(ctx context.Context, key string) error {
	m := member{key, make(chan error, 1)}
	select {
	case g.queue <- m:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-m.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *Group) run(ctx context.Context) {
	for {
		var group []member
		select {
		case m := <-g.queue:
			group = append(group, m)
		case <-ctx.Done():
			return
		}
		for more := true; more && len(group) < most; {
			select {
			case m := <-g.queue:
				group = append(group, m)
			default:
				more = false
			}
		}
		err := g.commit(ctx, group)
		for _, m := range group {
			m.done <- err
		}
	}
}

func (g *Group) commit(ctx context.Context, group []member) error {
	conn, err := g.n.Pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	var effects pgx.Batch
	effects.Queue("BEGIN")
	for _, m := range group {
		hash := hashOf(m.key)
		effects.Queue(nakedLookup, hash, int64(binary.BigEndian.Uint64(hash[:])), operation)
		effects.Queue(effectSQL, effectArgs...)
	}
	if err := conn.SendBatch(ctx, &effects).Close(); err != nil {
		return err
	}
	var records pgx.Batch
	now := time.Now().UnixMicro()
	for _, m := range group {
		records.Queue(nakedInsert, nakedArgs(hashOf(m.key), m.key, now)...)
	}
	records.Queue("COMMIT")
	return conn.SendBatch(ctx, &records).Close()
}
