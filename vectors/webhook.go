package vectors

// Webhook is a signed delivery. Its Ours is empty: no verifier has been held
// against these entries.
type Webhook struct {
	Entry
	Scheme       string            `json:"scheme"`
	Secret       string            `json:"secret"`
	PrivateKey   string            `json:"private_key"`
	PublicKey    string            `json:"public_key"`
	ID           string            `json:"id"`
	Timestamp    int64             `json:"timestamp"` // Unix seconds
	Now          int64             `json:"now"`       // Unix seconds at the receiver
	Body         string            `json:"body"`
	Headers      map[string]string `json:"headers"`
	Valid        bool              `json:"valid"`
	RejectReason string            `json:"reject_reason"`
}

// Webhooks returns the deliveries.
func Webhooks() []Webhook { return load[Webhook]("webhooks.json") }
