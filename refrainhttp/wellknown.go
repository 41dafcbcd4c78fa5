package refrainhttp

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

// WellKnownPath is where clients look for the published contracts.
const WellKnownPath = "/.well-known/idempotency"

// Horizons is what a store may offer beside its methods: the latest birth of
// any final record of the operation it has forgotten, zero if none.
type Horizons interface {
	Horizon(ctx context.Context, operation string) (time.Time, error)
}

// WellKnown publishes the contracts, the decision table and, where the store
// implements [Horizons], the horizon of each operation, as JSON. It is public:
// it needs no principal and shows nothing of anybody's records. The store may
// be nil. It panics at start-up on an invalid contract.
func WellKnown(guard Guard, store record.Store, contracts ...refrain.Contract) http.Handler {
	for _, c := range contracts {
		if err := c.Validate(); err != nil {
			panic(err)
		}
	}
	horizons, _ := store.(Horizons)
	return &wellKnown{guard.withDefaults(), horizons, slices.Clone(contracts)}
}

type wellKnown struct {
	Guard
	horizons  Horizons
	contracts []refrain.Contract
}

type wellKnownDoc struct {
	Key struct {
		Header    string `json:"header"`
		Strict    bool   `json:"strict"`
		MaxLength int    `json:"max_length"`
	} `json:"key"`
	ReplayedHeader string               `json:"replayed_header"`
	Status         string               `json:"status,omitempty"`
	Problems       string               `json:"problems"`
	Contracts      []refrain.Contract   `json:"contracts"`
	Horizons       map[string]time.Time `json:"horizons,omitempty"`
	// Covered are the keys of each operation whose late retries, after the end of
	// its memory, are refused: all, timed or none.
	Covered   map[string]string `json:"covered"`
	Decisions []decisionDoc     `json:"decisions"`
}

func (k *wellKnown) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !readOnly(w, r) {
		return
	}
	var doc wellKnownDoc
	doc.Key.Header, doc.Key.Strict, doc.Key.MaxLength = k.Header, k.Strict, record.MaxKey
	doc.ReplayedHeader, doc.Status, doc.Problems = k.ReplayedHeader, k.StatusPath, k.ProblemBase
	doc.Contracts, doc.Decisions = k.contracts, decisions
	doc.Covered = make(map[string]string)
	for _, c := range k.contracts {
		doc.Covered[c.Operation] = covered(c.KeyTime)
	}
	if k.horizons != nil {
		doc.Horizons = make(map[string]time.Time)
		for _, c := range k.contracts {
			horizon, err := k.horizons.Horizon(r.Context(), c.Operation)
			if err != nil {
				e := refusal(record.Unavailable(err))
				k.problem(w, string(e.Problem), problemDoc{
					Title: e.Problem.Title(), Status: e.Problem.Status(), Detail: "The horizons could not be read.", Retryable: true,
				}, e.RetryAfter)
				return
			}
			if !horizon.IsZero() {
				doc.Horizons[c.Operation] = horizon.UTC()
			}
		}
	}
	k.write(w, http.StatusOK, jsonType, doc)
}

// covered says for which keys the horizon tells a late retry: a key without a time
// runs again after the memory has ended.
func covered(kt refrain.KeyTime) string {
	switch kt {
	case refrain.KeyTimeRequired:
		return "all"
	case refrain.KeyTimeNone:
		return "none"
	}
	return "timed"
}

// decisionDoc is one row of the published decision table.
type decisionDoc struct {
	Row       string `json:"row"`
	When      string `json:"when"`
	Status    int    `json:"status,omitempty"` // absent: the handler's
	Problem   string `json:"problem,omitempty"`
	Retryable bool   `json:"retryable"`
	Effect    string `json:"effect"` // does the effect run for this request?
}

// decisions summarises the decision table for client authors.
var decisions = func() []decisionDoc {
	refused := func(row, when string, p record.Problem) decisionDoc {
		return decisionDoc{row, when, p.Status(), string(p), p.Retryable(), "no"}
	}
	lost := refused("10", "the answer to COMMIT was lost", record.CommitUnknown)
	lost.Effect = "unknown"
	return []decisionDoc{
		{Row: "1", When: "the key is new", Effect: "yes"},
		refused("2", "the key's own time is not later than what was forgotten or lost, or it has none while records may have been lost", record.TooLate),
		refused("2b", "the key's own time lies in the future", record.KeyFromFuture),
		refused("2c", "the store is under review after a restore, and the key's own time is too near to it", record.Recovering),
		{Row: "3", When: "same request, result kept: replay", Effect: "no"},
		refused("4", "another request", record.KeyReused),
		refused("5", "same request, result no longer kept", record.ResultGone),
		refused("6", "the first request has not finished", record.InProgress),
		{"6b", "unfinished, and the contract is async", http.StatusAccepted, "", true, "no"},
		refused("7", "the outcome is unknown", record.OutcomeUnknown),
		refused("7", "the outcome is disputed", record.OutcomeDisputed),
		{Row: "8", When: "the memory has ended: as row 2 for a key with a time, else as row 1", Effect: "as there"},
		refused("9", "the store cannot be asked", record.StoreUnavailable),
		refused("9", "the contract is being changed", record.ContractChanged),
		lost,
		refused("11", "no key where one is required", record.KeyMissing),
		refused("11", "a malformed key", record.KeyInvalid),
		refused("12", "no verified caller", record.PrincipalMissing),
		refused("12", "a caller that may not do this", record.Forbidden),
		refused("12", "the caller cannot be verified now", record.PrincipalUnproven),
		refused("13", "the body is too large", record.BodyTooLarge),
		refused("13", "the body cannot be compared", record.BodyNotCanonical),
		refused("14", "the action ran out of time and was rolled back", record.NotExecuted),
		refused("15", "the answer was too large and rolled back", record.ResponseTooLarge),
		refused("15", "the answer was not declared and rolled back", record.AnswerUndeclared),
		refused("15", "the answer was a stream and rolled back", record.NotRecordable),
		refused("16", "the record cannot be read", record.RecordUnreadable),
	}
}()
