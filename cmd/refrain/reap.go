package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/upkeep"
)

// reaping is what the flags of refrain reap say.
type reaping struct {
	once, dry bool
	every     time.Duration
	batch     int
	archive   string // file
}

func (m *Main) reap() *cobra.Command {
	var r reaping
	cmd := &cobra.Command{
		Use:   "reap",
		Short: "Take results whose replay has ended, forget records whose memory has",
		Long: `reap goes on until it is interrupted; with --once until nothing is due. It works
a quarter of its time, several may run at once, and it may be stopped anywhere.
Nothing waits for it: what is past its memory reads as forgotten even where no
reaper has been. Unfinished, unknown and disputed actions are left alone;
refrain ops list shows them.`,
		Args: noArguments(databaseHint),
		RunE: func(cmd *cobra.Command, _ []string) error { return m.runReap(cmd.Context(), r) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&r.once, "once", false, "end when nothing is due")
	flags.BoolVar(&r.dry, "dry-run", false, "count what is due and change nothing; reads every record")
	flags.DurationVar(&r.every, "every", time.Minute, "how often to look when nothing is due, as a `duration`")
	flags.IntVar(&r.batch, "batch", 1000, "at most this `number` of records in a transaction, up to 10000")
	flags.StringVar(&r.archive, "archive", "", "append what is forgotten to this `file` first")
	return cmd
}

func (m *Main) runReap(ctx context.Context, r reaping) (err error) {
	at, err := m.named()
	switch {
	case err != nil:
		return err
	case r.batch < 1 || r.batch > 10_000:
		return misused("from 1 to 10000", "--batch is %d", r.batch)
	case r.every <= 0:
		return misused("give a duration such as 30s", "--every is %v", r.every)
	case r.dry && r.archive != "":
		return misused("give one of the two", "--dry-run forgets nothing that could be archived")
	}
	db, err := openCurrent(ctx, at, brief)
	if err != nil {
		return err
	}
	defer closing(db, &err)
	if r.dry {
		is, err := db.Incarnation(ctx)
		if err != nil {
			return err
		}
		due, err := upkeep.DryReap(ctx, db, is.At)
		if err != nil {
			return err
		}
		return m.printReaped(due, "due", "is due")
	}
	told := &reapProgress{m: m, db: db, at: time.Now()}
	reaper := upkeep.Reaper{Store: db, Every: r.every, Batch: upkeep.Reap{Limit: r.batch}, Observe: told.observe(ctx)}
	if r.archive != "" {
		file, err := m.appendTo(r.archive, "--archive")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		reaper.Batch.Archive = file.Keep
	}
	if r.once {
		done, err := reaper.Once(ctx)
		if err != nil {
			return fmt.Errorf("after %d results and %d records: %w", done.Trimmed, done.Forgotten, err)
		}
		return m.printReaped(done, "reaped", "was due")
	}
	if err := reaper.Run(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return m.printReaped(told.total, "reaped", "was due")
}

func (m *Main) printReaped(done upkeep.Reaped, word, was string) error {
	if m.json {
		return printJSON(m.Stdout, map[string]any{
			"looked": done.Looked, "trimmed": done.Trimmed, "forgotten": done.Forgotten, "unfinished": done.Unfinished,
			"lag_s": done.Lag.Seconds(),
		})
	}
	_, err := fmt.Fprintf(m.Stdout, "%s: %d results and %d records of %d looked at; %d unfinished left alone; the oldest %s %v ago\n",
		word, done.Trimmed, done.Forgotten, done.Looked, done.Unfinished, was, done.Lag.Round(time.Second))
	return err
}

// reapProgress tells on stderr how a long run gets on.
type reapProgress struct {
	m     *Main
	db    upkeep.Retention
	at    time.Time // when it told last
	total upkeep.Reaped
}

// tellEvery is how often a reaper that works says so.
const tellEvery = 10 * time.Second

func (p *reapProgress) observe(ctx context.Context) func(upkeep.Progress) {
	return func(b upkeep.Progress) {
		p.total = b.Total
		if b.Err != nil && ctx.Err() == nil {
			fmt.Fprintf(p.m.Stderr, "refrain: %v\n", b.Err)
		}
		if b.Err != nil || !b.More || time.Since(p.at) < tellEvery {
			return
		}
		p.at = time.Now()
		fmt.Fprintf(p.m.Stderr, "refrain: %d results and %d records until now%s\n", b.Total.Trimmed, b.Total.Forgotten, p.left(ctx, b))
	}
}

// left is what is still due, as far as reapers have seen the records.
func (p *reapProgress) left(ctx context.Context, b upkeep.Progress) string {
	spans, err := p.db.Spans(ctx)
	if err != nil || len(spans) == 0 {
		return ""
	}
	due := 0
	for _, s := range spans {
		if !s.Due.After(b.Now) {
			due++
		}
	}
	return fmt.Sprintf("; about %d of %d spans are due", due, len(spans))
}
