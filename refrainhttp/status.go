package refrainhttp

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/record"
)

const jsonType = "application/json"

// statusDoc is what is known of an action. Times are RFC 3339 in UTC; those
// that are not fixed yet are absent.
type statusDoc struct {
	Ref           string     `json:"ref,omitempty"`
	Operation     string     `json:"operation"`
	State         string     `json:"state"`
	Disputed      bool       `json:"disputed,omitempty"`
	CreatedAt     *time.Time `json:"created_at,omitempty"`
	ReplayUntil   *time.Time `json:"replay_until,omitempty"`
	RememberUntil *time.Time `json:"remember_until,omitempty"`
	Effect        string     `json:"effect,omitempty"`
}

// Status answers GET {StatusPath}/{ref}, and asking by key: GET
// {StatusPath}?operation=… with the key's field. It reads, and executes
// nothing. Mount it at StatusPath and at StatusPath + "/".
//
// The caller is verified by the guard's principal function and sees the records
// of its own scope and of the given contracts only; a ref of somebody else, an
// unknown and a malformed one get the same 404. Status panics at start-up
// without Principal, StatusPath, store or contracts.
func Status(guard Guard, store record.Store, contracts ...refrain.Contract) http.Handler {
	if guard.StatusPath == "" || store == nil || len(contracts) == 0 {
		panic("refrainhttp: Status needs Guard.StatusPath, a store and the contracts it answers for")
	}
	operations := make([]string, 0, len(contracts))
	for _, c := range contracts {
		if err := guard.check(c); err != nil {
			panic(err)
		}
		operations = append(operations, c.Operation)
	}
	mounted, err := url.Parse(guard.StatusPath)
	if err != nil {
		panic(fmt.Errorf("refrainhttp: Guard.StatusPath: %w", err))
	}
	return &status{guard.withDefaults(), strings.TrimSuffix(mounted.Path, "/"), store, operations}
}

type status struct {
	Guard
	path       string // of StatusPath, which may be a whole URL
	store      record.Store
	operations []string
}

func (s *status) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !readOnly(w, r) {
		return
	}
	scope, refusal := s.authenticate(r)
	if refusal != nil {
		s.refuse(w, refusal)
		return
	}
	if ref := strings.Trim(strings.TrimPrefix(r.URL.Path, s.path), "/"); ref != "" {
		s.byRef(w, r, scope, ref)
		return
	}
	s.byKey(w, r, scope)
}

func (s *status) byRef(w http.ResponseWriter, r *http.Request, scope refrain.Scope, ref string) {
	if !record.ValidRef(ref) {
		s.notFound(w, noSuchRef)
		return
	}
	rec, err := s.store.Find(r.Context(), ref)
	switch {
	case errors.Is(err, record.ErrNotFound):
		s.notFound(w, noSuchRef)
	case err != nil:
		s.refuse(w, refusal(record.Unavailable(err)))
	case rec.Identity.Scope != scope.String() || !slices.Contains(s.operations, rec.Identity.Operation):
		s.notFound(w, noSuchRef)
	default:
		s.remembered(w, r, &rec)
	}
}

// remembered shows the caller's own record unless its memory has ended by the
// store's clock, which Find does not tell.
func (s *status) remembered(w http.ResponseWriter, r *http.Request, rec *record.Record) {
	_, now, err := s.store.Load(r.Context(), rec.Identity)
	switch {
	case err != nil:
		s.refuse(w, refusal(record.Unavailable(err)))
	case forgotten(rec, now):
		s.notFound(w, noSuchRef)
	default:
		s.show(w, r, rec)
	}
}

// show is the one place where a caller sees a record.
func (s *status) show(w http.ResponseWriter, r *http.Request, rec *record.Record) {
	if !s.may(r, outcomeOf(rec)) {
		s.refuse(w, withheld())
		return
	}
	s.write(w, http.StatusOK, jsonType, describe(rec))
}

func (s *status) byKey(w http.ResponseWriter, r *http.Request, scope refrain.Scope) {
	key, refused := s.key(r, false)
	if refused != nil {
		s.refuse(w, refused)
		return
	}
	operation := r.URL.Query().Get("operation")
	if !slices.Contains(s.operations, operation) {
		s.notFound(w, noSuchKey)
		return
	}
	seen, now, err := s.store.Load(r.Context(), record.Identity{Scope: scope.String(), Operation: operation, Key: key})
	switch {
	case err != nil:
		s.refuse(w, refusal(record.Unavailable(err)))
	case seen.Record != nil && !forgotten(seen.Record, now):
		s.show(w, r, seen.Record)
	case seen.Held:
		w.Header().Set("Retry-After", "1")
		s.write(w, http.StatusOK, jsonType, statusDoc{Operation: operation, State: record.Submitted.String()})
	default:
		s.notFound(w, noSuchKey)
	}
}

func (s *status) refuse(w http.ResponseWriter, e *record.Error) {
	s.problem(w, string(e.Problem), problemDoc{
		Title: e.Problem.Title(), Status: e.Problem.Status(), Detail: detail(e), Retryable: e.Retryable(),
	}, e.RetryAfter)
}

const (
	noSuchRef = "No action with this reference is known to you here."
	noSuchKey = "No action with this key is remembered for you here. That is no evidence that none was started: " +
		"a request may still be under way, or its memory may have ended. To find out, send the same request again with the same key."
)

func (s *status) notFound(w http.ResponseWriter, detail string) {
	s.problem(w, "not-found", problemDoc{
		Title: "No such action is known", Status: http.StatusNotFound, Detail: detail,
	}, 0)
}

// forgotten is row 8: whether or not a reaper has been here.
func forgotten(rec *record.Record, now time.Time) bool {
	return rec.State.Final() && !rec.Disputed && !now.Before(rec.RememberUntil)
}

func describe(rec *record.Record) statusDoc {
	doc := statusDoc{
		Ref: rec.Ref, Operation: rec.Identity.Operation, State: rec.State.String(), Disputed: rec.Disputed,
		CreatedAt: known(rec.Created), Effect: rec.Result.Effect,
	}
	if rec.State.Final() {
		doc.ReplayUntil, doc.RememberUntil = known(rec.ReplayUntil), known(rec.RememberUntil)
	}
	return doc
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// readOnly lets GET and HEAD through and answers everything else.
func readOnly(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET, HEAD")
	http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
	return false
}

// current is row 6b: the state of an action that is not final, and where it
// can be asked about.
func (x *exchange) current(out refrain.Outcome) {
	h := x.w.Header()
	name := record.InProgress
	if out.State == record.Unknown {
		name = record.OutcomeUnknown
	}
	h.Set(statusHeader, string(name))
	h.Set(refHeader, out.Ref)
	h.Set("Retry-After", "1")
	if x.StatusPath != "" {
		h.Set("Location", x.StatusPath+"/"+out.Ref)
	}
	x.write(x.w, http.StatusAccepted, jsonType, statusDoc{
		Ref: out.Ref, Operation: x.contract.Operation, State: out.State.String(), CreatedAt: known(out.CreatedAt),
	})
}
