package postgres

import (
	"context"
	"encoding/hex"

	"github.com/refrain-dev/refrain/upkeep"
)

const (
	incarnationText = `SELECT uuid_send(s.id), s.epoch, s.counter, ` + clock + ` FROM {schema}.store s`
	advanceText     = `UPDATE {schema}.store s SET counter = s.counter + 1 RETURNING uuid_send(s.id), s.epoch, s.counter, ` + clock
)

// Incarnation implements [upkeep.Retention].
func (s *Store) Incarnation(ctx context.Context) (upkeep.Incarnation, error) {
	return s.incarnation(s.read.row(ctx, s.sql.text(incarnationText)))
}

// Advance implements [upkeep.Retention].
func (s *Store) Advance(ctx context.Context) (i upkeep.Incarnation, err error) {
	err = s.write(ctx, func(ctx context.Context, tx runner) error {
		i, err = s.incarnation(tx.row(ctx, s.sql.text(advanceText)))
		return err
	})
	if err != nil {
		return upkeep.Incarnation{}, migrated(err)
	}
	return i, nil
}

func (s *Store) incarnation(row scanner) (upkeep.Incarnation, error) {
	var id []byte
	var server int64
	var i upkeep.Incarnation
	err := row.Scan(&id, &i.Epoch, &i.Counter, &server)
	i.Store, i.At = hex.EncodeToString(id), s.time(server)
	return i, migrated(err)
}
