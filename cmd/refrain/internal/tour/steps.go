package tour

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
)

type step struct {
	name string
	run  func(context.Context) (evidence string, err error)
}

func (s *scene) steps() []step {
	return []step{
		{"eight independent connections produce one effect, one receipt, and seven replays", s.competition},
		{"changed parameters conflict; a different tenant, operation, or intent key has separate scope", s.scopes},
		{"a returned error rolls back the effect and receipt together; retry then creates one effect", s.rollback},
		{"a fresh connection replays a committed result without adding another effect", s.lostReply},
		{"at the explicit 60-second retention boundary, the same key creates a new effect", s.boundary},
	}
}

const competitors = 8

var intentA = attempt{tenant: "north", operation: "web-order", key: "intent-a", quantity: 2}

func (s *scene) competition(ctx context.Context) (string, error) {
	engines := make([]engine.Database, competitors)
	for i := range engines {
		db, err := s.open(ctx)
		if err != nil {
			return "", err
		}
		defer db.Close(context.WithoutCancel(ctx))
		engines[i] = db
	}
	var (
		outcomes [competitors]refrain.Done[effect]
		errs     [competitors]error
		gate     = make(chan struct{})
		all      sync.WaitGroup
	)
	for i, db := range engines {
		all.Go(func() {
			<-gate
			outcomes[i], errs[i] = intentA.on(ctx, db)
		})
	}
	close(gate)
	all.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return "", err
	}
	created, replayed := 0, 0
	for _, out := range outcomes {
		if out.Value != outcomes[0].Value || out.Ref != outcomes[0].Ref {
			return "", fmt.Errorf("answers differ: %v (%s) and %v (%s)", out.Value, out.Ref, outcomes[0].Value, outcomes[0].Ref)
		}
		if out.Replayed {
			replayed++
		} else {
			created++
		}
	}
	if created != 1 || replayed != competitors-1 {
		return "", fmt.Errorf("%d created and %d replayed, want 1 and %d", created, replayed, competitors-1)
	}
	s.original = outcomes[0].Value
	counts, err := s.expect(ctx, 1, 1)
	return fmt.Sprintf("%d created, %d replayed, all effect %d under %s; %s", created, replayed, s.original.ID, outcomes[0].Ref, counts), err
}

func (s *scene) scopes(ctx context.Context) (string, error) {
	changed := intentA
	changed.quantity, changed.second = 3, 1
	_, err := s.make(ctx, changed)
	if !errors.Is(err, refrain.ErrKeyReused) {
		return "", fmt.Errorf("quantity 3 under intent-a: %w, want %w", orNothing(err), refrain.ErrKeyReused)
	}
	if _, err := s.expect(ctx, 1, 1); err != nil {
		return "", err
	}
	evidence := "quantity 3 under intent-a: key-reused"
	for _, other := range []attempt{
		{tenant: "south", operation: "web-order", key: "intent-a", quantity: 2, second: 1},
		{tenant: "north", operation: "batch-order", key: "intent-a", quantity: 2, second: 1},
		{tenant: "north", operation: "web-order", key: "intent-b", quantity: 2, second: 1},
	} {
		out, err := s.created(ctx, other)
		if err != nil {
			return "", err
		}
		evidence += fmt.Sprintf("; %s/%s/%s: effect %d", other.tenant, other.operation, other.key, out.ID)
	}
	counts, err := s.expect(ctx, 4, 4)
	return evidence + "; " + counts, err
}

func (s *scene) rollback(ctx context.Context) (string, error) {
	order := attempt{tenant: "north", operation: "web-order", key: "rolled-back", quantity: 1, second: 2, fails: true}
	if _, err := s.make(ctx, order); !errors.Is(err, errInjected) {
		return "", fmt.Errorf("the failing attempt: %w, want %w", orNothing(err), errInjected)
	}
	before, err := s.expect(ctx, 4, 4)
	if err != nil {
		return "", err
	}
	order.fails = false
	out, err := s.created(ctx, order)
	if err != nil {
		return "", err
	}
	counts, err := s.expect(ctx, 5, 5)
	return fmt.Sprintf("after the failure %s; the retry made effect %d; %s", before, out.ID, counts), err
}

// lostReply discards a reply and asks again; no loss on a network is simulated.
func (s *scene) lostReply(ctx context.Context) (string, error) {
	order := attempt{tenant: "north", operation: "web-order", key: "committed-no-reply", quantity: 1, second: 3}
	committed, err := s.created(ctx, order)
	if err != nil {
		return "", err
	}
	if err := s.replayed(ctx, order, committed); err != nil {
		return "", err
	}
	counts, err := s.expect(ctx, 6, 6)
	return fmt.Sprintf("effect %d replayed; %s", committed.ID, counts), err
}

func (s *scene) boundary(ctx context.Context) (string, error) {
	last, past := intentA, intentA
	last.second, past.second = 59, 60
	if err := s.replayed(ctx, last, s.original); err != nil {
		return "", err
	}
	out, err := s.created(ctx, past)
	if err != nil {
		return "", err
	}
	if out.ID == s.original.ID {
		return "", fmt.Errorf("second 60 answered with the first effect, %d", out.ID)
	}
	counts, err := s.expect(ctx, 7, 6)
	return fmt.Sprintf("second 59: effect %d replayed; second 60: effect %d; %s", s.original.ID, out.ID, counts), err
}

// created demands that the attempt starts its action.
func (s *scene) created(ctx context.Context, a attempt) (effect, error) {
	out, err := s.make(ctx, a)
	if err == nil && out.Replayed {
		err = errors.New("replayed, not created")
	}
	if err != nil {
		err = fmt.Errorf("%s/%s/%s at second %d: %w", a.tenant, a.operation, a.key, a.second, err)
	}
	return out.Value, err
}

// replayed demands that the attempt is answered with want and starts nothing.
func (s *scene) replayed(ctx context.Context, a attempt, want effect) error {
	out, err := s.make(ctx, a)
	switch {
	case err != nil:
	case !out.Replayed:
		err = errors.New("created, not replayed")
	case out.Value != want:
		err = fmt.Errorf("answered %v, want %v", out.Value, want)
	}
	if err != nil {
		err = fmt.Errorf("%s/%s/%s at second %d: %w", a.tenant, a.operation, a.key, a.second, err)
	}
	return err
}

var errNothing = errors.New("no error")

func orNothing(err error) error {
	if err == nil {
		return errNothing
	}
	return err
}
