package external_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/record"
)

// depot is a service with one external step, "ship", that the carrier performs.
// Everything in it is in a bubble, whose clock is the only one that passes.
type depot struct {
	t         *testing.T
	db        *memstore.DB
	store     *faulty
	carrier   *carrier
	seen      *witness
	options   external.Options
	step      external.Step[memstore.Tx]
	runner    *external.Runner[memstore.Tx]
	wrong     time.Duration // how much later than ours the store's clock is
	partition string        // of what ship accepts
	doors     []func()      // opened at the end, so that nothing hangs there
}

// door returns a channel that is closed by open, at the latest when the test ends.
func (d *depot) door() (closed chan struct{}, open func()) {
	closed = make(chan struct{})
	open = sync.OnceFunc(func() { close(closed) })
	d.doors = append(d.doors, open)
	return closed, open
}

var shipments = refrain.Contract{
	Operation: "shipments.create", Schema: "1", ReplayFor: 24 * time.Hour, RememberFor: 30 * 24 * time.Hour, Wait: -1,
}

// bubble runs test in a synctest bubble with a depot that is not running yet.
func bubble(t *testing.T, test func(t *testing.T, d *depot)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &depot{t: t, carrier: &carrier{terms: safe}, seen: &witness{}}
		d.db = memstore.New(memstore.Options{Now: func() time.Time { return time.Now().Add(d.wrong) }})
		d.store = &faulty{Store: d.db.Operations()}
		d.options = external.Options{Observer: d.seen}
		d.step = external.Step[memstore.Tx]{Name: "ship", Provider: "carrier", Settle: shipped}
		test(t, d)
	})
}

// pass lets time pass, and whoever acts then come to rest.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// safe are the terms of a carrier that recognises keys for a day.
var safe = operation.Terms{Dedupes: true, DedupesFor: 24 * time.Hour}

// shipped writes the business row and the answer.
func shipped(ctx context.Context, tx memstore.Tx, s external.Settled) (record.Result, error) {
	word := "shipped"
	if !s.Confirmed {
		word = "refused"
	}
	if err := tx.Put("shipments", s.Operation.Action, []byte(word)); err != nil {
		return record.Result{}, err
	}
	return external.JSON(0, word+" "+s.Reply.Reference)
}

// another makes a runner on the depot's store, as another process would.
func (d *depot) another(more ...external.Step[memstore.Tx]) *external.Runner[memstore.Tx] {
	d.t.Helper()
	return d.anotherOn(d.store, more...)
}

func (d *depot) anotherOn(store operation.Store[memstore.Tx], more ...external.Step[memstore.Tx]) *external.Runner[memstore.Tx] {
	d.t.Helper()
	o := d.options
	o.Providers = map[string]external.Provider{"carrier": d.carrier}
	r, err := external.New(store, o, append([]external.Step[memstore.Tx]{d.step}, more...)...)
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

// start runs the depot's runner until the test or stop ends.
func (d *depot) start(more ...external.Step[memstore.Tx]) (stop func() error) {
	d.t.Helper()
	d.runner = d.another(more...)
	return d.run(d.runner)
}

func (d *depot) run(r *external.Runner[memstore.Tx]) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	synctest.Wait()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	d.t.Cleanup(func() {
		for _, open := range d.doors {
			open()
		}
		d.store.set(nil, nil)
		if err := stop(); err != nil {
			d.t.Logf("Run: %v", err)
		}
	})
	return stop
}

// ship is the client's call: its outcome, or why there is none yet.
func (d *depot) ship(key string) (refrain.Done[string], error) {
	return refrain.Do(context.Background(), d.db, refrain.Call{Contract: shipments, Scope: refrain.Tenant("north"), Key: key},
		func(ctx context.Context, tx memstore.Tx) (string, error) {
			_, err := d.runner.Accept(ctx, tx, external.Intent{Step: "ship", Partition: d.partition, Input: []byte("parcel " + key)})
			return "", err
		})
}

// accept ships and returns the operation that the action waits for.
func (d *depot) accept(key string) operation.Operation {
	d.t.Helper()
	_, err := d.ship(key)
	var e *refrain.Error
	if !errors.As(err, &e) || e.State != record.Accepted && e.State != record.Submitted {
		d.t.Fatalf("accepting %s: %v", key, err)
	}
	return d.of(e.Ref)
}

func (d *depot) of(action string) operation.Operation {
	d.t.Helper()
	all, err := d.db.Operations().Of(context.Background(), action)
	if err != nil || len(all) == 0 {
		d.t.Fatalf("operations of %s: %v, %v", action, all, err)
	}
	return all[len(all)-1]
}

func (d *depot) load(ref string) operation.Operation {
	d.t.Helper()
	o, _, err := d.db.Operations().Load(context.Background(), ref)
	if err != nil {
		d.t.Fatal(err)
	}
	return o
}

func (d *depot) record(o operation.Operation) record.Record {
	d.t.Helper()
	rec, err := d.db.Find(context.Background(), o.Action)
	if err != nil {
		d.t.Fatal(err)
	}
	return rec
}

