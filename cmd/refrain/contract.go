package main

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/shop"
	"github.com/refrain-dev/refrain/refrainhttp"
)

func (m *Main) contract() *cobra.Command {
	var from string
	var openAPI bool
	cmd := &cobra.Command{
		Use:   "contract",
		Short: "Print contracts, compare, register and move them",
		Long: `contract prints the published contracts and the decision table: those of the
service at --url, those registered in the database --db names, or, without
either, the demo's. With --json it prints the document they come from, with
--openapi an OpenAPI 3.1 fragment.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return m.runContract(cmd.Context(), from, openAPI) },
	}
	cmd.Flags().StringVar(&from, "url", "", "`address` of a service, or of its published document")
	cmd.Flags().BoolVar(&openAPI, "openapi", false, "print an OpenAPI 3.1 fragment, JSON")
	cmd.AddCommand(m.contractDiff(), m.contractRegister(), m.contractRekey())
	return cmd
}

func (m *Main) runContract(ctx context.Context, from string, openAPI bool) error {
	if from != "" && m.db != "" {
		return misused("give one of the two", "--url and --db name two sources")
	}
	var doc json.RawMessage
	at, err := m.database()
	switch {
	case from != "":
		doc, err = fetch(ctx, from)
	case err != nil:
	case at != nil:
		doc, err = registered(ctx, at)
	default:
		doc, err = demoContract()
	}
	if err != nil {
		return err
	}
	switch {
	case openAPI:
		return m.printOpenAPI(doc)
	case m.json:
		return printJSON(m.Stdout, doc)
	}
	text, err := markdown(doc)
	if err != nil {
		return unusable("point --url at a service that publishes its contracts", "the document is not one of contracts: %w", err)
	}
	_, err = io.WriteString(m.Stdout, text)
	return err
}

// demoContract is the document the demo publishes under its default flags.
func demoContract() (json.RawMessage, error) {
	f := demoDefaults
	f.skew = min(5*time.Minute, f.remember/4)
	config, err := f.config()
	if err != nil {
		return nil, err
	}
	return published(refrainhttp.WellKnown(shop.Guard(nil), nil, config.Contracts()...))
}

// published asks a handler of ours for its document.
func published(handler http.Handler) (json.RawMessage, error) {
	r, err := http.NewRequest(http.MethodGet, refrainhttp.WellKnownPath, nil)
	if err != nil {
		return nil, err
	}
	var body keeper
	handler.ServeHTTP(&body, r)
	return json.RawMessage(body.text), nil
}

// keeper keeps the body of a response.
type keeper struct {
	header http.Header
	text   []byte
}

func (k *keeper) Header() http.Header {
	if k.header == nil {
		k.header = make(http.Header)
	}
	return k.header
}

func (k *keeper) WriteHeader(int) {}

func (k *keeper) Write(p []byte) (int, error) {
	k.text = append(k.text, p...)
	return len(p), nil
}

// registered are the contracts a database keeps, their horizons, and the
// decision table of this binary.
func registered(ctx context.Context, at engine.Place) (doc json.RawMessage, err error) {
	db, err := openCurrent(ctx, at, brief)
	if err != nil {
		return nil, err
	}
	defer closing(db, &err)
	stored, err := db.Contracts(ctx)
	if err != nil {
		return nil, err
	}
	contracts, horizons := []json.RawMessage{}, map[string]time.Time{}
	for _, operation := range slices.Sorted(maps.Keys(stored)) {
		contracts = append(contracts, json.RawMessage(stored[operation]))
		horizon, err := db.Horizon(ctx, operation)
		if err != nil {
			return nil, err
		}
		if !horizon.IsZero() {
			horizons[operation] = horizon.UTC()
		}
	}
	ours, err := published(refrainhttp.WellKnown(shop.Guard(nil), nil))
	if err != nil {
		return nil, err
	}
	var table struct {
		Decisions json.RawMessage `json:"decisions"`
	}
	if err := json.Unmarshal(ours, &table); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"contracts": contracts, "horizons": horizons, "decisions": table.Decisions})
}

const (
	fetchTimeout = 10 * time.Second
	maxDocument  = 4 << 20
)

// fetch gets the document a service publishes.
func fetch(ctx context.Context, from string) (json.RawMessage, error) {
	u, err := url.Parse(from)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, misused("write it like http://127.0.0.1:8080", "%q is not the address of a service", from)
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = refrainhttp.WellKnownPath
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	const hint = "check that the service runs and publishes " + refrainhttp.WellKnownPath
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, unusable(hint, "%w", err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, unusable(hint, "%s: %w", u, err)
	case answer.StatusCode != http.StatusOK:
		return nil, unusable(hint, "%s answered %s", u, answer.Status)
	case len(body) > maxDocument:
		return nil, unusable(hint, "%s answered over %d bytes", u, maxDocument)
	case !json.Valid(body):
		return nil, unusable(hint, "%s answered no JSON", u)
	}
	return body, nil
}
