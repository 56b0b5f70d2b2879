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
	"linerate/internal/published"
)

func runPublishedCommand(t *testing.T, args ...string) (int, string, string) {
	t.Helper()
	var out, errs bytes.Buffer
	code := Run(context.Background(), append([]string{"published"}, args...), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// The goldens are what a user sees; each line fits a terminal of 100.
func TestPublishedText(t *testing.T) {
	for name, args := range map[string][]string{
		"list":     nil,
		"paper":    {"--paper", "sfc"},
		"like":     {"--like", "10GbE NFS read"},
		"nearest":  {"--like", "40GbE NFS", "--paper", "CIT"},
		"place":    {"--like", "10GbE NFS read", "--place", "3.9Gbit"},
		"place-no": {"--like", "SMB 1GbE", "--place", "950Mbit"},
	} {
		code, out, errs := runPublishedCommand(t, args...)
		if code != ExitOK || errs != "" {
			t.Errorf("published %q: exit code %d, %q", args, code, errs)
			continue
		}
		for _, line := range strings.Split(out, "\n") {
			if n := utf8.RuneCountInString(line); n > 100 || strings.TrimRight(line, " ") != line {
				t.Errorf("published %q: %d wide, or blanks at its end: %q", args, n, line)
			}
		}
		file := filepath.Join("testdata", "published", name+".txt")
		golden.Same(t, file, out)
	}
}

func TestPublishedRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"--paper", "XX"}, ExitUsage, "ATTO, DELL, NAPPIT, SFC, CIT"},
		{[]string{"--place", "3Gbit"}, ExitUsage, "--like"},
		{[]string{"--like", "the"}, ExitUsage, "no word to look for"},
		{[]string{"--like", "0gbe"}, ExitUsage, "no link's rate"},
		{[]string{"--like", "nfs", "--place", "300MB/s"}, ExitUsage, "Gbit per second"},
		{[]string{"--like", "10GbE nfs", "--place", "12Gbit"}, ExitUsage, "more than the link carries"},
		{[]string{"--like", "nfs", "--place", "0bit"}, ExitUsage, "positive"},
		{[]string{"--like", "frobnication"}, ExitNothing, "linerate published lists all 162"},
		{[]string{"--like", "iscsi", "--place", "3Gbit"}, ExitNothing, "no published throughput"},
		{[]string{"nfs"}, ExitUsage, "linerate published --help"},
	} {
		code, out, errs := runPublishedCommand(t, c.args...)
		if code != c.code || out != "" || !strings.HasPrefix(errs, "linerate: ") || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, c.says) {
			t.Errorf("published %q: exit code %d, stdout %q, stderr %q; want %d and %q", c.args, code, out, errs, c.code, c.says)
		}
	}
}

func TestPublishedJSON(t *testing.T) {
	var doc struct {
		V       int
		Papers  []published.Paper
		Results []struct {
			ID    string
			BPS   *float64
			Share *float64 `json:"share_of_line_rate"`
		}
		Place *struct {
			Lower, Higher int
			Compared      []string
			Share         *float64 `json:"share_of_line_rate"`
		}
	}
	decode := func(args ...string) {
		t.Helper()
		code, out, errs := runPublishedCommand(t, append(args, "--json")...)
		doc.Place, doc.Results, doc.Papers = nil, nil, nil
		if err := json.Unmarshal([]byte(out), &doc); code != ExitOK || err != nil || doc.V != 1 {
			t.Fatalf("published %q --json: exit code %d, %v, %s", args, code, err, errs)
		}
	}
	decode()
	if len(doc.Results) != len(published.All()) || len(doc.Papers) != 5 || doc.Place != nil {
		t.Errorf("%d results of %d papers", len(doc.Results), len(doc.Papers))
	}
	decode("--like", "10GbE NFS read", "--place", "3.9Gbit")
	if doc.Place == nil || doc.Place.Lower != 1 || doc.Place.Higher != 3 || len(doc.Place.Compared) != 4 || doc.Place.Share == nil {
		t.Fatalf("place: %+v", doc.Place)
	}
	for i, r := range doc.Results {
		if r.ID != doc.Place.Compared[i] || r.BPS == nil || r.Share == nil {
			t.Errorf("result %d: %+v, compared %v", i, r, doc.Place.Compared)
		}
	}
	decode("--like", "dell cpu")
	if len(doc.Results) != 3 || doc.Results[0].BPS != nil || doc.Results[0].Share != nil {
		t.Errorf("CPU of DELL: %+v", doc.Results)
	}
}

func TestPublishedCompletion(t *testing.T) {
	var out, errs bytes.Buffer
	Run(context.Background(), []string{"__complete", "published", "--paper", ""}, strings.NewReader(""), &out, &errs)
	for _, key := range published.Keys() {
		if !strings.Contains(out.String(), key) {
			t.Errorf("completion of --paper lacks %s: %q", key, out.String())
		}
	}
}
