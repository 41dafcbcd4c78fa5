package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/outbox"
	"github.com/refrain-dev/refrain/record"
)

// post is an outbox in memory, with a new runner for each run.
type post struct {
	outbox.Outbox[memstore.Tx]
	db     *memstore.DB
	runner func() *external.Runner[memstore.Tx]
}

func newPost(t *testing.T, sink outbox.Sink, pace operation.Pace) *post {
	t.Helper()
	db := memstore.New(memstore.Options{})
	step := outbox.Step[memstore.Tx]("sink")
	if pace != (operation.Pace{}) {
		step.Pace = pace
	}
	runner := func() *external.Runner[memstore.Tx] {
		r, err := external.New(db.Operations(), external.Options{
			Providers: map[string]external.Provider{"sink": outbox.Provider(sink)}, BreakAfter: -1,
		}, step)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	return &post{outbox.To(runner(), "sink"), db, runner}
}

// publish sends messages, each in a transaction of its own.
func (p *post) publish(t *testing.T, messages ...outbox.Message) (refs []string) {
	t.Helper()
	for _, m := range messages {
		err := p.db.Update(t.Context(), func(tx memstore.Tx) error {
			ref, err := p.Publish(t.Context(), tx, m)
			refs = append(refs, ref)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return refs
}

// run runs the runner for d of the bubble's time.
func (p *post) run(t *testing.T, d time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := p.runner().Run(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// ledger keeps what was delivered.
type ledger struct {
	mu   sync.Mutex
	took []outbox.Delivery
}

func (l *ledger) take(d outbox.Delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, d)
}

func (l *ledger) payloads() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for _, d := range l.took {
		all = append(all, string(d.Payload))
	}
	return strings.Join(all, " ")
}

// A message is delivered if its transaction commits, and gone if it does not.
func TestPublishIsTransactional(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		p := newPost(t, outbox.Func(func(_ context.Context, d outbox.Delivery) error { l.take(d); return nil }), operation.Pace{})
		rolledBack := errors.New("no")
		err := p.db.Update(t.Context(), func(tx memstore.Tx) error {
			if _, err := p.Publish(t.Context(), tx, outbox.Message{Payload: []byte("never")}); err != nil {
				return err
			}
			return rolledBack
		})
		if !errors.Is(err, rolledBack) {
			t.Fatal(err)
		}
		ref := p.publish(t, outbox.Message{Topic: "order.created", Header: map[string]string{"a": "b"}, Payload: []byte("once")})[0]
		p.run(t, time.Minute)
		if l.payloads() != "once" {
			t.Fatalf("delivered %q", l.payloads())
		}
		d := l.took[0]
		if d.ID != "msg_"+strings.TrimPrefix(ref, "op_") || d.Topic != "order.created" || d.Header["a"] != "b" || d.Attempt != 1 || d.Accepted.IsZero() {
			t.Errorf("delivery = %+v", d)
		}
		o, _, err := p.db.Operations().Load(t.Context(), ref)
		if err != nil || o.State != record.Confirmed || o.Answer.Reference != d.ID {
			t.Errorf("%+v, %v", o, err)
		}
	})
}

// A receiver that fails for a while gets every message in the end, under the
// same id each time, and those of one partition in their order.
func TestDeliveredInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		up := time.Now().Add(10 * time.Minute)
		ids := map[string]map[string]bool{}
		p := newPost(t, outbox.Func(func(_ context.Context, d outbox.Delivery) error {
			l.mu.Lock()
			if ids[string(d.Payload)] == nil {
				ids[string(d.Payload)] = map[string]bool{}
			}
			ids[string(d.Payload)][d.ID] = true
			l.mu.Unlock()
			if time.Now().Before(up) {
				return errors.New("not now")
			}
			l.take(d)
			return nil
		}), operation.Pace{})
		for n := range 5 {
			p.publish(t,
				outbox.Message{Partition: "a", Payload: fmt.Appendf(nil, "a%d", n)},
				outbox.Message{Partition: "b", Payload: fmt.Appendf(nil, "b%d", n)})
		}
		p.run(t, time.Hour)
		order := map[byte]string{}
		for _, d := range l.took {
			order[d.Payload[0]] += string(d.Payload[1:])
			if d.Payload[1] == '0' && d.Attempt < 2 {
				t.Errorf("%s arrived at attempt %d", d.Payload, d.Attempt)
			}
		}
		if order['a'] != "01234" || order['b'] != "01234" {
			t.Errorf("order %q %q", order['a'], order['b'])
		}
		for payload, of := range ids {
			if len(of) != 1 {
				t.Errorf("%s was sent under %d ids", payload, len(of))
			}
		}
	})
}

// A message that cannot be delivered is parked and does not hold up those behind
// it; a person can have it delivered again.
func TestPoisonIsParked(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		pace operation.Pace
	}{
		"by the sink":   {fmt.Errorf("%w: no such topic", outbox.ErrPark), operation.Pace{}},
		"by the budget": {errors.New("not now"), operation.Pace{First: time.Second, Most: time.Second, Budget: 4}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var l ledger
			healed := false
			p := newPost(t, outbox.Func(func(_ context.Context, d outbox.Delivery) error {
				if string(d.Payload) == "poison" && !healed {
					return c.err
				}
				l.take(d)
				return nil
			}), c.pace)
			refs := p.publish(t, outbox.Message{Partition: "a", Payload: []byte("poison")}, outbox.Message{Partition: "a", Payload: []byte("next")})
			p.run(t, time.Minute)
			o, now, err := p.db.Operations().Load(t.Context(), refs[0])
			if l.payloads() != "next" || err != nil || o.State.Final() || !o.Due.IsZero() || !strings.Contains(o.Why, "parked") {
				t.Fatalf("%s: delivered %q, %+v, %v", name, l.payloads(), o, err)
			}
			healed = true
			err = p.db.Operations().Change(t.Context(), refs[0], func(_ context.Context, _ memstore.Tx, seen operation.Seen) (operation.Edit, error) {
				next, err := seen.Operation.Resume(operation.Terms{AtLeastOnce: true}, now)
				return operation.Edit{Put: &next}, err
			})
			if err != nil {
				t.Fatal(err)
			}
			p.run(t, time.Minute)
			if l.payloads() != "next poison" {
				t.Errorf("%s: delivered %q", name, l.payloads())
			}
		})
	}
}

