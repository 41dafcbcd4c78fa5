// Package vectors holds requests and their outcomes as data: canonical JSON,
// forms, multipart bodies, key header fields and webhook signatures. Tests,
// fuzz seeds and black-box checks read the same entries.
//
// An entry cites its source. One whose Ours is [Differs] says with a reason
// where Refrain departs from that source, and what it does instead.
package vectors

import (
	"embed"
	"encoding/hex"
	"encoding/json"
)

//go:embed *.json
var files embed.FS

// Verdict says whether Refrain does what an entry's source says.
type Verdict string

// The verdicts.
const (
	Same    Verdict = "same"
	Differs Verdict = "differs"
)

// Entry is what every entry has.
type Entry struct {
	Name    string  `json:"name"`
	Source  string  `json:"source"`
	Note    string  `json:"note"`
	Derived bool    `json:"derived"` // reasoned from the source, not found in it
	Ours    Verdict `json:"ours"`
	Reason  string  `json:"reason"` // why Ours differs
}

// load decodes an embedded file. The files are part of the program: one that
// does not decode is a programming error, found by this package's tests.
func load[T any](name string) []T {
	data, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	var list []T
	if err := json.Unmarshal(data, &list); err != nil {
		panic(name + ": " + err.Error())
	}
	return list
}

func textOrHex(text, hexText string) []byte {
	if hexText == "" {
		return []byte(text)
	}
	data, err := hex.DecodeString(hexText)
	if err != nil {
		panic(err)
	}
	return data
}
