package operation

import (
	"testing"

	"github.com/refrain-dev/refrain/record"
)

// TestAttemptsAreBounded: whatever is dropped, what may have left goes on to count.
func TestAttemptsAreBounded(t *testing.T) {
	t.Parallel()
	o := accepted()
	const tries = 3 * MaxAttempts
	for i := range tries {
		o = opened(t, o, atLeast, at(100*i))
		o = o.Close(i+1, Reply{End: Lost}, at(100*i+1), pace)
	}
	if len(o.Attempts) != MaxAttempts || o.Attempts[0].N != 1 || o.last().N != tries {
		t.Fatalf("%d attempts, from %d to %d", len(o.Attempts), o.Attempts[0].N, o.last().N)
	}
	if got := o.open(0); got != tries {
		t.Fatalf("%d may have left, want %d", got, tries)
	}
	if want := at(100*(tries-MaxAttempts) + 30); !o.Dropped.NotAfter.Equal(want) {
		t.Errorf("dropped up to %v, want %v", o.Dropped.NotAfter, want)
	}
	for _, a := range o.Attempts { // all that are listed prove not to have left
		o = o.Close(a.N, Reply{End: NotSent}, at(1<<20), pace)
	}
	if o.State != record.Unknown {
		t.Errorf("%s while a dropped one may have left", o.State)
	}
	if refused := o.Close(2, refusal(402), at(1<<20), pace); refused.State != record.Unknown {
		t.Errorf("%s by a dropped one's refusal", refused.State)
	}
	o.NotFound = o.Dropped.NotAfter.Add(notFound.NotFoundFinalAfter - 1)
	if o.Safe(notFound, at(1<<20)) == nil {
		t.Error("not found before the last dropped one's time is proof")
	}
}

// TestTrimDropsWhatTellsLeast: one that was not sent goes before one that may
// have left, also where it is the first.
func TestTrimDropsWhatTellsLeast(t *testing.T) {
	t.Parallel()
	for _, unsent := range []int{1, 7, MaxAttempts} {
		o := accepted()
		for n := 1; n <= MaxAttempts+1; n++ {
			o = opened(t, o, atLeast, at(100*n))
			end := Lost
			if n == unsent {
				end = NotSent
			}
			o = o.Close(n, Reply{End: end}, at(100*n+1), pace)
		}
		if o.Dropped.MayHaveLeft != 0 || o.open(0) != MaxAttempts || len(o.Attempts) != MaxAttempts {
			t.Errorf("%d was not sent: %d dropped, %d may have left", unsent, o.Dropped.MayHaveLeft, o.open(0))
		}
	}
}
