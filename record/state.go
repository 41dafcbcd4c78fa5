package record

// State is what is known about an action. Machines never change a final state.
type State uint8

const (
	// Accepted: durable intent, no attempt under way.
	Accepted State = iota + 1
	// Submitted: an attempt is under way until its lease ends.
	Submitted
	// Unknown: an attempt ended and nobody knows with what outcome.
	Unknown
	// Confirmed: the effect happened. Final.
	Confirmed
	// Rejected: the action was refused and had no effect. Final.
	Rejected
)

// Final reports whether s is Confirmed or Rejected.
func (s State) Final() bool { return s == Confirmed || s == Rejected }

func (s State) String() string {
	switch s {
	case Accepted:
		return "accepted"
	case Submitted:
		return "submitted"
	case Unknown:
		return "unknown"
	case Confirmed:
		return "confirmed"
	case Rejected:
		return "rejected"
	}
	return "invalid"
}

// ParseState is the inverse of String; ok is false for any other text.
func ParseState(s string) (state State, ok bool) {
	for st := Accepted; st <= Rejected; st++ {
		if st.String() == s {
			return st, true
		}
	}
	return 0, false
}
