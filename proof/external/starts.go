package external

import (
	"fmt"
	"slices"
)

// start is where a walk begins: the world after some steps, so that a walk to a
// bounded depth gets to what takes long to come about.
type start struct {
	name   string
	within int // ticks in which a first attempt must begin; 0 means no bound
	steps  []string
}

const (
	takes     = "worker 1 takes it and writes"
	looks     = "worker 1 looks at the clock"
	givesUp   = "worker 1 gives up and writes"
	isTold    = "worker 1 is told what the provider knows and writes"
	passes    = "time passes"
	takes2    = "worker 2 takes it and writes"
	looks2    = "worker 2 looks at the clock"
	performs  = "attempt 1 arrives and is performed"
	performs2 = "attempt 2 arrives and is performed"
)

var starts = []start{
	{name: "accepted"},
	{name: "accepted, to begin soon", within: 2},
	{name: "one given up on its way", steps: []string{takes, looks, givesUp}},
	{name: "one given up on its way, to begin soon", within: 1, steps: []string{takes, looks, givesUp}},
	{name: "two on their way", steps: []string{takes, looks, givesUp, takes, looks}},
	{name: "one is paused before its look, another is on its way", steps: []string{takes, passes, takes2, takes2, looks2}},
	{name: "one was performed, another could not connect", steps: []string{takes, looks, performs, givesUp, passes, takes, "worker 1 cannot connect and writes"}},
	{name: "not found", steps: []string{takes, looks, givesUp, passes, passes, takes, isTold}},
	{name: "one on its way, another after not found", steps: []string{takes, looks, givesUp, passes, passes, takes, isTold, takes, looks}},
	{name: "the window is over, one still on its way", steps: []string{takes, looks, givesUp, takes, looks, performs2, passes, passes, passes}},
	{name: "the window is over, one still on its way, the other after not found", steps: []string{takes, looks, givesUp, takes, isTold, takes, looks, performs2, passes, passes, passes}},
	{name: "performed since it was not found, which is not written yet", steps: []string{takes, looks, givesUp, passes, takes,
		"worker 1 is told what the provider knows", performs, "a person resumes", passes}},
}

// at returns the world after the steps of s, or which of them cannot be done.
func (m *model) at(s start) (world, *way, error) {
	w := begin(s.within)
	var done *way
	for _, name := range s.steps {
		all := m.next(&w)
		i := slices.IndexFunc(all, func(after world) bool { return after.lastStep.String() == name })
		if i < 0 {
			return w, done, fmt.Errorf("%q after:\n  %v", name, done)
		}
		w = all[i]
		done = &way{w.lastStep, done}
	}
	return w, done, nil
}
