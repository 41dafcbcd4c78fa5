package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

type versionDoc struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (m *Main) version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary",
		Args:  noArguments(""),
		RunE: func(*cobra.Command, []string) error {
			doc := buildVersion()
			if m.json {
				return printJSON(m.Stdout, doc)
			}
			_, err := fmt.Fprintf(m.Stdout, "refrain %s %s %s\n", doc.Version, doc.Go, doc.Platform)
			return err
		},
	}
}

func buildVersion() versionDoc {
	doc := versionDoc{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return doc
	}
	if info.Main.Version != "" {
		doc.Version = info.Main.Version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			doc.Revision = setting.Value
		}
	}
	return doc
}
