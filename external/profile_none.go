package external

// None is the profile of an API that promises nothing: no key, no window. A lost
// answer waits for a person, or for a question that finds the effect. A 2xx other
// than 202 confirms; no status refuses, until Rules name those that the API
// documents to act on nothing.
func None() Profile { return Profile{Name: "none"} }
