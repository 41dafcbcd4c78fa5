package main

import (
	"github.com/spf13/cobra"

	"github.com/refrain-dev/refrain/cmd/refrain/internal/engine"
)

// noArguments refuses arguments and says where what was meant belongs; hint is
// "" where that cannot be told.
func noArguments(hint string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		if hint == "" {
			hint = helpOf(cmd)
		}
		return misused(hint, "%s takes no arguments", cmd.Name())
	}
}

// databaseHint is for who names the database without --db.
const databaseHint = "the database is --db URL; known are: " + engine.Schemes

func helpOf(cmd *cobra.Command) string { return "run: " + cmd.CommandPath() + " --help" }
