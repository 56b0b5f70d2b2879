package cli

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// What was mistyped gets the names that are like it, of commands, flags and ids; what is
// like nothing gets none.
func TestDidYouMean(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"explian":                          "did you mean explain?",
		"lab fault lst":                    "did you mean list?",
		"study resum x":                    "did you mean resume?",
		"exp":                              "did you mean explain?",
		"check --line-rat 10G --rtt 1ms":   "did you mean --line-rate?",
		"load block f --patern random":     "did you mean --pattern?",
		"load block f --seconds 1 --dirct": "did you mean --direct?",
		"load block f --workload dell-8k":  "dell-8k-random",
		"profile show nfs-sever":           "nfs-server",
		"study new dell-x52":               "dell-x520",
		"lab up clustr":                    "cluster",
		"setting tcp_rmen":                 "tcp_rmem",
		"guide show nobod":                 "near it are",
	} {
		code, out, errs := runHere(strings.Fields(line)...)
		if code != ExitUsage || out != "" || !strings.Contains(errs, want) {
			t.Errorf("linerate %s: exit code %d, %q; want %q", line, code, errs, want)
		}
	}
	for _, line := range []string{"xyzzy", "check --xyzzy"} {
		if code, _, errs := runHere(strings.Fields(line)...); code != ExitUsage || strings.Contains(errs, "did you mean") {
			t.Errorf("linerate %s: %d, %q", line, code, errs)
		}
	}
	if code, out, _ := runHere("--version"); code != ExitOK || !strings.HasPrefix(out, "linerate ") || strings.Count(out, "\n") != 1 {
		t.Errorf("--version: %d, %q", code, out)
	}
}

func runHere(args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = Run(context.Background(), args, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}
