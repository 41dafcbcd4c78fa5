package record

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func claimOf(key string) *Claim {
	id := Identity{Scope: "tenant=north", Operation: "orders.create", Key: key}
	return &Claim{
		Identity: id, Hash: id.Hash(), Policy: policy(),
		Request: Request{Key: key, Print: printOf("order")}, Actor: "clerk",
	}
}

func TestClaimBegin(t *testing.T) {
	t.Parallel()
	c := claimOf("k")
	rec := c.Begin(now.Add(999 * time.Nanosecond))
	if rec.Identity != c.Identity || rec.Print != c.Request.Print || rec.Actor != "clerk" {
		t.Errorf("begun for %+v by %q", rec.Identity, rec.Actor)
	}
	if rec.Version != 1 || rec.Format != Format || rec.Attempt != 1 || rec.State != Submitted {
		t.Errorf("begun as version %d, format %d, attempt %d, %s", rec.Version, rec.Format, rec.Attempt, rec.State)
	}
	if rec.Created != now || !rec.Final.IsZero() || !ValidRef(rec.Ref) {
		t.Errorf("begun at %v, final %v, ref %q", rec.Created, rec.Final, rec.Ref)
	}
	if again := c.Begin(now); again.Ref == rec.Ref {
		t.Errorf("ref %s was given twice", rec.Ref)
	}
}

func TestClaimKeep(t *testing.T) {
	t.Parallel()
	const limit = 8
	fits, over := bytes.Repeat([]byte("x"), limit), bytes.Repeat([]byte("x"), limit+1)
	for _, digest := range []bool{false, true} {
		c := claimOf("k")
		c.Policy.MaxResult, c.Policy.Digest = limit, digest
		in := Result{Status: 201, Header: [][2]string{{"Location", "/o/1"}}, Body: fits, Effect: "/o/1"}
		kept, err := c.Keep(in)
		if err != nil || !bytes.Equal(kept.Body, fits) || !kept.Kept() {
			t.Errorf("digest %t: a body of the limit is kept as %+v, %v", digest, kept, err)
		}
		in.Body = over
		kept, err = c.Keep(in)
		if !digest {
			var refusal *Error
			if !errors.As(err, &refusal) || refusal.Problem != ResponseTooLarge || refusal.Row != "15" {
				t.Errorf("a body over the limit: %v", err)
			}
			continue
		}
		sum := sha256.Sum256(over)
		if err != nil || kept.Body != nil || !bytes.Equal(kept.Digest, sum[:]) || kept.Kept() {
			t.Errorf("a body over the limit is kept as %+v, %v", kept, err)
		}
		if kept.Status != 201 || kept.Effect != "/o/1" || len(kept.Header) != 1 {
			t.Errorf("the rest of the result is gone: %+v", kept)
		}
	}
}

func TestClaimBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := claimOf("k")
		rec := c.Begin(time.Now())
		started := time.Now()
		ctx, cancel := c.Bound(t.Context(), rec)
		defer cancel()
		if got, ok := Entered(ctx); !ok || got != rec {
			t.Errorf("Entered = %p, %t, want %p", got, ok, rec)
		}
		if _, ok := Entered(t.Context()); ok {
			t.Error("a context outside any effect has entered one")
		}
		<-ctx.Done()
		if took := time.Since(started); took != c.Policy.MaxExecution {
			t.Errorf("ended after %v, want %v", took, c.Policy.MaxExecution)
		}
		var refusal *Error
		own := errors.New("own")
		err := c.Failed(ctx, own, true)
		if !errors.As(err, &refusal) || refusal.Problem != NotExecuted || refusal.Row != "14" || !errors.Is(err, own) {
			t.Errorf("an effect past its bound: %v", err)
		}
	})
}

func TestClaimFailed(t *testing.T) {
	t.Parallel()
	c := claimOf("k")
	own := errors.New("no stock")
	parent, cancelParent := context.WithCancel(t.Context())
	ctx, cancel := c.Bound(parent, c.Begin(now))
	defer cancel()
	for _, wrote := range []bool{false, true} {
		var refusal *Error
		err := c.Failed(ctx, own, wrote)
		if !errors.As(err, &refusal) || refusal.Problem != HandlerFailed || refusal.Wrote != wrote || !errors.Is(err, own) {
			t.Errorf("a failed effect (wrote %t): %v", wrote, err)
		}
		if !strings.Contains(err.Error(), "no stock") {
			t.Errorf("%q does not say why", err)
		}
	}
	cancelParent()
	if err := c.Failed(ctx, ctx.Err(), false); !errors.Is(err, HandlerFailed) || errors.Is(err, NotExecuted) {
		t.Errorf("an effect whose caller left is not one past its bound: %v", err)
	}
}
