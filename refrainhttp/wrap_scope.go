package refrainhttp

import (
	"sync"

	"github.com/refrain-dev/refrain"
)

// perScope bounds how many requests of one scope do the same thing at a time.
type perScope struct {
	most int // 0 is the default, negative no bound

	mu sync.Mutex
	in map[refrain.Scope]int
}

// enter reports whether there was room. Who got in must leave.
func (p *perScope) enter(scope refrain.Scope) bool {
	most := p.most
	if most == 0 {
		most = DefaultPerScope
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if most > 0 && p.in[scope] >= most {
		return false
	}
	if p.in == nil {
		p.in = make(map[refrain.Scope]int)
	}
	p.in[scope]++
	return true
}

func (p *perScope) leave(scope refrain.Scope) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.in[scope]--; p.in[scope] == 0 {
		delete(p.in, scope)
	}
}
