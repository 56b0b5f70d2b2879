package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
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

// printJSON prints a document: an object with its version as v, which is 1 where its type
// has none.
func printJSON(env *environment, v any) error {
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	doc := bytes.TrimSpace(raw.Bytes())
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(doc, &fields); err != nil || fields == nil {
		return fmt.Errorf("print %T as JSON: it is no object, and has no room for a version", v)
	}
	if _, ok := fields["v"]; !ok {
		rest := bytes.TrimPrefix(doc, []byte("{"))
		comma := ","
		if len(fields) == 0 {
			comma = ""
		}
		doc = append([]byte(`{"v":1`+comma), rest...)
	}
	return document.JSON(env.out, json.RawMessage(doc))
}

// list is a document that lists things.
func list[T any](name string, of []T) map[string]any {
	return map[string]any{"v": 1, name: append([]T{}, of...)}
}
