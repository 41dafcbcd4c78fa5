package tour

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/fakeprovider"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

func (s *payments) steps() []step {
	return []step{
		{"a charge that is answered settles its request; a retry gets that answer", s.inBand},
		{"the provider's refusal is the result, and a retry gets it", s.declined},
		{"an answer is lost and the provider can be asked: it is found, charged once, submitted once", s.askedAbout},
		{"an answer is lost and the provider knows the key: submitted again, charged once", s.repeated},
		{"an answer is lost and nobody can tell: it stays unknown, submitted once, until a person decides", s.decided},
	}
}

func (s *payments) inBand(ctx context.Context) (string, error) {
	b := s.banks[sound]
	done, err := s.pay(ctx, b, "anna", patience)
	if err != nil {
		return "", err
	}
	if done.State != record.Confirmed {
		return "", fmt.Errorf("the request ended %s", done.State)
	}
	if err := s.retried(ctx, b, "anna", done.Value); err != nil {
		return "", err
	}
	counts, err := b.expect(1, 1)
	return fmt.Sprintf("paid as %s, the retry as well; %s", done.Value, counts), err
}

func (s *payments) declined(ctx context.Context) (string, error) {
	b := s.banks[sound]
	for _, request := range [...]string{"the request", "the retry"} {
		var no *refrain.Rejection
		if _, err := s.pay(ctx, b, "declined-7", patience); !errors.As(err, &no) {
			return "", fmt.Errorf("%s ended with %w, want a rejection", request, orNothing(err))
		}
	}
	counts, err := b.expect(1, 2) // with the charge before
	return "declined, and the retry as well; " + counts, err
}

func (s *payments) askedAbout(ctx context.Context) (string, error) {
	return s.lost(ctx, s.banks[asked], "bert", 1)
}

func (s *payments) repeated(ctx context.Context) (string, error) {
	return s.lost(ctx, s.banks[dedupes], "cleo", 2)
}

// lost pays where the provider charges and loses its answer; the request gets the
// outcome all the same.
func (s *payments) lost(ctx context.Context, b *bank, account string, attempts int) (string, error) {
	if err := b.lose(); err != nil {
		return "", err
	}
	done, err := s.pay(ctx, b, account, patience)
	if err != nil {
		return "", err
	}
	o, err := s.operation(ctx, done.Ref)
	if err != nil {
		return "", err
	}
	if len(o.Attempts) != attempts || o.Attempts[0].End != operation.Lost {
		return "", fmt.Errorf("%d attempts, the first %s; want %d, the first lost", len(o.Attempts), o.Attempts[0].End, attempts)
	}
	if err := s.retried(ctx, b, account, done.Value); err != nil {
		return "", err
	}
	counts, err := b.expect(1, attempts)
	return fmt.Sprintf("attempt 1 lost, then confirmed as %s; %s", done.Value, counts), err
}

func (s *payments) decided(ctx context.Context) (string, error) {
	b := s.banks[plain]
	if err := b.lose(); err != nil {
		return "", err
	}
	first, err := s.open(ctx, b, haste, refrain.ErrInProgress) // nobody knows yet that nobody will
	if err != nil {
		return "", err
	}
	waiting, err := s.listed(ctx, first)
	if err != nil {
		return "", err
	}
	if again, err := s.open(ctx, b, 0, refrain.ErrOutcomeUnknown); err != nil || again != first {
		return "", fmt.Errorf("the retry: the action %s, want %s; %w", again, first, orNothing(err))
	}
	if _, err := b.expect(1, 1); err != nil {
		return "", err
	}
	charge := b.server.Charges()[0].ID
	by := external.By{Who: "support", Why: "the provider's books show the charge"}
	if err := s.runner.Decide(ctx, by, waiting.Operation.Ref, operation.Reply{End: operation.Confirmed, Reference: charge}); err != nil {
		return "", err
	}
	if err := s.retried(ctx, b, "dora", charge); err != nil {
		return "", err
	}
	counts, err := b.expect(1, 1)
	return fmt.Sprintf("listed as %s, %v old, %s; decided by %s, and the retry was paid as %s; %s",
		waiting.Operation.State, waiting.Age.Truncate(time.Millisecond), waiting.Operation.Why, by.Who, charge, counts), err
}

// open demands that dora's request is told so of an action that is not settled,
// and returns its ref.
func (s *payments) open(ctx context.Context, b *bank, wait time.Duration, so error) (string, error) {
	_, err := s.pay(ctx, b, "dora", wait)
	var told *refrain.Error
	if !errors.Is(err, so) || !errors.As(err, &told) {
		return "", fmt.Errorf("the request ended with %w, want %w", orNothing(err), so)
	}
	return told.Ref, nil
}

// listed waits until the action's operation is listed as one for a person.
func (s *payments) listed(ctx context.Context, action string) (external.Case, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		cases, err := s.runner.Cases(ctx, 10)
		if err != nil {
			return external.Case{}, err
		}
		for _, c := range cases {
			if c.Operation.Action == action && c.Parked {
				return c, nil
			}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return external.Case{}, fmt.Errorf("not listed for a person: %w", ctx.Err())
		}
	}
}

// retried demands that a retry is answered with charge and charges nothing.
func (s *payments) retried(ctx context.Context, b *bank, account, charge string) error {
	again, err := s.pay(ctx, b, account, patience)
	switch {
	case err != nil:
		return fmt.Errorf("the retry: %w", err)
	case !again.Replayed || again.Value != charge:
		return fmt.Errorf("the retry was answered %q, replayed %t; want %q, replayed", again.Value, again.Replayed, charge)
	}
	return nil
}

func (s *payments) operation(ctx context.Context, action string) (operation.Operation, error) {
	all, err := s.db.Operations().Of(ctx, action)
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("the action %s has %d operations, want 1", action, len(all))
	}
	if err != nil {
		return operation.Operation{}, err
	}
	return all[0], nil
}

// lose makes the provider charge the next time and lose its answer.
func (b *bank) lose() error {
	return b.server.Set(func(s *fakeprovider.Switches) { s.Fault, s.Times = fakeprovider.LoseAnswer, 1 })
}

// expect compares what the provider counts and tells it.
func (b *bank) expect(charges, requests int) (string, error) {
	c, r := len(b.server.Charges()), b.server.Requests()
	if c != charges || r != requests {
		return "", fmt.Errorf("%d charges by %d requests, want %d by %d", c, r, charges, requests)
	}
	return fmt.Sprintf("%d charges by %d requests", c, r), nil
}
