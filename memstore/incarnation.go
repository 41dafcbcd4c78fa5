package memstore

import (
	"context"
	"crypto/rand"
	"encoding/hex"

	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

func newStore() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Incarnation implements [upkeep.Retention].
func (db *DB) Incarnation(ctx context.Context) (upkeep.Incarnation, error) {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return db.incarnationNow(ctx)
}

// Advance implements [upkeep.Retention].
func (db *DB) Advance(ctx context.Context) (upkeep.Incarnation, error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	is, err := db.incarnationNow(ctx)
	if err == nil {
		is.Counter++
		db.incarnation = is
	}
	return is, err
}

func (db *DB) incarnationNow(ctx context.Context) (upkeep.Incarnation, error) {
	if err := db.readable(ctx); err != nil {
		return upkeep.Incarnation{}, err
	}
	is := db.incarnation
	is.At = record.Micro(db.options.Now())
	return is, nil
}
