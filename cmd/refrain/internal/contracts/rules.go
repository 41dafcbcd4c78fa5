package contracts

import (
	"slices"
	"strings"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/fingerprint"
)

// verdict is what one changed member means.
type verdict struct {
	class       Class
	why, wayOut string
}

func fine(why string) verdict             { return verdict{Compatible, why, ""} }
func ask(why, wayOut string) verdict      { return verdict{NeedsYes, why, wayOut} }
func breaking(why, wayOut string) verdict { return verdict{Incompatible, why, wayOut} }

// lessOf judges a quantity: more of it takes nothing away.
func lessOf[N int64 | int](o, n N, why, wayOut string) verdict {
	if n < o {
		return ask(why, wayOut)
	}
	return fine("more than before is kept or allowed")
}

// rules judge every member of the published form that can differ. They are
// asked only where it does.
var rules = map[string]func(o, n refrain.Contract) verdict{
	"identity": func(o, _ refrain.Contract) verdict {
		return breaking("records are found by their scope: retries of what was done would start new actions",
			"restore the dimensions, use another operation id, or stop its processes and run: refrain contract rekey --operation "+o.Operation)
	},
	"schema": func(o, n refrain.Contract) verdict {
		return fine("requests under way are compared under the stored schema where the rule is known, else byte for byte")
	},
	"remember_for": func(o, n refrain.Contract) verdict {
		return lessOf(int64(o.RememberFor), int64(n.RememberFor), "clients may retry as late as the longer memory allows, and would repeat the effect",
			"tell clients, wait as long as they may retry, then: refrain contract register --yes FILE")
	},
	"replay_for": func(o, n refrain.Contract) verdict {
		return lessOf(int64(o.ReplayFor), int64(n.ReplayFor), "late repeats are told result-gone where they got the answer",
			"keep the longer time, or make sure that clients read the status instead")
	},
	"key_time": keyTime,
	"skew": func(o, n refrain.Contract) verdict {
		return lessOf(int64(o.Policy().Skew), int64(n.Policy().Skew), "first requests of clients whose clocks are ahead are refused as key-from-future",
			"check what the observer counts before lowering it")
	},
	"key_required": func(_, n refrain.Contract) verdict {
		if n.KeyOptional {
			return breaking("requests without a key run unprotected and unrecorded where they were refused", "keep the key required")
		}
		return ask("requests without a key are refused", "make every client send one first; the observer counts those that do not")
	},
	"methods": methods,
	"fields": func(o, n refrain.Contract) verdict {
		if o.Schema != n.Schema {
			return fine("the schema is another one, too, so requests under way are compared anew")
		}
		return ask("requests under way are the same under one of the two contracts alone, and their retries are key-reused", "raise schema together with it")
	},
	"rule": func(o, n refrain.Contract) verdict {
		for _, c := range []refrain.Contract{o, n} {
			if c.MeaningRule != "" && !fingerprint.Known(c.MeaningRule) {
				return ask("retries across the change count as the same only byte for byte, in processes that do not know the other rule",
					"keep the function of the older rule in the binary until its records are forgotten")
			}
		}
		return fine("both rules are known to every binary, and the stored one decides")
	},
	"exact_names": func(_, n refrain.Contract) verdict {
		if n.ExactNames {
			return ask("bodies whose names differ by letter case alone are accepted, which some decoders merge", "make sure that the handler's decoder tells them apart")
		}
		return ask("bodies whose names differ by letter case alone are refused", "make sure that no client sends them")
	},
	"max_body": func(o, n refrain.Contract) verdict {
		return lessOf(o.BodyLimit(), n.BodyLimit(), "a retry of a recorded larger request is body-too-large and does not get its answer",
			"wait until such records are forgotten")
	},
	"max_response": func(o, n refrain.Contract) verdict {
		return lessOf(o.Policy().MaxResult, n.Policy().MaxResult, "larger answers are rolled back, or kept as a digest", "look at the sizes that are recorded first")
	},
	"oversize": func(_, n refrain.Contract) verdict {
		if n.KeepDigest {
			return breaking("an answer over the limit is not kept, and repeats get result-gone where nothing had been done", "raise max_response instead")
		}
		return ask("an answer over the limit is rolled back where it was sent", "raise max_response before")
	},
	"gone": func(refrain.Contract, refrain.Contract) verdict {
		return ask("late repeats get another status", "make sure that clients know it")
	},
	"async": func(_, n refrain.Contract) verdict {
		if n.Async {
			return ask("repeats of unfinished actions get 202 and a state where they waited or got 409", "make sure that clients know 202")
		}
		return ask("repeats of unfinished actions wait or get 409 where they got 202", "make sure that clients retry on 409")
	},
	"mode": func(_, n refrain.Contract) verdict {
		if n.Observe {
			return breaking("nothing is refused or replayed any more: repeats repeat the effect", "keep enforcing")
		}
		return ask("requests that were let through are refused or replayed", "look at the counts of would-replay and would-refuse first")
	},
	"untimed_at_fence": func(_, n refrain.Contract) verdict {
		if n.RunUntimed {
			return breaking("after a restore, keys without a time execute although they may be late retries", "keep the review")
		}
		return fine("after a restore, keys without a time wait for review")
	},
	"wait": func(refrain.Contract, refrain.Contract) verdict {
		return fine("a duplicate is told in-progress sooner or later")
	},
	"max_execution": func(o, n refrain.Contract) verdict {
		return lessOf(int64(o.Policy().MaxExecution), int64(n.Policy().MaxExecution), "an effect that takes longer is rolled back", "look at how long effects take first")
	},
	"lease": func(o, n refrain.Contract) verdict {
		return lessOf(int64(o.Policy().Lease), int64(n.Policy().Lease), "a paused owner's outcome is unknown sooner", "look at how long owners pause first")
	},
	"on_lost": func(_, n refrain.Contract) verdict {
		if n.RerunLost {
			return breaking("a retry runs the handler again although an earlier attempt may have acted",
				"keep unknown, unless the handler is idempotent by itself and always was")
		}
		return ask("lost outcomes stay unknown until a person resolves them", "have somebody look at: refrain ops list")
	},
	"free_on": freeOn,
}

