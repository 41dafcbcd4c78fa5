package processes

import (
	"context"
	"fmt"
	"sync"
	"testing"
)

// watch reads the file until stop is called, over and over: with the program's
// own commands and with Verify. Each reading must succeed.
func watch(t *testing.T, path string) (stop func() (summary string)) {
	ctx := context.WithoutCancel(t.Context()) // a reading under way is finished
	program := Program(t)
	command := func(args ...string) func() error {
		return func() error {
			_, err := Command(ctx, program, append(args, "--db", "sqlite:"+path)...)
			return err
		}
	}
	done := make(chan struct{})
	var all sync.WaitGroup
	count := func(n *int, readings ...func() error) {
		all.Go(func() {
			for !closed(done) {
				for _, read := range readings {
					if err := read(); err != nil {
						t.Errorf("reading meanwhile: %v", err)
						return
					}
				}
				*n++
			}
		})
	}
	var commands, walks int
	count(&commands, command("doctor"), command("migrate", "status"))
	count(&walks, func() error { _, err := Verify(ctx, path); return err })
	return sync.OnceValue(func() string {
		close(done)
		all.Wait()
		if commands == 0 || walks == 0 {
			t.Error("nothing was read meanwhile")
		}
		return fmt.Sprintf("meanwhile doctor and migrate status %d times each, the file walked %d times", commands, walks)
	})
}

func closed(done chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
