package operation

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/refrain-dev/refrain/record"
)

// TestConfirmationsOfWhatIsFinal: a final state stays; what contradicts it is
// kept and disputed, once.
func TestConfirmationsOfWhatIsFinal(t *testing.T) {
	t.Parallel()
	confirmed := func(reference string) Operation {
		return attempts(t, Lost, Open).Close(2, confirmation(reference), at(20), pace)
	}
	rejected := attempts(t, Refused)
	for _, c := range []struct {
		name      string
		o         Operation
		heard     []string
		evidence  int
		disputed  bool
		reference string // of the answer that stays
	}{
		{"the same", confirmed("a"), []string{"a", "a"}, 0, false, "a"},
		{"without a reference", confirmed("a"), []string{""}, 0, false, "a"},
		{"another", confirmed("a"), []string{"b", "b", "a", ""}, 1, true, "a"},
		{"two others", confirmed("a"), []string{"b", "c", "b"}, 2, true, "a"},
		{"a first reference", confirmed(""), []string{"a", "a", ""}, 1, false, ""},
		{"two references after none", confirmed(""), []string{"a", "b"}, 2, true, ""},
		{"of a refused one", rejected, []string{"a", "a", ""}, 1, true, ""},
		{"of a refused one, without a reference", rejected, []string{"", ""}, 1, true, ""},
		{"two of a refused one", rejected, []string{"a", "b"}, 2, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := c.o
			for _, reference := range c.heard {
				o = o.Close(1, confirmation(reference), at(60), pace)
			}
			if o.State != c.o.State || o.Answer.Reference != c.reference || !o.Final.Equal(c.o.Final) || !reflect.DeepEqual(o.Answer, c.o.Answer) {
				t.Errorf("the final state changed: %s by %+v at %v", o.State, o.Answer, o.Final)
			}
			if len(o.Evidence) != c.evidence || o.Disputed != c.disputed {
				t.Errorf("disputed %t by %+v", o.Disputed, o.Evidence)
			}
			asked := c.o
			for _, reference := range c.heard {
				asked = asked.Asked(queries, Finding{Found: true, Reply: confirmation(reference)}, at(59), at(60), pace)
			}
			if asked.Disputed != o.Disputed || !reflect.DeepEqual(asked.Evidence, o.Evidence) {
				t.Errorf("found by asking: disputed %t by %+v", asked.Disputed, asked.Evidence)
			}
		})
	}
}

// TestRefusalsOfWhatIsFinal: they are kept, and contradict nothing.
func TestRefusalsOfWhatIsFinal(t *testing.T) {
	t.Parallel()
	o := attempts(t, Lost, Confirmed)
	late := o.Close(1, refusal(402), at(60), pace)
	if late.State != record.Confirmed || late.Disputed || len(late.Evidence) != 1 || late.Attempts[0].End != Refused {
		t.Errorf("%+v", late)
	}
	if again := late.Close(1, refusal(402), at(70), pace); !reflect.DeepEqual(again, late) {
		t.Errorf("again: %+v", again)
	}
}

// TestEvidenceIsBounded: refusals give way to newer ones, and the first
// confirmation that contradicts is never lost.
func TestEvidenceIsBounded(t *testing.T) {
	t.Parallel()
	o := attempts(t, Lost, Confirmed)
	o.Answer.Reference = "a"
	for i := range 3 * MaxEvidence {
		o = o.Close(1, refusal(400+i), at(60), pace)
	}
	if len(o.Evidence) != MaxEvidence || o.Evidence[0].Status != 400 || o.Evidence[MaxEvidence-1].Status != 400+3*MaxEvidence-1 {
		t.Fatalf("%d, from %d", len(o.Evidence), o.Evidence[0].Status)
	}
	for i := range 3 * MaxEvidence {
		before := o
		o = o.Close(1, confirmation(fmt.Sprint("b", i)), at(60), pace)
		first := -1
		for j, e := range o.Evidence {
			if e.End == Confirmed {
				first = j
				break
			}
		}
		if first < 0 || o.Evidence[first].Reference != "b0" || !o.Disputed || len(o.Evidence) != MaxEvidence {
			t.Fatalf("after %d: the first contradiction is gone: %+v", i, o.Evidence)
		}
		if before.Evidence[0].End == Refused && before.Evidence[0].Status != 400 {
			t.Fatal("what was there before has changed")
		}
	}
}