// want checks the operation's state and that its record mirrors it.
func (d *depot) want(ref string, state record.State) operation.Operation {
	d.t.Helper()
	o := d.load(ref)
	if o.State != state {
		d.t.Fatalf("the operation is %s (%s), want %s", o.State, o.Why, state)
	}
	if o.Action != "" {
		if rec := d.record(o); rec.State != state {
			d.t.Fatalf("the record is %s, want %s", rec.State, state)
		}
	}
	return o
}

// carrier is a provider whose answers the test writes.
type carrier struct {
	terms  operation.Terms
	answer func(ctx context.Context, n int, s external.Submission) operation.Reply
	query  func(ctx context.Context, n int) (operation.Finding, error)

	mu    sync.Mutex
	calls []external.Submission // that passed the gate
	tries int
	asked int
}

func (c *carrier) Terms() operation.Terms { return c.terms }

func (c *carrier) Submit(ctx context.Context, s external.Submission) operation.Reply {
	c.mu.Lock()
	c.tries++
	n, answer := c.tries, c.answer
	c.mu.Unlock()
	if answer != nil {
		return answer(ctx, n, s)
	}
	return c.send(s)
}

// from now on these are its answers.
func (c *carrier) from(answer func(ctx context.Context, n int, s external.Submission) operation.Reply, query func(ctx context.Context, n int) (operation.Finding, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer, c.query = answer, query
}

// send is what happens where nothing is scripted: it arrives and is confirmed.
func (c *carrier) send(s external.Submission) operation.Reply {
	if reply, refused := c.arrive(s); refused {
		return reply
	}
	return confirmed("track-" + s.Key[:8])
}

// arrive passes the gate and notes the call.
func (c *carrier) arrive(s external.Submission) (reply operation.Reply, refused bool) {
	if err := s.Gate(); err != nil {
		return operation.Reply{End: operation.NotSent, Note: err.Error()}, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, s)
	return operation.Reply{}, false
}

func (c *carrier) Query(ctx context.Context, _ external.Submission) (operation.Finding, error) {
	c.mu.Lock()
	c.asked++
	n, query := c.asked, c.query
	c.mu.Unlock()
	if query == nil {
		return operation.Finding{}, errors.New("nobody is there")
	}
	return query(ctx, n)
}

func (c *carrier) count() (calls, asked int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls), c.asked
}

func confirmed(reference string) operation.Reply {
	return operation.Reply{End: operation.Confirmed, Reference: reference}
}

var lost = operation.Reply{End: operation.Lost, Note: "timeout"}

// witness keeps what a runner told.
type witness struct {
	mu     sync.Mutex
	events []external.Event
}

func (w *witness) Observe(_ context.Context, e external.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

func (w *witness) count(kind external.Kind) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

func (w *witness) all() []external.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.events)
}

func (w *witness) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := ""
	for _, e := range w.events {
		s += fmt.Sprintf("%s %s n=%d end=%s why=%q err=%v\n", e.Kind, e.State, e.Attempt, e.End, e.Why, e.Err)
	}
	return s
}

// faulty is a store whose writes the test lets fail.
type faulty struct {
	operation.Store[memstore.Tx]
	mu     sync.Mutex
	change func() error // before a Change or a Take; nil or nil error: it goes on
	after  func() error // after a Change that happened
	unread error        // what Take and List tell beside the rest
	takes  int
}

var errDown = errors.New("the database is gone")

func (f *faulty) set(change, after func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.change, f.after = change, after
}

func (f *faulty) hooks() (change, after func() error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.change, f.after
}

func (f *faulty) Change(ctx context.Context, ref string, decide func(context.Context, memstore.Tx, operation.Seen) (operation.Edit, error)) error {
	before, after := f.hooks()
	if before != nil {
		if err := before(); err != nil {
			return err
		}
	}
	if err := f.Store.Change(ctx, ref, decide); err != nil || after == nil {
		return err
	}
	return after()
}

func (f *faulty) Take(ctx context.Context, provider string, limit int, decide func(operation.Seen) operation.Edit) ([]operation.Operation, time.Time, error) {
	f.mu.Lock()
	f.takes++
	unread := f.unread
	f.mu.Unlock()
	if before, _ := f.hooks(); before != nil {
		if err := before(); err != nil {
			return nil, time.Time{}, err
		}
	}
	taken, now, err := f.Store.Take(ctx, provider, limit, decide)
	return taken, now, errors.Join(err, unread)
}

func (f *faulty) List(ctx context.Context, like operation.Operation, limit int) ([]operation.Operation, error) {
	f.mu.Lock()
	unread := f.unread
	f.mu.Unlock()
	all, err := f.Store.List(ctx, like, limit)
	return all, errors.Join(err, unread)
}

func (f *faulty) taken() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.takes
}

func ends(o operation.Operation) (ends []operation.End) {
	for _, a := range o.Attempts {
		ends = append(ends, a.End)
	}
	return ends
}

func wantEnds(t *testing.T, o operation.Operation, want ...operation.End) {
	t.Helper()
	if !slices.Equal(ends(o), want) {
		t.Fatalf("attempts %v, want %v", ends(o), want)
	}
}
