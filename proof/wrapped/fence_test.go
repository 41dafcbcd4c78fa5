//go:build unix

package wrapped

import (
	"context"
	"net/http"
	"testing"
)

// TestFenceRecipe: an owner that was overtaken cannot overwrite what the newer
// attempt wrote, if its statement asks for the fence.
func TestFenceRecipe(t *testing.T) {
	over(t, func(t *testing.T, scene func(testing.TB) Setting) {
		s := scene(t)
		s.Rerun = true
		bank := newBank(t, s)
		write := func(w http.ResponseWriter, r *http.Request, balance int64) {
			switch written, err := bank.write(context.WithoutCancel(r.Context()), balance); { // it pays no heed to the end of its lease
			case err != nil:
				t.Error(err)
			case !written:
				http.Error(w, "overtaken", http.StatusServiceUnavailable)
			default:
				w.WriteHeader(http.StatusCreated)
			}
		}

		paused, overtaken, written := make(chan struct{}), make(chan struct{}), make(chan struct{})
		old := serve(t, s, func(w http.ResponseWriter, r *http.Request) {
			close(paused)
			<-overtaken
			write(w, r, 100)
			close(written)
		})
		old.store.fail(2, false) // the process that is paused extends nothing
		go post(old.url)
		<-paused
		other := serve(t, s, func(w http.ResponseWriter, r *http.Request) { write(w, r, 200) })
		if a := settle(t, other.url); a.status != 201 || a.replayed() {
			t.Errorf("the newer attempt = %d %s", a.status, a.problem())
		}
		close(overtaken)
		<-written
		if balance, err := bank.balance(t.Context()); err != nil || balance != 200 {
			t.Errorf("balance = %d, %v", balance, err)
		}
		if a := post(other.url); a.status != 201 || !a.replayed() {
			t.Errorf("a retry = %d %s", a.status, a.problem())
		}
	})
}
