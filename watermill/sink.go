// Package watermill sends outbox messages through any broker Watermill has a
// publisher for.
package watermill

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/refrain-dev/refrain/outbox"
)

// Sink delivers outbox messages by a Watermill publisher. A delivery is done when
// Publish returns nil, so the publisher must be one that returns only after the
// broker has taken the message over: with confirms on RabbitMQ, into JetStream on
// NATS. Publish cannot be cancelled by every publisher; it should have a time
// limit of its own, shorter than the runner's lease.
type Sink struct {
	Publisher message.Publisher
	// Topic names the broker's topic for a message; nil means Message.Topic.
	Topic func(m outbox.Message) string
}

// Names of the metadata a message carries beside Message.Header, which they win
// over. The id is also the Watermill message's UUID.
const (
	MetadataID    = "refrain-id"
	MetadataTopic = "refrain-topic"
)

// Deliver implements [outbox.Sink].
func (s Sink) Deliver(ctx context.Context, d outbox.Delivery) error {
	topic := d.Topic
	if s.Topic != nil {
		topic = s.Topic(d.Message)
	}
	if topic == "" {
		return errors.Join(outbox.ErrPark, errors.New("watermill: the message names no topic"))
	}
	m := message.NewMessage(d.ID, d.Payload)
	for name, value := range d.Header {
		m.Metadata.Set(name, value)
	}
	m.Metadata.Set(MetadataID, d.ID)
	m.Metadata.Set(MetadataTopic, d.Topic)
	m.SetContext(ctx)
	return s.Publisher.Publish(topic, m)
}
