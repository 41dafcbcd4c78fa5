//go:build linux

// Package brokers proves that outbox messages reach real brokers through
// Watermill: at least once, with stable ids, in the order of their partition, also
// when the broker does not take them for a while.
package brokers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill-nats/v2/pkg/nats"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/refrain-dev/refrain/external"
	"github.com/refrain-dev/refrain/operation"
	"github.com/refrain-dev/refrain/outbox"
	"github.com/refrain-dev/refrain/proof/servers"
	"github.com/refrain-dev/refrain/sqlite"
	sink "github.com/refrain-dev/refrain/watermill"
)

// broker makes the two ends of one topic.
type broker func(t *testing.T) (message.Publisher, message.Subscriber)

func TestBrokers(t *testing.T) {
	t.Run("RabbitMQ", func(t *testing.T) { delivers(t, rabbit) })
	t.Run("NATS JetStream", func(t *testing.T) { delivers(t, jetstream) })
}

const (
	partitions = 5
	each       = 20
	refused    = 7 // publishings the broker does not take at first
)

func delivers(t *testing.T, connect broker) {
	publisher, subscriber := connect(t)
	topic := fmt.Sprintf("refrain-%d", time.Now().UnixNano())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if s, ok := subscriber.(message.SubscribeInitializer); ok {
		if err := s.SubscribeInitialize(topic); err != nil {
			t.Fatal(err)
		}
	}
	arrived, err := subscriber.Subscribe(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}

	db, err := sqlite.Open(filepath.Join(t.TempDir(), "shop.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()
	if err := db.Migrate(ctx); err != nil {
		t.Fatal(err)
	}
	step := outbox.Step[sqlite.Tx]("broker")
	step.Pace = operation.Pace{First: time.Millisecond, Most: 10 * time.Millisecond}
	runner, err := external.New(db.Operations(), external.Options{
		Providers: map[string]external.Provider{
			"broker": outbox.Provider(sink.Sink{Publisher: &moody{Publisher: publisher}}),
		},
	}, step)
	if err != nil {
		t.Fatal(err)
	}
	box := outbox.To(runner, "broker")
	sent := map[string]string{} // payload by id
	for n := range each {
		err := db.Update(ctx, func(ctx context.Context, tx sqlite.Tx) error {
			for p := range partitions {
				id, payload := fmt.Sprintf("event-%d-%d", p, n), fmt.Sprintf(`{"partition":%d,"n":%d}`, p, n)
				sent[id] = payload
				_, err := box.Publish(ctx, tx, outbox.Message{
					ID: id, Topic: topic, Partition: fmt.Sprint(p), Payload: []byte(payload), Header: map[string]string{"kind": "order"},
				})
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(running) }()

	seen, next := map[string]int{}, map[string]int{}
	for len(seen) < len(sent) {
		select {
		case m := <-arrived:
			if m == nil {
				t.Fatalf("the subscription ended after %d of %d messages", len(seen), len(sent))
			}
			m.Ack()
			if sent[m.UUID] != string(m.Payload) || m.Metadata.Get("kind") != "order" || m.Metadata.Get(sink.MetadataID) != m.UUID {
				t.Fatalf("message %q = %q %v, sent %q", m.UUID, m.Payload, m.Metadata, sent[m.UUID])
			}
			if seen[m.UUID]++; seen[m.UUID] > 1 {
				continue // at least once
			}
			var p, n int
			if _, err := fmt.Sscanf(m.UUID, "event-%d-%d", &p, &n); err != nil {
				t.Fatal(err)
			}
			if n != next[fmt.Sprint(p)] {
				t.Errorf("partition %d: message %d came when %d was next", p, n, next[fmt.Sprint(p)])
			}
			next[fmt.Sprint(p)] = n + 1
		case <-ctx.Done():
			t.Fatalf("%d of %d messages arrived", len(seen), len(sent))
		}
	}
	stop()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// moody does not take the first publishings.
type moody struct {
	message.Publisher
	tries atomic.Int32
}

func (m *moody) Publish(topic string, messages ...*message.Message) error {
	if m.tries.Add(1) <= refused {
		return errors.New("the broker does not answer")
	}
	return m.Publisher.Publish(topic, messages...)
}

func rabbit(t *testing.T) (message.Publisher, message.Subscriber) {
	at := address(t, "REFRAIN_TEST_RABBITMQ", "amqp://guest:guest@127.0.0.1:5672/")
	config := amqp.NewDurableQueueConfig(at)
	config.Publish.ConfirmDelivery = true
	publisher, err := amqp.NewPublisher(config, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	subscriber, err := amqp.NewSubscriber(config, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	closes(t, publisher, subscriber)
	return publisher, subscriber
}

func jetstream(t *testing.T) (message.Publisher, message.Subscriber) {
	at := address(t, "REFRAIN_TEST_NATS", "nats://127.0.0.1:4222")
	stream := nats.JetStreamConfig{AutoProvision: true, TrackMsgId: true}
	publisher, err := nats.NewPublisher(nats.PublisherConfig{URL: at, JetStream: stream}, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	subscriber, err := nats.NewSubscriber(nats.SubscriberConfig{URL: at, JetStream: stream}, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	closes(t, publisher, subscriber)
	return publisher, subscriber
}

// address is where the broker is; without one that answers the test is skipped,
// or fails where servers are required.
func address(t *testing.T, name, otherwise string) string {
	t.Helper()
	at := os.Getenv(name)
	if at == "" {
		at = otherwise
	}
	u, err := url.Parse(at)
	if err != nil {
		t.Fatalf("%s is no URL", name)
	}
	conn, err := net.DialTimeout("tcp", u.Host, 5*time.Second)
	if err != nil {
		servers.Missing(t, "no broker answers at %s (%s)", u.Host, name)
	}
	_ = conn.Close()
	return at
}

func closes(t *testing.T, ends ...interface{ Close() error }) {
	for _, end := range ends {
		t.Cleanup(func() {
			if err := end.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
