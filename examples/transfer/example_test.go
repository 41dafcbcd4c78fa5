package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/sqlite"

	"github.com/refrain-dev/refrain/examples/transfer"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "transfer")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	bank, err := transfer.Open(ctx, filepath.Join(dir, "bank.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer bank.Close(ctx)

	small := transfer.Order{From: "ann", To: "ben", Cents: 300}
	for range 2 { // the second is a retry
		out, err := transfer.Do(ctx, bank, "payroll-2026-11", small)
		fmt.Println(out.Value.Balance, out.Replayed, err)
	}
	_, err = transfer.Do(ctx, bank, "payroll-2026-11", transfer.Order{From: "ann", To: "ben", Cents: 301})
	fmt.Println(errors.Is(err, refrain.ErrKeyReused))
	for range 2 { // a refusal is remembered too
		_, err = transfer.Do(ctx, bank, "too-much", transfer.Order{From: "ann", To: "ben", Cents: 9999})
		fmt.Println(err)
	}

	// A transaction of the caller's own: the record commits or rolls back with it.
	err = bank.Update(ctx, func(ctx context.Context, tx sqlite.Tx) error {
		if _, err := transfer.In(ctx, bank, tx, "bonus", small); err != nil {
			return err
		}
		return errors.New("something else failed")
	})
	fmt.Println(err)
	out, err := transfer.Do(ctx, bank, "bonus", small)
	fmt.Println(out.Value.Balance, out.Replayed, err)

	// Output:
	// 700 false <nil>
	// 700 true <nil>
	// true
	// not enough money
	// not enough money
	// something else failed
	// 400 false <nil>
}
