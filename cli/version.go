package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/muster-project/muster/internal/version"
)

// build is what "muster version -o json" says.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func thisBuild() build {
	b := build{Version: version.String(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			}
		}
	}
	return b
}

func (e *Env) versionCommand() *cobra.Command {
	var out output
	cmd := &cobra.Command{
		Use: "version", GroupID: "site", Short: "show the version of this binary",
		Args: count(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			if out.data() {
				return out.write(e.Stdout, b)
			}
			text := "muster " + b.Version
			if len(b.Commit) >= 12 {
				text += " (" + b.Commit[:12] + ")"
			}
			_, err := fmt.Fprintf(e.Stdout, "%s %s %s\n", text, b.Go, b.Platform)
			return err
		},
	}
	out.flag(cmd, "text", "json", "yaml")
	return cmd
}
