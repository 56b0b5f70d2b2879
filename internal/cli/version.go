package cli

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"linerate/internal/app/roles"
	"linerate/internal/report/document"
)

func versionCommand(env *environment) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this binary",
		Example: "  linerate version --json",
		Args:    usage(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if env.json {
				return printJSON(env, roles.Version())
			}
			return env.out.Printf("%s\n", roles.Version().String())
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
