package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/enginetest"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/tour"
)

// interrupted is a place where the tour is interrupted on its way.
type interrupted struct {
	engine.Place
	interrupt func()
	opened    int
	own       string // where the tour worked
}

func (i *interrupted) Own(ctx context.Context) (engine.Place, func(context.Context) error, error) {
	own, remove, err := i.Place.Own(ctx)
	if err == nil {
		i.own = own.String()
		i.Place = own
	}
	return i, remove, err
}

func (i *interrupted) Open(ctx context.Context, o engine.Options) (engine.Database, error) {
	if i.opened++; i.opened == 11 { // the tables are made, eight have competed
		i.interrupt()
	}
	return i.Place.Open(ctx, o)
}

// TestInterruptedTourCleansUp: whatever ends a tour, its place is gone.
func TestInterruptedTourCleansUp(t *testing.T) {
	enginetest.Each(t, enginetest.Servers, func(t *testing.T, db string) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		at := &interrupted{Place: enginetest.Place(t, db), interrupt: cancel}
		report, err := tourIn(ctx, at, tour.Run)
		if err == nil && report.OK() || at.opened < 11 {
			t.Fatalf("not interrupted: %+v", report)
		}
		wantGone(t, at.own)
	})
}

// TestTourThatCannotBegin: the place goes as well when the tour cannot begin in it.
func TestTourThatCannotBegin(t *testing.T) {
	enginetest.Each(t, enginetest.Servers, func(t *testing.T, db string) {
		at := &broken{interrupted{Place: enginetest.Place(t, db)}}
		if _, err := tourIn(t.Context(), at, tour.Run); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("the tour ended with %v", err)
		}
		wantGone(t, at.own)
	})
}

type broken struct{ interrupted }

func (b *broken) Own(ctx context.Context) (engine.Place, func(context.Context) error, error) {
	_, remove, err := b.interrupted.Own(ctx)
	return b, remove, err
}

func (b *broken) Open(context.Context, engine.Options) (engine.Database, error) {
	return nil, io.ErrUnexpectedEOF
}

// wantGone looks for the tour's place with a connection of its own, and removes
// what it should not find.
func wantGone(t *testing.T, own string) {
	t.Helper()
	u, err := url.Parse(own)
	if err != nil {
		t.Fatal(err)
	}
	name, drop := u.Query().Get("refrain_schema"), "DROP SCHEMA %s CASCADE"
	if u.Scheme == "mysql" {
		name, drop = strings.TrimPrefix(u.Path, "/"), "DROP DATABASE %s"
		u.Path = ""
	}
	if !strings.HasPrefix(name, "refrain_tour_") {
		t.Fatalf("the tour worked in %s", own)
	}
	pool, err := enginetest.Open(u)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	var there int
	if err := pool.QueryRow("SELECT count(*) FROM information_schema.schemata WHERE schema_name = '" + name + "'").Scan(&there); err != nil {
		t.Fatal(err)
	}
	if there > 0 {
		_, err := pool.Exec(fmt.Sprintf(drop, name))
		t.Errorf("%s was still there; %v", own, err)
	}
}
