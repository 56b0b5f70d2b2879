package cli

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"linerate/internal/app"
	"linerate/internal/report/document"
)

// Text keeps to the terminal's width from 60 columns on. A single word that is longer (a
// path, a sysctl) stands on its line with no more than its label. Drawings of networks,
// which are laid out for 80 columns, and texts that a bundle has kept are left out.
func TestTextKeepsToTheWidth(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	getenv := func(key string) string {
		switch key {
		case "HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR":
			return home
		}
		return ""
	}
	if err := os.WriteFile(home+"/f", make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"load block " + home + "/f --seconds 0.1", "load block " + home + "/f --seconds 0.1 --read 0 --destroy " + home + "/f", "runs",
		"study list", "study new", "load list", "load frames --list", "lab fault catalogue", "guide", "guide show dell-bp1057",
		"profile list", "profile show nfs-server", "profile diff nfs-server nfs-client", "setting tcp_rmem", "setting tcp_rmem --rate 40G --rtt 16ms",
		"check --rules", "check --watch 0", "check --watch 0 --inventory", "published", "published --like nfs",
		"copy " + home + "/f " + home + "/g", "tune history", "tune plan --set sysctl.net.ipv4.tcp_mtu_probing=2",
		"report ../store/testdata/v1/20261120-234501-demo-x7k2", "report ../store/testdata/v1/20261121-093000-study-c5rt",
		"report ../store/testdata/v1/20261124-093000-study-m7qa", // the load there keeps its text as it was printed
		"size link --rate 10G", "size window --rate 10G --rtt 1ms", "size nfs --rtt 500us --rate 10G",
	} {
		for _, width := range []int{60, 72} {
			var out, errs bytes.Buffer
			env := &environment{Env: app.Env{Getenv: getenv, Now: time.Now, Self: []string{os.Args[0]}}, in: strings.NewReader(""), out: document.NewScreen(&out), err: document.NewScreen(&errs), width: width}
			root := rootCommand(env)
			root.SetArgs(strings.Fields(line))
			if err := root.ExecuteContext(context.Background()); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			for l := range strings.Lines(out.String()) {
				l = strings.TrimRight(l, "\n")
				if utf8.RuneCountInString(l) > width && len(strings.Fields(l)) > 1 && !strings.HasPrefix(l, "report ") {
					t.Errorf("%s at %d columns: %d in %q", line, width, utf8.RuneCountInString(l), l)
				}
			}
		}
	}
}
