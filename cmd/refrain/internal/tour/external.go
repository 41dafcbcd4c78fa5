package tour

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/record"
)

// ExternalReport is a tour of external operations: its lines, what its providers
// charged, and the rows left at its end.
type ExternalReport struct {
	Lines    []Line `json:"lines"`
	Charges  int    `json:"charges"`  // counted at the providers
	Payments int    `json:"payments"` // rows that say paid
	Receipts int    `json:"receipts"`
}

// OK reports whether every line is.
func (r ExternalReport) OK() bool { return Report{Lines: r.Lines}.OK() }

const paymentSchema = `CREATE TABLE tour_payment (
	account     VARCHAR(64) NOT NULL PRIMARY KEY,
	state       VARCHAR(16) NOT NULL,
	charge      VARCHAR(64) NOT NULL
){options}`

// RunExternal takes the tour of external operations in the database at place,
// which must have no tables: payments, charged at providers that listen on
// 127.0.0.1 for as long as it runs. An error means that the tour could not be
// taken; what it shows to be wrong is in the report.
func RunExternal(ctx context.Context, place engine.Place) (report ExternalReport, err error) {
	db, err := place.Open(ctx, engine.Options{Brief: true})
	if err != nil {
		return report, err
	}
	s := &payments{db: db}
	defer func() {
		s.closeBanks()
		err = errors.Join(err, db.Close(context.WithoutCancel(ctx)))
	}()
	if err := s.prepare(ctx); err != nil {
		return report, err
	}
	return s.run(ctx)
}

func (s *payments) prepare(ctx context.Context) error {
	if err := s.db.Migrate(ctx); err != nil {
		return err
	}
	if err := s.db.Setup(ctx, s.db.SQL(paymentSchema)); err != nil {
		return err
	}
	return s.openBanks()
}

// run takes the tour while the runner runs.
func (s *payments) run(ctx context.Context) (report ExternalReport, err error) {
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.runner.Run(running) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()
	for _, step := range s.steps() {
		evidence, err := step.run(ctx)
		if err != nil {
			evidence = err.Error()
		}
		report.Lines = append(report.Lines, Line{step.name, err == nil, evidence})
	}
	report.Charges, report.Payments, report.Receipts, err = s.counts(ctx)
	report.Lines = append(report.Lines, Line{
		"every charge belongs to one payment", err == nil && report.Charges == report.Payments,
		fmt.Sprintf("%d charges, %d payments that are paid", report.Charges, report.Payments),
	})
	return report, err
}

// payments is the stage of one tour of external operations.
type payments struct {
	db     engine.Database
	banks  []*bank
	runner *external.Runner[refrain.SQLTx]
}

// order is a payment as it is asked for, and what its provider is sent.
type order struct {
	Account  string `json:"account"`
	Amount   int64  `json:"amount"`
	Currency string `json:"currency"`
}

// patience is how long a request waits for its outcome where that comes, and
// haste where it does not.
const (
	patience = 20 * time.Second
	haste    = 200 * time.Millisecond
)

// pay is one request of a client: the row and the intent to charge at b commit
// together, and the request waits for the outcome.
func (s *payments) pay(ctx context.Context, b *bank, account string, wait time.Duration) (refrain.Done[string], error) {
	o := order{account, 1250, "EUR"}
	call := refrain.Call{
		Contract: refrain.Contract{Operation: "payment", Schema: "1", ReplayFor: time.Hour, RememberFor: time.Hour, Wait: -1},
		Scope:    refrain.Tenant("north"),
		Key:      account,
		Input:    o,
	}
	return external.Do[refrain.SQLTx, string](ctx, s.runner, s.db, call, wait, func(ctx context.Context, tx refrain.SQLTx) error {
		_, err := tx.ExecContext(ctx, s.db.SQL(`INSERT INTO tour_payment (account, state, charge) VALUES (?, ?, ?)`), account, "pending", "")
		if err != nil {
			return err
		}
		_, err = b.pay.Accept(ctx, tx, o)
		return err
	})
}

// settle writes what became of a charge and renders the answer, in one
// transaction with the outcome.
func (s *payments) settle(ctx context.Context, tx refrain.SQLTx, o external.Outcome[order, struct{}]) (record.Result, error) {
	state := "refused"
	if o.Confirmed {
		state = "paid"
	}
	_, err := tx.ExecContext(ctx, s.db.SQL(`UPDATE tour_payment SET state = ?, charge = ? WHERE account = ?`), state, o.Reply.Reference, o.Input.Account)
	if err != nil {
		return record.Result{}, err
	}
	if !o.Confirmed {
		return external.JSON(0, "declined")
	}
	return external.JSON(0, o.Reply.Reference)
}

// counts are the charges at the providers, the payments that are paid, and the
// receipts.
func (s *payments) counts(ctx context.Context) (charges, paid, receipts int, err error) {
	for _, b := range s.banks {
		charges += len(b.server.Charges())
	}
	if err := s.db.Reader().QueryRowContext(ctx, `SELECT count(*) FROM tour_payment WHERE state = 'paid'`).Scan(&paid); err != nil {
		return 0, 0, 0, err
	}
	recs, err := s.db.List(ctx, record.Record{}, 1000)
	for _, rec := range recs {
		if rec.State.Final() {
			receipts++
		}
	}
	return charges, paid, receipts, err
}
