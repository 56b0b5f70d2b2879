package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// What cobra's own commands do not know is refused like everything else, and prints nothing that a
// redirection would keep as a completion script.
func TestUnknownTopicsAndShells(t *testing.T) {
	for line, want := range map[string]int{
		"help": ExitOK, "help tune": ExitOK, "help tune apply": ExitOK, "completion": ExitOK, "completion bash": ExitOK, "help completion bash": ExitOK,
		"help nosuch": ExitUsage, "help tune nosuch": ExitUsage, "completion nosuch": ExitUsage, "completion bash more": ExitUsage,
		"watch --replay x --speed NaN": ExitUsage,
	} {
		var out, said bytes.Buffer
		code := Run(context.Background(), strings.Fields(line), strings.NewReader(""), &out, &said)
		if code != want || (want == ExitOK) != (out.Len() > 0) || (want == ExitOK) != (said.Len() == 0) {
			t.Errorf("%s: code %d, want %d; %d bytes, %q", line, code, want, out.Len(), said.String())
		}
	}
}
