package record

// Problem names why a request was not answered with a result. It is the
// fragment of the problem `type` (RFC 9457 §3.1.1) and, as an error value, the
// sentinel to branch on with [errors.Is].
type Problem string

// The problems of the decision table.
const (
	TooLate           Problem = "retry-too-late"
	KeyFromFuture     Problem = "key-from-future"
	KeyReused         Problem = "key-reused"
	ResultGone        Problem = "result-gone"
	InProgress        Problem = "in-progress"
	OutcomeUnknown    Problem = "outcome-unknown"
	OutcomeDisputed   Problem = "outcome-disputed"
	StoreUnavailable  Problem = "store-unavailable"
	CommitUnknown     Problem = "commit-unknown"
	KeyMissing        Problem = "key-missing"
	KeyInvalid        Problem = "key-invalid"
	PrincipalMissing  Problem = "principal-missing"
	Forbidden         Problem = "forbidden"
	BodyTooLarge      Problem = "body-too-large"
	BodyNotCanonical  Problem = "body-not-canonical"
	NotExecuted       Problem = "not-executed"
	ResponseTooLarge  Problem = "response-too-large"
	AnswerUndeclared  Problem = "answer-undeclared"
	NotRecordable     Problem = "response-not-recordable"
	HandlerFailed     Problem = "handler-failed"
	RecordUnreadable  Problem = "record-unreadable"
	ContractChanged   Problem = "contract-changed"
	Recovering        Problem = "recovering"
	PrincipalUnproven Problem = "principal-unavailable"
)

type problemInfo struct {
	status    int
	retryable bool
	title     string
}

var problems = map[Problem]problemInfo{
	TooLate:           {412, false, "This may be a late retry of an action that is no longer remembered"},
	KeyFromFuture:     {400, false, "The time inside the key lies in the future"},
	KeyReused:         {422, false, "The key was already used for another request"},
	ResultGone:        {410, false, "The action was done; its result is no longer kept"},
	InProgress:        {409, true, "A request with this key is in progress"},
	OutcomeUnknown:    {409, true, "The outcome of the action is not known yet"},
	OutcomeDisputed:   {409, true, "The outcome of the action is disputed"},
	StoreUnavailable:  {503, true, "The record store is unavailable; nothing was executed"},
	CommitUnknown:     {503, true, "The answer to the commit was lost; retry with the same key"},
	KeyMissing:        {400, false, "The idempotency key is missing"},
	KeyInvalid:        {400, false, "The idempotency key is malformed"},
	PrincipalMissing:  {401, false, "Authentication is required"},
	Forbidden:         {403, false, "The caller is not allowed to do this"},
	BodyTooLarge:      {413, false, "The request body is too large"},
	BodyNotCanonical:  {400, false, "The request body cannot be compared"},
	NotExecuted:       {503, true, "The action did not finish and was rolled back"},
	ResponseTooLarge:  {500, false, "The answer is too large to be recorded; the action was rolled back"},
	AnswerUndeclared:  {500, false, "The handler wrote data but did not declare its answer; the action was rolled back"},
	NotRecordable:     {500, false, "The answer cannot be recorded; the action was rolled back"},
	HandlerFailed:     {500, false, "The handler failed; the action was rolled back"},
	RecordUnreadable:  {500, false, "The record of this action cannot be read"},
	ContractChanged:   {503, true, "The contract of this operation has changed"},
	Recovering:        {503, true, "The store was restored and is under review; retry later with the same key"},
	PrincipalUnproven: {503, true, "The caller cannot be verified at the moment"},
}

// Problems lists every problem in a stable order.
func Problems() []Problem {
	return []Problem{
		TooLate, KeyFromFuture, KeyReused, ResultGone, InProgress, OutcomeUnknown, OutcomeDisputed,
		StoreUnavailable, CommitUnknown, KeyMissing, KeyInvalid, PrincipalMissing, Forbidden, BodyTooLarge,
		BodyNotCanonical, NotExecuted, ResponseTooLarge, AnswerUndeclared, NotRecordable, HandlerFailed,
		RecordUnreadable, ContractChanged, Recovering, PrincipalUnproven,
	}
}

// Status is the HTTP status of the answer; 500 for an unknown problem.
func (p Problem) Status() int {
	if info, ok := problems[p]; ok {
		return info.status
	}
	return 500
}

// Retryable reports whether the same request with the same key may be sent again.
func (p Problem) Retryable() bool { return problems[p].retryable }

// Title is the short summary, stable per problem (RFC 9457 §3.1.3).
func (p Problem) Title() string { return problems[p].title }

// Error makes a problem a sentinel error.
func (p Problem) Error() string { return "refrain: " + string(p) }
