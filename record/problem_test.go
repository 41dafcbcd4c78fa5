package record

import (
	"errors"
	"regexp"
	"testing"
)

func TestProblems(t *testing.T) {
	t.Parallel()
	fragment := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`) // it becomes part of a URI
	titles := map[string]Problem{}
	listed := map[Problem]bool{}
	for _, p := range Problems() {
		if listed[p] {
			t.Errorf("%s is listed twice", p)
		}
		listed[p] = true
		if !fragment.MatchString(string(p)) {
			t.Errorf("%q is no fragment", string(p))
		}
		if other, taken := titles[p.Title()]; taken || p.Title() == "" {
			t.Errorf("%s has the title of %s: %q", p, other, p.Title())
		}
		titles[p.Title()] = p
		// A client told to retry must meet a status that says so, and no other.
		if retry := p.Status() == 409 || p.Status() == 503; p.Retryable() != retry {
			t.Errorf("%s is %d and retryable = %t", p, p.Status(), p.Retryable())
		}
	}
	for p := range problems {
		if !listed[p] {
			t.Errorf("%s is not listed", p)
		}
	}
	if p := Problem("unheard-of"); p.Status() != 500 || p.Retryable() || p.Title() != "" {
		t.Errorf("an unknown problem is %d, %t, %q", p.Status(), p.Retryable(), p.Title())
	}
}

func TestError(t *testing.T) {
	t.Parallel()
	cause := errors.New("disk on fire")
	var err error = &Error{Problem: StoreUnavailable, Err: cause}
	if !errors.Is(err, StoreUnavailable) || !errors.Is(err, cause) || errors.Is(err, InProgress) {
		t.Errorf("%v does not wrap its problem and its cause alone", err)
	}
	if got, want := err.Error(), "refrain: store-unavailable: disk on fire"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	bare := &Error{Problem: KeyReused}
	if got, want := bare.Error(), "refrain: key-reused"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	if !errors.Is(bare, KeyReused) || bare.Retryable() {
		t.Errorf("%v: retryable %t", bare, bare.Retryable())
	}
	if e := (&Error{Problem: NotExecuted}); !e.Retryable() {
		t.Error("not-executed cannot be retried")
	}
	if e := (&Error{Problem: NotExecuted, Final: true}); e.Retryable() {
		t.Error("a final refusal can be retried")
	}
}