// What a sink asks for is heard.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		p := newPost(t, outbox.Func(func(context.Context, outbox.Delivery) error {
			if at = append(at, time.Now()); len(at) == 1 {
				return &outbox.RetryAfter{Err: errors.New("later"), After: 10 * time.Minute}
			}
			return nil
		}), operation.Pace{})
		p.publish(t, outbox.Message{})
		p.run(t, time.Hour)
		if len(at) != 2 || at[1].Sub(at[0]) < 10*time.Minute || at[1].Sub(at[0]) > 12*time.Minute {
			t.Errorf("attempts at %v", at)
		}
	})
}

// TestPublishRefuses: what cannot be delivered as it is to every sink is refused
// where it is published, by the name of the member, and nothing is kept.
func TestPublishRefuses(t *testing.T) {
	p := newPost(t, outbox.Func(func(context.Context, outbox.Delivery) error { return nil }), operation.Pace{})
	header := func(name, value string) outbox.Message {
		return outbox.Message{Header: map[string]string{name: value}}
	}
	for name, c := range map[string]struct {
		m      outbox.Message
		member string
	}{
		"dotted id":          {outbox.Message{ID: "a.b"}, "Message.ID"},
		"blank in id":        {outbox.Message{ID: "a b"}, "Message.ID"},
		"long id":            {outbox.Message{ID: strings.Repeat("a", 256)}, "Message.ID"},
		"long topic":         {outbox.Message{Topic: strings.Repeat("a", 256)}, "Message.Topic"},
		"topic, no UTF-8":    {outbox.Message{Topic: "secret\xff"}, "Message.Topic"},
		"topic, a line":      {outbox.Message{Topic: "secret\n"}, "Message.Topic"},
		"a NUL":              {outbox.Message{Partition: "secret\x00"}, "Message.Partition"},
		"no UTF-8":           {outbox.Message{Partition: "secret\xff"}, "Message.Partition"},
		"long partition":     {outbox.Message{Partition: strings.Repeat("a", 256)}, "Message.Partition"},
		"large":              {outbox.Message{Payload: make([]byte, operation.MaxInput)}, "bytes"},
		"no name":            {header("", "secret"), "Message.Header"},
		"blank in name":      {header("secret a", "a"), "Message.Header"},
		"colon in name":      {header("secret:", "a"), "Message.Header"},
		"name, no ASCII":     {header("secrét", "a"), "Message.Header"},
		"name, no UTF-8":     {header("secret\xff", "a"), "Message.Header"},
		"value, no UTF-8":    {header("X-Kind", "secret\xff"), `Message.Header["X-Kind"]`},
		"value, a line":      {header("X-Kind", "secret\r\nHost: a"), `Message.Header["X-Kind"]`},
		"value, a NUL":       {header("X-Kind", "secret\x00"), `Message.Header["X-Kind"]`},
		"value, DEL":         {header("X-Kind", "secret\x7f"), `Message.Header["X-Kind"]`},
		"blank before value": {header("X-Kind", " secret"), `Message.Header["X-Kind"]`},
		"blank behind value": {header("X-Kind", "secret "), `Message.Header["X-Kind"]`},
		"one name twice":     {outbox.Message{Header: map[string]string{"X-Kind": "secret", "x-kind": "b"}}, "Message.Header"},
	} {
		err := p.db.Update(t.Context(), func(tx memstore.Tx) error {
			_, err := p.Publish(t.Context(), tx, c.m)
			return err
		})
		if err == nil || !strings.Contains(err.Error(), c.member) || strings.Contains(err.Error(), "secr") {
			t.Errorf("%s: %v", name, err)
		}
	}
	list, err := p.db.Operations().List(t.Context(), operation.Operation{}, 0)
	if err != nil || len(list) != 0 {
		t.Errorf("%d messages kept, %v", len(list), err)
	}
}

// TestWhatIsPublishedArrives: everything else is delivered as it was, by HTTP, too.
func TestWhatIsPublishedArrives(t *testing.T) {
	want := outbox.Message{
		Topic: "Bestellung/größer als 1 000 €", Payload: []byte("a\x00\xff"),
		Header: map[string]string{"X-Kind": "größe 1", "!#$%&'*+-.^_`|~": "", "x-1": `"a", b; c`},
	}
	var l ledger
	synctest.Test(t, func(t *testing.T) {
		p := newPost(t, outbox.Func(func(_ context.Context, d outbox.Delivery) error { l.take(d); return nil }), operation.Pace{})
		p.publish(t, want)
		p.run(t, time.Minute)
	})
	if len(l.took) != 1 || l.took[0].Topic != want.Topic {
		t.Fatalf("delivered %+v", l.took)
	}
	url, came := endpoint(t)
	if err := (outbox.Webhook{Endpoint: to(url, secret("a"))}).Deliver(t.Context(), l.took[0]); err != nil {
		t.Fatal(err)
	}
	got := came()[0]
	if got.body != string(want.Payload) {
		t.Errorf("payload %q", got.body)
	}
	for name, value := range want.Header {
		if got.header.Get(name) != value {
			t.Errorf("%s: %q, want %q", name, got.header.Get(name), value)
		}
	}
}
