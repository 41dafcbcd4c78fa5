package external

import (
	"context"
	"time"

	"github.com/refrain-dev/refrain/operation"
)

// Provider performs external operations. Submit and Query may be called by
// several goroutines at once.
type Provider interface {
	// Terms are what the provider promises; they do not change.
	Terms() operation.Terms
	// Submit makes one attempt and says how it ended. It asks s.Gate right before
	// the first byte leaves and sends nothing after an error of it; it never
	// repeats by itself. Whatever does not prove another end is Lost: a timeout,
	// a reset, an answer that cannot be read. When ctx ends the attempt is given
	// up, which proves nothing about what left.
	Submit(ctx context.Context, s Submission) operation.Reply
}

// Querier is a [Provider] that can be asked what became of a key. An error
// means that there was no answer, which is not "not found". Its text is kept for
// a person to read, as Reply.Note is: no key and no payload in either.
type Querier interface {
	Provider
	Query(ctx context.Context, s Submission) (operation.Finding, error)
}

// Submission is one attempt as a provider sees it, or the operation that is
// asked about.
type Submission struct {
	Ref      string // of the operation
	Step     string
	Key      string // the same for every attempt
	Input    []byte // the same for every attempt; not to be changed
	Attempt  int    // 1, 2, 3, …
	Repeats  bool   // an earlier attempt may have left
	Accepted time.Time
	NotAfter time.Time // the attempt's first byte may not leave at or after it; zero where none is made
	// Gate says right before the first byte whether it may still leave: nil, or
	// why not. Once it has said nil a lost lease does not end the attempt's context
	// any more: what was sent is to be heard. nil here means that it always may.
	Gate func() error
}
