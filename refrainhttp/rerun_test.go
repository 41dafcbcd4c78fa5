package refrainhttp_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain"
	"github.com/refrain-dev/refrain/memstore"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/refrainhttp"
)

// twice is an engine whose first run of every effect is lost, as after a
// serialization failure. It keeps what the last run returned.
type twice struct{ last refrain.Result }

func (e *twice) Execute(ctx context.Context, _ refrain.Call, effect func(context.Context, memstore.Tx) (refrain.Result, error)) (refrain.Outcome, error) {
	_, _ = effect(ctx, memstore.Tx{})
	result, err := effect(ctx, memstore.Tx{})
	if err != nil {
		return refrain.Outcome{}, &record.Error{Problem: record.HandlerFailed, Err: err}
	}
	e.last = result
	return refrain.Outcome{Result: result, State: record.Confirmed, Ref: "op_1", ReplayUntil: noon, RememberUntil: noon}, nil
}

// TestRerun: a second run starts from what the first started from.
func TestRerun(t *testing.T) {
	t.Parallel()
	engine, run := &twice{}, 0
	h := refrainhttp.Handle(guard, engine, orders, func(w http.ResponseWriter, r *http.Request, _ memstore.Tx) error {
		run++
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != smallOrder || r.ContentLength != int64(len(smallOrder)) || r.Header.Get("X-Once") != "there" || len(w.Header()) != 0 {
			t.Errorf("run %d found %q (%d), %v, %v, %v", run, body, r.ContentLength, err, r.Header, w.Header())
		}
		r.Header.Del("X-Once")
		refrainhttp.Refuse(w)
		w.Header().Set(fmt.Sprintf("X-Run-%d", run), "yes")
		w.WriteHeader(400 + run)
		_, err = fmt.Fprintf(w, "run %d", run)
		return err
	})
	s := &shop{t: t, http: h}
	res := s.post(secretKey, "X-Once", "there")
	if body := text(t, res); res.StatusCode != 402 || body != "run 2" || res.Header.Get("X-Run-1") != "" || res.Header.Get("X-Run-2") != "yes" {
		t.Errorf("answer = %d %q %v", res.StatusCode, body, res.Header)
	}
	if run != 2 || engine.last.Status != 402 || !engine.last.Rejected || string(engine.last.Body) != "run 2" {
		t.Errorf("%d runs, stored %+v", run, engine.last)
	}
}

// TestRerunOutlivesAFault: what spoiled the first run does not spoil the second.
func TestRerunOutlivesAFault(t *testing.T) {
	t.Parallel()
	run := 0
	c := orders
	c.MaxResponse = 10
	h := refrainhttp.Handle(guard, &twice{}, c, func(w http.ResponseWriter, r *http.Request, _ memstore.Tx) error {
		if run++; run == 1 {
			_, err := io.WriteString(w, strings.Repeat("x", 11))
			return err
		}
		_, err := io.WriteString(w, "short")
		return err
	})
	s := &shop{t: t, http: h}
	if res := s.post(secretKey); res.StatusCode != 200 || text(t, res) != "short" {
		t.Errorf("answer = %d", res.StatusCode)
	}
}

// TestMultipartRerun: the form is parsed anew in each run.
func TestMultipartRerun(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	h := refrainhttp.Handle(guard, &twice{}, orders, func(w http.ResponseWriter, r *http.Request, _ memstore.Tx) error {
		if err := r.ParseMultipartForm(1); err != nil {
			return err
		}
		if len(files(t, dir)) == 0 {
			t.Error("the upload is not in a file: the test shows nothing")
		}
		_, err := io.WriteString(w, r.FormValue("sku"))
		return err
	})
	s := &shop{t: t, http: h}
	r := request(secretKey, "--b\r\nContent-Disposition: form-data; name=\"sku\"\r\n\r\nA-1\r\n"+
		"--b\r\nContent-Disposition: form-data; name=\"photo\"; filename=\"a.png\"\r\n\r\n"+strings.Repeat("x", 100<<10)+"\r\n--b--\r\n")
	r.Header.Set("Content-Type", "multipart/form-data; boundary=b")
	if res := s.do(r); res.StatusCode != 200 || text(t, res) != "A-1" {
		t.Errorf("answer = %d", res.StatusCode)
	}
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("uploads are left: %v", left)
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
