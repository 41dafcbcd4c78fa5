package storetest

import (
	"errors"

	"github.com/refrain-dev/refrain/upkeep"
)

// nothingIsUnsigned: what is audited is not done without a name and a reason, even
// where there is nothing to do it to.
func nothingIsUnsigned[T any](f *fixture[T]) {
	r := f.retention()
	id, err := r.SetFence(f.ctx, upkeep.Fence{Until: epoch, By: "ann", Reason: "restored"})
	if err != nil {
		f.t.Fatal(err)
	}
	signed := func(by, reason string) error {
		_, err := r.SetFence(f.ctx, upkeep.Fence{Until: epoch, By: by, Reason: reason})
		return err
	}
	for _, who := range [][2]string{{"", "a reason"}, {"ann", ""}, {" ", "a reason"}, {"ann", "\t"}} {
		for what, err := range map[string]error{
			"SetFence":   signed(who[0], who[1]),
			"EndFence":   r.EndFence(f.ctx, id, who[0], who[1]),
			"VoidFence":  r.VoidFence(f.ctx, id, who[0], who[1]),
			"RemoveOnce": r.RemoveOnce(f.ctx, "rule", "value", who[0], who[1]),
		} {
			if !errors.Is(err, upkeep.ErrUnsigned) {
				f.t.Errorf("%s by %q because of %q: %v", what, who[0], who[1], err)
			}
		}
	}
	if fences, err := r.Fences(f.ctx); err != nil || len(fences) != 1 || !fences[0].Ended.IsZero() {
		f.t.Errorf("fences %+v, %v", fences, err)
	}
}
