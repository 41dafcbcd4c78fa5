package external_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// visaBank loses the answer to the first submission of a key, and recognises the key
// when it comes again. An HTTP provider is an [external.HTTP] with a profile.
type visaBank struct {
	charged map[string]string // reference by key
	lose    bool
}

func (b *visaBank) Terms() operation.Terms {
	return operation.Terms{Dedupes: true, DedupesFor: 24 * time.Hour}
}

func (b *visaBank) Submit(_ context.Context, s external.Submission) operation.Reply {
	if err := s.Gate(); err != nil { // right before the first byte
		return operation.Reply{End: operation.NotSent, Note: err.Error()}
	}
	reference, known := b.charged[s.Key]
	if !known {
		reference = fmt.Sprintf("ch_%d", len(b.charged)+1)
		b.charged[s.Key] = reference
		if b.lose {
			return operation.Reply{End: operation.Lost, Note: "timeout"}
		}
	}
	return operation.Reply{End: operation.Confirmed, Reference: reference, Body: []byte(`{"card":"4242"}`)}
}

type (
	visaCharge  struct{ Cents int64 }
	visaReceipt struct{ Card string }
)

// A payment whose answer is lost is not made twice: the action commits first, the
// charge is repeated under its key, and the client gets what settled it.
func Example() {
	shop := memstore.New(memstore.Options{})
	visa := &visaBank{charged: map[string]string{}, lose: true}

	pay := external.Define(external.Effect[memstore.Tx, visaCharge, visaReceipt]{
		Name: "charge", Provider: "visa", Needs: external.Needs{DedupesFor: time.Hour},
		Pace: operation.Pace{First: 10 * time.Millisecond},
		Settle: func(_ context.Context, tx memstore.Tx, s external.Outcome[visaCharge, visaReceipt]) (record.Result, error) {
			if !s.Confirmed {
				return external.JSON(0, "declined")
			}
			if err := tx.Put("orders", "17", []byte("paid")); err != nil {
				return record.Result{}, err
			}
			return external.JSON(0, fmt.Sprintf("paid by card %s as %s", s.Answer.Card, s.Reply.Reference))
		},
	})
	payments, err := external.New(shop.Operations(), external.Options{
		Providers: map[string]external.Provider{"visa": visa}, Poll: 20 * time.Millisecond,
	}, pay.Step())
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- payments.Run(ctx) }()

	order := refrain.Call{
		Contract: refrain.Contract{Operation: "orders.create", Schema: "1", ReplayFor: 24 * time.Hour, RememberFor: 30 * 24 * time.Hour},
		Scope:    refrain.Tenant("north"), Key: "order-17",
	}
	for range 2 {
		done, err := external.Do[memstore.Tx, string](ctx, payments, shop, order, 10*time.Second, func(ctx context.Context, tx memstore.Tx) error {
			if err := tx.Put("orders", "17", []byte("pending")); err != nil {
				return err
			}
			_, err := pay.Accept(ctx, tx, visaCharge{Cents: 1250})
			return err
		})
		fmt.Println(done.State, done.Value, err)
	}
	fmt.Println("charges:", len(visa.charged))
	stop()
	fmt.Println(<-ended)
	// Output:
	// confirmed paid by card 4242 as ch_1 <nil>
	// confirmed paid by card 4242 as ch_1 <nil>
	// charges: 1
	// <nil>
}

// What no machine can know, a person decides, with a name and a reason.
func ExampleRunner_Decide() {
	ctx := context.Background()
	shop := memstore.New(memstore.Options{})
	runner, err := external.New(shop.Operations(), external.Options{
		Providers: map[string]external.Provider{"fax": &visaBank{}},
	}, external.Step[memstore.Tx]{Name: "fax", Provider: "fax"})
	if err != nil {
		log.Fatal(err)
	}
	var fax operation.Operation
	err = shop.Update(ctx, func(tx memstore.Tx) (err error) {
		fax, err = runner.Accept(ctx, tx, external.Intent{Step: "fax", Detached: true})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	by := external.By{Who: "support", Why: "the customer called instead"}
	err = runner.Decide(ctx, by, fax.Ref, operation.Reply{End: operation.Confirmed})
	fmt.Println("nothing was sent, so nothing can be confirmed:", err != nil)
	fmt.Println(runner.Withdraw(ctx, by, fax.Ref))
	fmt.Println(errors.Is(runner.Resume(ctx, by, fax.Ref), operation.ErrSettled))
	// Output:
	// nothing was sent, so nothing can be confirmed: true
	// <nil>
	// true
}
