package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"linerate/internal/report/document"
)

type versionInfo struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// version reads what the Go tool recorded in the binary.
func version() versionInfo {
	v := versionInfo{Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v versionInfo) String() string {
	s := "linerate " + v.Version
	if v.Revision != "" {
		s += " (" + v.Revision[:min(12, len(v.Revision))] + ")"
	}
	return s + " " + v.Go + " " + v.OS + "/" + v.Arch
}

func versionCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this binary",
		Example: "  linerate version --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if env.json {
				return printJSON(env, version())
			}
			return env.out.Printf("%s\n", version().String())
		},
	}
}

func printJSON(env *environment, v any) error {
	return document.JSON(env.out, v)
}
