package postgres

import (
	"runtime"
	"slices"
)

// push queues a member, and starts a leader while fewer than two are at work.
// Its caller is under way, and so is the leader for it.
func (g *Group) push(m *member) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queue = append(g.queue, m)
	if g.leaders < groupsAtOnce {
		g.leaders++
		g.db.tasks.stay()
		go g.lead()
	}
}

// remove takes m out of the queue; false when its turn has come.
func (g *Group) remove(m *member) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.queue, m)
	if i < 0 {
		return false
	}
	g.queue = slices.Delete(g.queue, i, i+1)
	return true
}

// lead runs groups until nobody waits. There is no timer: whoever comes while
// the groups before it commit is in the next one.
func (g *Group) lead() {
	defer g.db.tasks.leave()
	for {
		runtime.Gosched() // whoever is on the way comes along
		g.mu.Lock()
		n := min(len(g.queue), g.limit)
		if n == 0 {
			g.leaders--
			g.mu.Unlock()
			return
		}
		members := slices.Clone(g.queue[:n])
		g.queue = slices.Delete(g.queue, 0, n)
		g.mu.Unlock()
		p := g.form(members)
		p.lead()
		if p.detached {
			return
		}
	}
}

// replace gives the place of a leader who is detained to another one.
func (g *Group) replace() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 {
		g.leaders--
		return
	}
	g.db.tasks.stay()
	go g.lead()
}

// again queues members of a group that was rolled back, before all others.
func (g *Group) again(members []*member) {
	g.mu.Lock()
	g.queue = slices.Insert(g.queue, 0, members...)
	g.mu.Unlock()
}

// resize learns from how a group of n ended: each failure is paid for by all of
// its members, so where failures are common groups are small.
func (g *Group) resize(n int, committed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if committed {
		g.limit = min(max(g.limit, 2*n), groupMembers)
	} else {
		g.limit = max(n/2, 1)
	}
}

// stay counts once more somebody who is under way.
func (t *tasks) stay() {
	t.mu.Lock()
	t.n++
	t.mu.Unlock()
}