// keyTime: what a key's time covered must stay covered.
func keyTime(o, n refrain.Contract) verdict {
	switch {
	case n.KeyTime == refrain.KeyTimeNone:
		return breaking("late retries of forgotten actions are no longer recognised by their key's time", "keep reading the time")
	case o.KeyTime == refrain.KeyTimeNone:
		return breaking("entity ids that look timed are refused as late if they are older than this change",
			"use another operation id")
	case o.KeyTime == refrain.KeyTimeRequired:
		return breaking("keys without a time are accepted, and run again once they are forgotten", "keep it required")
	case o.KeyTime == refrain.KeyTimeULID && n.KeyTime == refrain.KeyTimeByShape:
		return breaking("late retries with a ULID are no longer recognised by its time", "keep ulid, which reads UUIDv7 as well")
	case n.KeyTime == refrain.KeyTimeRequired:
		return ask("first requests without a time in their key are refused", "make every client send a UUIDv7 first")
	}
	return ask("first requests with a ULID older than this change are refused as late", "check how old keys are at arrival")
}

func methods(o, n refrain.Contract) verdict {
	guarded := func(c refrain.Contract) []string {
		if c.Methods == nil {
			return []string{"POST", "PATCH"}
		}
		return c.Methods
	}
	for _, method := range guarded(o) {
		if !slices.Contains(guarded(n), method) {
			return breaking(method+" is not guarded any more", "keep guarding "+strings.Join(guarded(o), " and "))
		}
	}
	if slices.ContainsFunc(guarded(n), func(m string) bool { return !slices.Contains(guarded(o), m) }) && !n.KeyOptional {
		return ask("requests of the new method need a key", "make every client send one first")
	}
	return fine("the methods that were guarded are guarded")
}

func freeOn(o, n refrain.Contract) verdict {
	for _, status := range n.FreeOn {
		if !slices.Contains(o.FreeOn, status) {
			return breaking("an answer with such a status frees the key, and a retry runs the handler again although it may have acted",
				"let the handler say NotStarted where it knows")
		}
	}
	return fine("fewer answers free the key")
}
