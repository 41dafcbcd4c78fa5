package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/archive"
	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
	"github.com/refrain-dev/refrain/record"
	"github.com/refrain-dev/refrain/upkeep"
)

func (m *Main) archive() *cobra.Command {
	var before, to string
	cmd := &cobra.Command{
		Use:   "archive --to FILE [--before TIME]",
		Short: "Write records whose memory has ended to a file, and forget them",
		Long: `archive appends every record whose memory ended before a time to a file, JSON
Lines compressed with zstd, reads back what it wrote, and only then forgets it.
Keys and bodies are in the file: it is as confidential as the database. When the
file cannot be written, nothing is forgotten that is not in it.`,
		Args: noArguments("the file is --to FILE"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := m.named()
			if err != nil {
				return err
			}
			if to == "" {
				return misused("add --to FILE", "no file is named")
			}
			return m.with(cmd.Context(), at, func(db engine.Database) error {
				until, err := moment(cmd.Context(), db, "--before", before)
				if err != nil {
					return err
				}
				return m.runArchive(cmd.Context(), db, until, to)
			})
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "`file` to append to; it is made where it is missing")
	cmd.Flags().StringVar(&before, "before", "now", "a `time`, RFC 3339, or now")
	cmd.AddCommand(m.archiveFind())
	return cmd
}

func (m *Main) runArchive(ctx context.Context, db engine.Database, until time.Time, to string) (err error) {
	is, err := db.Incarnation(ctx)
	if err != nil {
		return err
	}
	if until.After(is.At) {
		return misused("nothing is forgotten before its time", "--before is later than now, %s", shown(is.At))
	}
	file, err := m.appendTo(to, "--to")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	reaper := upkeep.Reaper{Store: db, Batch: upkeep.Reap{Until: until, Archive: file.Keep}}
	done, err := reaper.Once(ctx)
	if err != nil {
		return fmt.Errorf("after %d records, which are archived: %w", done.Forgotten, err)
	}
	if m.json {
		return printJSON(m.Stdout, map[string]any{"archived": done.Forgotten, "file": to})
	}
	_, err = fmt.Fprintf(m.Stdout, "archived and forgot %d records; %d unfinished left alone\n", done.Forgotten, done.Unfinished)
	return err
}

// appendTo opens an archive to write to, and says so where that took away a batch
// that was cut off.
func (m *Main) appendTo(path, flag string) (*archive.File, error) {
	before, missing := os.Stat(path)
	file, err := archive.Append(path)
	if err != nil {
		return nil, unusable("name another file with "+flag, "%w", err)
	}
	if after, err := os.Stat(path); err == nil && missing == nil && after.Size() < before.Size() {
		fmt.Fprintf(m.Stderr, "refrain: archive %s: its end was a batch that was cut off; these %d bytes are removed\n", oneLine(path), before.Size()-after.Size())
	}
	return file, nil
}

func (m *Main) archiveFind() *cobra.Command {
	var ref string
	var id record.Identity
	cmd := &cobra.Command{
		Use:   "find FILE…  --ref REF | --key KEY [--operation ID] [--scope SCOPE]",
		Short: "Find what became of a key in archives",
		Long: `find reads archives and prints what they know of an action: its state, when it
became final and its effect reference. No database is needed. What is damaged is
told behind what could be read.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if ref == "" && id.Key == "" {
				return misused("add --ref or --key", "nothing is looked for")
			}
			return m.runArchiveFind(args, func(rec record.Record) bool {
				return (ref == "" || rec.Ref == ref) && (id.Key == "" || rec.Identity.Key == id.Key) &&
					(id.Operation == "" || rec.Identity.Operation == id.Operation) && (id.Scope == "" || rec.Identity.Scope == id.Scope)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&ref, "ref", "", "the action with this `ref`")
	flags.StringVar(&id.Key, "key", "", "actions with this `key`")
	flags.StringVar(&id.Operation, "operation", "", "only of the operation with this `id`")
	flags.StringVar(&id.Scope, "scope", "", "only of this `scope`")
	return cmd
}

// archived is an action that was found in an archive.
type archived struct {
	Ref       string    `json:"ref"`
	Operation string    `json:"operation"`
	Scope     string    `json:"scope"`
	State     string    `json:"state"`
	Status    int       `json:"status"`
	Effect    string    `json:"effect"`
	Created   time.Time `json:"created"`
	Final     time.Time `json:"final"`
	Until     time.Time `json:"remembered_until"`
}

func (m *Main) runArchiveFind(files []string, wanted func(record.Record) bool) error {
	found := []archived{}
	seen := make(map[string]bool) // a batch may have been written twice
	var cut, damaged error
	for rec, err := range archive.Read(files...) {
		switch {
		case errors.Is(err, archive.ErrCutOff):
			cut = errors.Join(cut, err)
			continue
		case err != nil:
			damaged = errors.Join(damaged, err)
			continue
		case !wanted(rec) || seen[rec.Ref]:
			continue
		}
		seen[rec.Ref] = true
		found = append(found, archived{
			rec.Ref, rec.Identity.Operation, rec.Identity.Scope, rec.State.String(), rec.Result.Status, rec.Result.Effect,
			rec.Created, rec.Final, rec.RememberUntil,
		})
	}
	if m.json {
		if err := printJSON(m.Stdout, found); err != nil {
			return err
		}
	} else {
		for _, a := range found {
			_, err := fmt.Fprintf(m.Stdout, "%s  %-9s  %s  %s  final %s  effect %s\n", a.Ref, a.State, a.Operation, oneLine(a.Scope), shown(a.Final), oneLine(a.Effect))
			if err != nil {
				return err
			}
		}
	}
	const inDatabase = "the database may still know it: refrain ops show REF, or ask by key"
	switch {
	case damaged != nil:
		return unusable("all that can be read was searched; restore the file from a copy", "%w", errors.Join(damaged, cut))
	case len(found) == 0 && cut != nil:
		return unusable(inDatabase+"; or the file is a copy that is not whole", "it is not in what can be read: %w", cut)
	case len(found) == 0:
		return differs(inDatabase, "it is not in the archive")
	case cut != nil:
		fmt.Fprintf(m.Stderr, "refrain: %s\n", oneLine(cut.Error()))
	}
	return nil
}
