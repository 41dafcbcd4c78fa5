package outbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/refrain-dev/refrain/operation"
)

// Message is what is delivered.
type Message struct {
	// ID is what receivers recognise a repeated delivery by: 1 to 255 bytes of
	// visible ASCII without a dot, which webhook signatures need. Empty means an
	// id made of the operation's ref.
	ID string
	// Topic says what happened, such as "order.created"; at most 255 bytes of UTF-8
	// without control characters.
	Topic string
	// Partition orders: messages of one sink and partition are delivered in the
	// order of their insertion, each after the one before it was delivered or
	// parked. "" means no order. At most 255 bytes of UTF-8 without a NUL.
	Partition string
	// Header travels beside the payload where the sink has a place for it. Names are
	// tokens of HTTP, no two the same but for case; values are UTF-8 without control
	// characters and without blanks around them.
	Header map[string]string
	// Payload is delivered byte for byte.
	Payload []byte
}

// Validate names the field that cannot be published, because some sink would change
// it or could never send it.
func (m Message) Validate() error {
	switch {
	case len(m.ID) > operation.MaxKey || strings.ContainsFunc(m.ID, func(r rune) bool { return r <= ' ' || r > '~' || r == '.' }):
		return errors.New("outbox: Message.ID is visible ASCII without a dot, at most 255 bytes")
	case len(m.Topic) > operation.MaxKey || !plain(m.Topic):
		return errors.New("outbox: Message.Topic has at most 255 bytes of UTF-8 without control characters")
	case len(m.Partition) > operation.MaxKey || !utf8.ValidString(m.Partition) || strings.Contains(m.Partition, "\x00"):
		return errors.New("outbox: Message.Partition has at most 255 bytes of UTF-8 without a NUL")
	}
	names := make(map[string]bool, len(m.Header))
	for name, value := range m.Header {
		switch folded := strings.ToLower(name); {
		case !token(name):
			return errors.New("outbox: a name in Message.Header is no token of HTTP")
		case names[folded]:
			return errors.New("outbox: two names in Message.Header differ in case alone")
		case !plain(value) || strings.Trim(value, " ") != value:
			return fmt.Errorf("outbox: Message.Header[%q] must be UTF-8 without control characters, and without blanks around it", name)
		default:
			names[folded] = true
		}
	}
	return nil
}

// plain reports text that every sink carries as it is.
func plain(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// token reports a name that a field of HTTP may have (RFC 9110 §5.6.2).
func token(name string) bool {
	const marks = "!#$%&'*+-.^_`|~"
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r > '~' || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(marks, r)
	})
}

// envelope is a message as an operation's input.
type envelope struct {
	ID      string            `json:"id,omitempty"`
	Topic   string            `json:"topic,omitempty"`
	Header  map[string]string `json:"header,omitempty"`
	Payload []byte            `json:"payload"`
}

func seal(m Message) ([]byte, error) {
	input, err := json.Marshal(envelope{m.ID, m.Topic, m.Header, m.Payload})
	if err != nil {
		return nil, fmt.Errorf("outbox: %w", err)
	}
	if len(input) > operation.MaxInput {
		return nil, fmt.Errorf("outbox: the message is kept in %d bytes, %d are allowed", len(input), operation.MaxInput)
	}
	return input, nil
}

func unseal(input []byte, ref string) (Message, error) {
	var e envelope
	if err := json.Unmarshal(input, &e); err != nil {
		return Message{}, fmt.Errorf("outbox: not a message: %w", err)
	}
	m := Message{ID: e.ID, Topic: e.Topic, Header: e.Header, Payload: e.Payload}
	if m.ID == "" {
		m.ID = "msg_" + strings.TrimPrefix(ref, "op_")
	}
	return m, nil
}
