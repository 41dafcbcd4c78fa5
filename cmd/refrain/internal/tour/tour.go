// Package tour runs the scenarios the library began with in a database of its
// own and reports, line by line, what was seen.
package tour

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/record"
)

// Line is one scenario and what was seen of it.
type Line struct {
	Name     string `json:"name"`
	OK       bool   `json:"ok"`
	Evidence string `json:"evidence"`
}

// Report is a whole tour: its lines, and the rows left at its end.
type Report struct {
	Lines    []Line `json:"lines"`
	Effects  int    `json:"effects"`
	Receipts int    `json:"receipts"`
}

// OK reports whether every line is.
func (r Report) OK() bool {
	for _, line := range r.Lines {
		if !line.OK {
			return false
		}
	}
	return len(r.Lines) > 0
}

// memory is how long the tour's contracts replay and remember: a policy for
// looking at its end, not a recommendation.
const memory = 60 * time.Second

const schema = `CREATE TABLE tour_effect (
	id        BIGINT PRIMARY KEY,
	tenant    VARCHAR(64) NOT NULL,
	operation VARCHAR(64) NOT NULL,
	quantity  BIGINT NOT NULL CHECK (quantity > 0)
){options}`

// Run takes the tour in the database at place, which must have no tables. An error means that the tour could not be taken; what it
// shows to be wrong is in the report.
func Run(ctx context.Context, place engine.Place) (Report, error) {
	s := &scene{place: place}
	db, err := s.open(ctx)
	if err != nil {
		return Report{}, err
	}
	s.db = db
	report, err := s.run(ctx)
	return report, errors.Join(err, db.Close(context.WithoutCancel(ctx)))
}

// scene is the stage of one tour.
type scene struct {
	place    engine.Place
	db       engine.Database // for the tables and the counts only
	second   atomic.Int64
	original effect // of intent-a
}

// effect is what an action answers.
type effect struct {
	ID       int64 `json:"effect_id"`
	Quantity int64 `json:"quantity"`
}

func (s *scene) run(ctx context.Context) (report Report, err error) {
	if err := s.db.Migrate(ctx); err != nil {
		return report, err
	}
	if err := s.db.Setup(ctx, s.db.SQL(schema)); err != nil {
		return report, err
	}
	for _, step := range s.steps() {
		evidence, err := step.run(ctx)
		if err != nil {
			evidence = err.Error()
		}
		report.Lines = append(report.Lines, Line{step.name, err == nil, evidence})
	}
	report.Effects, report.Receipts, err = s.counts(ctx)
	return report, err
}

// open makes a separate engine on the database: its own connections, its own
// memory, and the tour's clock.
func (s *scene) open(ctx context.Context) (engine.Database, error) {
	return s.place.Open(ctx, engine.Options{Now: s.now, Brief: true})
}

var began = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

func (s *scene) now() time.Time { return began.Add(time.Duration(s.second.Load()) * time.Second) }

// counts are the effects and the receipts in the database.
func (s *scene) counts(ctx context.Context) (effects, receipts int, err error) {
	if err := s.db.Reader().QueryRowContext(ctx, `SELECT count(*) FROM tour_effect`).Scan(&effects); err != nil {
		return 0, 0, err
	}
	records, err := s.db.List(ctx, record.Record{}, 1000)
	return effects, len(records), err
}

// expect compares the counts and tells them.
func (s *scene) expect(ctx context.Context, effects, receipts int) (string, error) {
	e, r, err := s.counts(ctx)
	if err == nil && (e != effects || r != receipts) {
		err = fmt.Errorf("%d effects and %d receipts, want %d and %d", e, r, effects, receipts)
	}
	return fmt.Sprintf("%d effects, %d receipts", e, r), err
}

// attempt is one request of a client.
type attempt struct {
	tenant, operation, key string
	quantity               int64
	second                 int64
	fails                  bool // after the effect, before its receipt
}

var errInjected = errors.New("injected failure after the effect, before its receipt")

// on makes the attempt on an engine that is open.
func (a attempt) on(ctx context.Context, db engine.Database) (refrain.Done[effect], error) {
	call := refrain.Call{
		Contract: refrain.Contract{Operation: a.operation, Schema: "1", ReplayFor: memory, RememberFor: memory},
		Scope:    refrain.Tenant(a.tenant),
		Key:      a.key,
		Input:    map[string]int64{"quantity": a.quantity},
	}
	return refrain.Do(ctx, db, call, func(ctx context.Context, tx refrain.SQLTx) (effect, error) {
		made := effect{Quantity: a.quantity}
		_, err := tx.ExecContext(ctx, db.SQL(`INSERT INTO tour_effect SELECT coalesce(max(id), 0) + 1, ?, ?, ? FROM tour_effect`),
			a.tenant, a.operation, a.quantity)
		if err == nil {
			err = tx.QueryRowContext(ctx, `SELECT max(id) FROM tour_effect`).Scan(&made.ID)
		}
		if err == nil && a.fails {
			err = errInjected
		}
		return made, err
	})
}

// make makes the attempt on a fresh engine, at the attempt's second.
func (s *scene) make(ctx context.Context, a attempt) (refrain.Done[effect], error) {
	s.second.Store(a.second)
	db, err := s.open(ctx)
	if err != nil {
		return refrain.Done[effect]{}, err
	}
	done, err := a.on(ctx, db)
	return done, errors.Join(err, db.Close(context.WithoutCancel(ctx)))
}
