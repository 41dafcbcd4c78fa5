// Package archive keeps records that are about to be forgotten in files: JSON
// Lines, compressed with zstd.
package archive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/refrain-dev/refrain/fingerprint"
	"github.com/refrain-dev/refrain/record"
)

// line is a record in the archive, one JSON object on a line. Bytes are base64,
// since keys and bodies need not be text. The key is in it: an archive is as
// confidential as the database.
type line struct {
	Archive   int       `json:"archive"` // version of this form
	Ref       string    `json:"ref"`
	Version   int64     `json:"version"`
	Format    int       `json:"format"`
	Scope     string    `json:"scope"`
	Operation string    `json:"operation"`
	Key       []byte    `json:"key"`
	Actor     string    `json:"actor,omitempty"`
	State     string    `json:"state"`
	Created   time.Time `json:"created"`
	Final     time.Time `json:"final"`
	Replay    time.Time `json:"replay_until"`
	Remember  time.Time `json:"remember_until"`
	Attempt   int       `json:"attempt"`
	Fence     int64     `json:"fence"`
	Rule      string    `json:"rule"`
	Schema    string    `json:"schema"`
	Raw       []byte    `json:"raw"`
	Deciding  []byte    `json:"deciding"`

	Status   int         `json:"status,omitempty"`
	Effect   string      `json:"effect,omitempty"`
	Header   [][2]string `json:"header,omitempty"`
	Body     []byte      `json:"body,omitempty"`
	Digest   []byte      `json:"digest,omitempty"`
	Evidence []byte      `json:"evidence,omitempty"`

	// What is no text is kept here, and above with replacement characters.
	ActorBytes  []byte      `json:"actor_bytes,omitempty"`
	EffectBytes []byte      `json:"effect_bytes,omitempty"`
	HeaderBytes [][2][]byte `json:"header_bytes,omitempty"`
}

// notText is s where JSON could not hold it.
func notText(s string) []byte {
	if utf8.ValidString(s) {
		return nil
	}
	return []byte(s)
}

func headerBytes(header [][2]string) (kept [][2][]byte) {
	if !slices.ContainsFunc(header, func(f [2]string) bool { return !utf8.ValidString(f[0] + f[1]) }) {
		return nil
	}
	for _, f := range header {
		kept = append(kept, [2][]byte{[]byte(f[0]), []byte(f[1])})
	}
	return kept
}

const version = 1

func encode(rec record.Record) ([]byte, error) {
	evidence, err := record.EncodeEvidence(rec.Evidence)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(line{
		Archive: version, Ref: rec.Ref, Version: rec.Version, Format: rec.Format,
		Scope: rec.Identity.Scope, Operation: rec.Identity.Operation, Key: []byte(rec.Identity.Key), Actor: rec.Actor,
		State: rec.State.String(), Created: rec.Created, Final: rec.Final, Replay: rec.ReplayUntil, Remember: rec.RememberUntil,
		Attempt: rec.Attempt, Fence: rec.Fence, Rule: rec.Print.Rule, Schema: rec.Print.Schema, Raw: rec.Print.Raw[:], Deciding: rec.Print.Deciding[:],
		Status: rec.Result.Status, Effect: rec.Result.Effect, Header: rec.Result.Header, Body: rec.Result.Body, Digest: rec.Result.Digest,
		Evidence:   evidence,
		ActorBytes: notText(rec.Actor), EffectBytes: notText(rec.Result.Effect), HeaderBytes: headerBytes(rec.Result.Header),
	})
	return append(text, '\n'), err
}

func decode(text []byte) (record.Record, error) {
	var l line
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(&l); err != nil {
		return record.Record{}, err
	}
	state, ok := record.ParseState(l.State)
	switch {
	case l.Archive != version:
		return record.Record{}, fmt.Errorf("form %d of an archive; this binary knows %d", l.Archive, version)
	case !ok || len(l.Raw) != 32 || len(l.Deciding) != 32:
		return record.Record{}, fmt.Errorf("%s is not whole", l.Ref)
	}
	if l.ActorBytes != nil {
		l.Actor = string(l.ActorBytes)
	}
	if l.EffectBytes != nil {
		l.Effect = string(l.EffectBytes)
	}
	for i, f := range l.HeaderBytes {
		if i == 0 {
			l.Header = nil
		}
		l.Header = append(l.Header, [2]string{string(f[0]), string(f[1])})
	}
	evidence, err := record.DecodeEvidence(l.Evidence)
	return record.Record{
		Identity: record.Identity{Scope: l.Scope, Operation: l.Operation, Key: string(l.Key)},
		Ref:      l.Ref, Version: l.Version, Format: l.Format, State: state, Actor: l.Actor,
		Print:   fingerprint.Print{Raw: [32]byte(l.Raw), Deciding: [32]byte(l.Deciding), Rule: l.Rule, Schema: l.Schema},
		Created: l.Created, Final: l.Final, ReplayUntil: l.Replay, RememberUntil: l.Remember, Attempt: l.Attempt, Fence: l.Fence,
		Result: record.Result{
			Status: l.Status, Effect: l.Effect, Header: l.Header, Body: l.Body, Digest: l.Digest, Rejected: state == record.Rejected,
		},
		Evidence: evidence,
	}, err
}
