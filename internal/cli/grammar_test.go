package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Every flag reads its value as the others do: a time has one parser wherever it stands, and
// what is no number is said in words, not in those of a parser.
func TestFlagsHaveOneGrammar(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			kind := f.Value.Type()
			seen[kind]++
			if kind == "duration" || kind == "bytesHex" || kind == "count" {
				t.Errorf("%s --%s is a %s: it has a parser of its own", cmd.CommandPath(), f.Name, kind)
			}
			for _, typed := range []string{"5parsecs", "ten", "1e999"} {
				err := cmd.Flags().Set(f.Name, typed)
				if err == nil {
					continue // words
				}
				said := flagError(cmd, err).Error()
				if strings.Contains(said, "strconv") || strings.Contains(said, "time: ") || !strings.Contains(said, "--"+f.Name) || !strings.Contains(said, typed) {
					t.Errorf("%s: %s", cmd.CommandPath(), said)
				}
			}
		})
		names := map[string]bool{}
		for _, c := range cmd.Commands() {
			if names[c.Name()] {
				t.Errorf("%s is registered twice", c.CommandPath())
			}
			names[c.Name()] = true
			walk(c)
		}
	}
	walk(commandTree())
	for _, kind := range []string{"time", "rate", "size", "int", "float64", "uint64", "bool"} {
		if seen[kind] == 0 {
			t.Errorf("no flag is a %s: the test no longer sees them: %v", kind, seen)
		}
	}
}

// Rates, sizes and times are all taken, or all refused, by every command that asks for one.
func TestQuantitiesAreReadAlike(t *testing.T) {
	t.Parallel()
	rates := []string{
		"check --from /nowhere --rtt 1ms --line-rate", "explain nowhere --line-rate", "watch nowhere --line-rate", "serve nowhere --line-rate", "fix a b --line-rate",
		"tune plan --profile nobody --rtt 1ms --line-rate", "size link --rate", "size window --rtt 1ms --rate", "setting xyzzy --rtt 1ms --rate", "published --like 10GbE --place",
	}
	sizes := []string{"load block /nowhere --block", "load block /nowhere --area", "size nfs --rtt 1ms --rate 10G --transfer", "serve nowhere --history"}
	times := []string{"explain nowhere --for", "explain nowhere --wait", "watch nowhere --window", "serve nowhere --window", "load block /nowhere --for", "load block /nowhere --interval",
		"size window --rate 10G --rtt", "setting xyzzy --rate 10G --rtt", "tune apply --set tcp_sack=1 --dry-run --confirm-within"}
	for _, q := range []struct {
		lines       []string
		takes, none []string
	}{
		{rates, []string{"10Gbit", "10G", "10g", "10Gbit/s", "10000Mbit", "10Gbps"}, []string{"10", "10GB", "1.25GB/s", "10Gib", "-1Gbit"}},
		{sizes, []string{"33554432", "32MiB", "32m", "32M", "32768k"}, []string{"1mb", "1Mbit", "1x", "-1M"}},
		{times, []string{"10s", "10000ms"}, []string{"10", "10sec", "10 parsecs"}},
	} {
		for _, line := range q.lines {
			for _, v := range q.takes {
				if said := typedAt(line, v); refusesValue(said, v) {
					t.Errorf("%s %s is not taken: %s", line, v, said)
				}
			}
			for _, v := range q.none {
				if said := typedAt(line, v); !refusesValue(said, v) {
					t.Errorf("%s %s is taken: %s", line, v, said)
				}
			}
		}
	}
}

// typedAt is what is said of a line that ends with a value.
func typedAt(line, value string) string {
	_, _, said := runHere(append(strings.Fields(line), value)...)
	return said
}

// refusesValue tells whether an error is about the value, not about what comes behind it.
func refusesValue(said, value string) bool {
	return strings.Contains(said, value) && (strings.Contains(said, "parse ") || strings.Contains(said, "want ") || strings.Contains(said, "above zero") || strings.Contains(said, "give a size"))
}
