package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/record"
)

// resolution is what a person decided of an action.
type resolution struct {
	ref, as    string
	status     int
	body       string // file
	effect     string
	reason, by string
}

func (m *Main) opsResolve() *cobra.Command {
	var r resolution
	cmd := &cobra.Command{
		Use:   "resolve REF --as confirmed|rejected --reason TEXT --by NAME",
		Short: "Decide an outcome that nobody can know, or that is disputed",
		Long: `resolve makes an action final: later repeats get the answer given here. It is for
accepted, unknown and disputed actions; one that is under way is left alone, a
final one stays as it is. The audit keeps the name and the reason.

Where the action waits for an external operation, the operation is left to its
service, which adopts the decision and settles its own rows by it; nothing of it
is submitted any more. A disputed operation is decided with its action; rows of
the service are not corrected by that.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.ref = args[0]
			return m.runOpsResolve(cmd.Context(), r)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&r.as, "as", "", "`confirmed` (the effect happened) or rejected (it did not and must not)")
	flags.IntVar(&r.status, "status", 0, "HTTP `status` of the answer (default: 200 confirmed, 409 rejected)")
	flags.StringVar(&r.body, "body", "", "`file` with the answer's body")
	flags.StringVar(&r.effect, "effect", "", "`reference` of the effect, where the outcome can be seen")
	flags.StringVar(&r.reason, "reason", "", "`text` for the audit")
	flags.StringVar(&r.by, "by", "", "`name` for the audit")
	return cmd
}

func (r resolution) result() (record.Result, error) {
	result := record.Result{Status: r.status, Effect: r.effect, Rejected: r.as == record.Rejected.String()}
	unsigned := signature{by: r.by, reason: r.reason}.check()
	switch {
	case r.as != record.Confirmed.String() && !result.Rejected:
		return result, misused("add --as confirmed or --as rejected", "--as is %q", r.as)
	case unsigned != nil:
		return result, unsigned
	case r.status != 0 && (r.status < 200 || r.status > 599):
		return result, misused("from 200 to 599", "--status is %d", r.status)
	case r.status == 0 && result.Rejected:
		result.Status = 409
	case r.status == 0:
		result.Status = 200
	}
	if strings.HasPrefix(r.effect, "/") || strings.HasPrefix(r.effect, "http") {
		result.Header = append(result.Header, [2]string{"Location", r.effect})
	}
	if r.body == "" {
		return result, nil
	}
	var err error
	result.Body, err = readFile(r.body)
	result.Header = append(result.Header, [2]string{"Content-Type", mediaType(result.Body)})
	return result, err
}

func mediaType(body []byte) string {
	switch {
	case json.Valid(body):
		return "application/json"
	case utf8.Valid(body):
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

func (m *Main) runOpsResolve(ctx context.Context, r resolution) (err error) {
	at, err := m.named()
	if err != nil {
		return err
	}
	result, err := r.result()
	if err != nil {
		return err
	}
	db, err := openCurrent(ctx, at, brief)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	rec, err := db.Find(ctx, r.ref)
	if errors.Is(err, record.ErrNotFound) {
		return notAction(ctx, db, r.ref)
	}
	if err != nil {
		return err
	}
	policy, err := policyOf(ctx, db, rec.Identity.Operation)
	if err != nil {
		return err
	}
	if int64(len(result.Body)) > policy.MaxResult {
		return misused("give a shorter one", "--body has %d bytes, the contract keeps %d", len(result.Body), policy.MaxResult)
	}
	d := decision{resolution: r, result: result, policy: policy}
	edit, refused, err := d.write(ctx, db, rec.Identity)
	switch {
	case errors.Is(refused, record.ErrNotFound):
		return notFound(r.ref, refused)
	case refused != nil:
		return differs("refrain ops show "+r.ref+" tells what is known; an attempt under way must end first", "%w", refused)
	case err != nil:
		return err
	}
	if m.json {
		return printJSON(m.Stdout, map[string]string{"ref": r.ref, "state": edit.Put.State.String(), "detail": edit.Detail})
	}
	_, err = fmt.Fprintf(m.Stdout, "resolved %s: %s\n", r.ref, edit.Detail)
	return err
}

// policyOf is what the stored contract says, so that the memory is the published one.
func policyOf(ctx context.Context, db engine.Database, operation string) (record.Policy, error) {
	stored, err := db.Contracts(ctx)
	if err != nil {
		return record.Policy{}, err
	}
	var c refrain.Contract
	if err := json.Unmarshal([]byte(stored[operation]), &c); err != nil {
		return record.Policy{}, unusable("register it: refrain contract register FILE", "the stored contract of %q cannot be read: %w", operation, err)
	}
	if c.RememberFor <= 0 {
		return record.Policy{}, unusable("register it: refrain contract register FILE", "the stored contract of %q has no memory", operation)
	}
	return c.Policy(), nil
}
