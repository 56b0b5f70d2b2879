package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"linerate/internal/kernel/golden"
	"linerate/internal/report/docstest"
)

func runSize(t *testing.T, args ...string) (int, string, string) {
	t.Helper()
	var out, errs bytes.Buffer
	code := Run(context.Background(), append([]string{"size"}, args...), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// The examples of each calculator's --help are run as they stand; what the
// first and the one in reverse print is kept as a golden.
func TestSizeExamples(t *testing.T) {
	for _, c := range sizeCommand(&environment{}).Commands() {
		examples := strings.Split(c.Example, "\n")
		if len(examples) < 3 || !strings.Contains(c.Example, "--reverse") {
			t.Errorf("size %s: want three examples, one of them in reverse", c.Name())
		}
		kept := map[string]bool{}
		for _, line := range examples {
			args, ok := strings.CutPrefix(strings.TrimSpace(line), "linerate size ")
			if !ok {
				t.Errorf("size %s: example %q", c.Name(), line)
				continue
			}
			code, out, errs := runSize(t, strings.Fields(args)...)
			if code != ExitOK || errs != "" {
				t.Errorf("size %s: exit code %d, %q", args, code, errs)
			}
			name := c.Name()
			if strings.Contains(args, "--reverse") {
				name += "-reverse"
			}
			if !kept[name] {
				kept[name] = true
				sizeGolden(t, name, "$ linerate size "+args+"\n"+out)
			}
		}
	}
	_, out, _ := runSize(t, strings.Fields("pool --layout onefs-+2d:1n --vdevs 5 --disk-size 108TB")...)
	sizeGolden(t, "pool-onefs", "$ linerate size pool --layout onefs-+2d:1n --vdevs 5 --disk-size 108TB\n"+out)
}

func sizeGolden(t *testing.T, name, got string) {
	t.Helper()
	for _, line := range strings.Split(got, "\n") {
		if n := utf8.RuneCountInString(line); n > 100 || strings.TrimRight(line, " ") != line {
			t.Errorf("%s: %d wide, or blanks at its end: %q", name, n, line)
		}
	}
	file := filepath.Join("testdata", "size", name+".txt")
	golden.Same(t, file, got)
}

func TestSizeRefuses(t *testing.T) {
	for args, says := range map[string]string{
		"frobnicate":                                        `unknown calculator "frobnicate"; choose one of`,
		"link 10Gbit":                                       "inputs are flags; see linerate size link --help",
		"link":                                              "the rate is needed: state it, such as --rate 10Gbit",
		"link --rate 0bit":                                  "not above zero",
		"link --rate -1Gbit":                                "want a number and a unit",
		"link --rate 10":                                    "unit must be bit",
		"link --rate 10GB/s":                                "unit must be bit",
		"link --rate 10Gbit --mtu -1":                       "MTU of -1 is outside",
		"link --rate 10Gbit --mtu many":                     "--mtu \"many\": want a whole number",
		"link --rate 10Gbit --protocol ftp":                 "choose one of tcp, udp, iscsi, nfs3, smb",
		"link --rate 10Gbit --link 1Gbit":                   "needs --reverse",
		"link --bogus":                                      "unknown flag",
		"window --rate 10Gbit":                              "give two of rate, RTT and window",
		"window --rate 10Gbit --rtt 16":                     "16s are seconds, 16ms milliseconds",
		"window --rate 10Gbit --rtt 300s":                   "outside 1ns to 1m40s",
		"pcie --lanes 8":                                    "generation of 0 is outside 1 to 5",
		"nfs --rtt 1ms --nconnect 99":                       "nconnect of 99 is outside 1 to 16",
		"iscsi --queue-depth 0":                             "queue depth of 0",
		"pool --layout raid7 --width 8":                     "unknown layout",
		"pool --layout raidz2":                              "width of raidz2 of 0",
		"pool --layout onefs-+7n --vdevs 5":                 "onefs-+2d:1n",
		"pool --width 8 --read 120":                         "no percentage",
		"pool --width 8 --disk-rate 0MB/s":                  "not above zero",
		"pool --reverse --width 8":                          "give the rate or the IOPS",
		"ram":                                               "give the RAM",
		"ram --ram 64":                                      "outside",
		"streams --format vhs":                              "unknown format",
		"streams --fps -25":                                 "outside 1 to 1000",
		"streams --stream-rate 50Mbit --format uhd":         "two descriptions",
		"streams --format uhd --width 1920":                 "width and height of its own",
		"streams --reverse --format uhd":                    "give the number of streams",
		"streams --stream-rate 50Mbit --streams 3 --mtu 10": "needs --reverse",
	} {
		code, out, errs := runSize(t, strings.Fields(args)...)
		if code != ExitUsage || out != "" || !strings.HasPrefix(errs, "linerate: ") || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, says) {
			t.Errorf("size %s: exit code %d, stdout %q, stderr %q; want 2 and %q", args, code, out, errs, says)
		}
	}
}

func TestSizeJSON(t *testing.T) {
	code, out, errs := runSize(t, "window", "--reverse", "--rate", "40Gbit", "--rtt", "16ms", "--json")
	var doc struct {
		V       int
		What    string
		Reverse bool
		Inputs  map[string]any
		Results []struct {
			Name, Unit, Formula string
			Value               float64
		}
		Notes []string
	}
	if err := json.Unmarshal([]byte(out), &doc); code != ExitOK || err != nil {
		t.Fatalf("exit code %d, %v, %s", code, err, errs)
	}
	if doc.V != 1 || doc.What != "window" || !doc.Reverse || len(doc.Notes) == 0 || len(doc.Results) == 0 {
		t.Fatalf("%+v", doc)
	}
	if doc.Inputs["rate_bps"] != 40e9 || doc.Inputs["rtt_ns"] != 16e6 || doc.Inputs["buffer_share"] != 0.5 {
		t.Errorf("inputs %v", doc.Inputs)
	}
	if r := doc.Results[0]; r.Name != "data in flight" || r.Value != 80e6 || r.Unit != "B" || r.Formula != "40 Gbit/s × 16 ms / 8 = 80000000 B (76.3 MiB)" {
		t.Errorf("first result %+v", r)
	}
}

// docs/json.md names every input that a document can carry.
func TestSizeInputsAreDocumented(t *testing.T) {
	words := docstest.Words(docstest.Section(t, "size CALCULATOR"))
	for _, c := range sizeCommand(&environment{}).Commands() {
		for line := range strings.SplitSeq(c.Example, "\n") {
			_, out, _ := runSize(t, append(strings.Fields(line)[2:], "--json")...)
			var doc struct{ Inputs map[string]any }
			if err := json.Unmarshal([]byte(out), &doc); err != nil || len(doc.Inputs) < 3 {
				t.Errorf("%s: %v, inputs %v", line, err, doc.Inputs)
			}
			for name := range doc.Inputs {
				if !words[name] {
					t.Errorf("%s: docs/json.md does not say what %q is", line, name)
				}
			}
		}
	}
}

func TestSizeCompletion(t *testing.T) {
	for args, want := range map[string]string{
		"pool --layout ":   "raidz2\n",
		"link --protocol ": "nfs3\n",
		"streams --pixel ": "yuv422-10\n",
		"pcie --payload ":  "4096\n",
		"nfs --version ":   "4.1\n",
		"":                 "window\t",
		"ram --l2arc ":     ":4\n", // no names, and no files either
		"iscsi --digests ": ":4\n",
	} {
		var out, errs bytes.Buffer
		words := append([]string{"__complete", "size"}, strings.Fields(args)...)
		code := Run(context.Background(), append(words, ""), strings.NewReader(""), &out, &errs)
		if code != ExitOK || !strings.Contains(out.String(), want) || !strings.HasSuffix(out.String(), ":4\n") {
			t.Errorf("size %s: exit code %d, offers %q, want %q and no files", args, code, out.String(), want)
		}
	}
}
