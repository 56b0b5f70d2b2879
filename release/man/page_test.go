package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/cli"
)

func TestPage(t *testing.T) {
	c := &cobra.Command{Use: "show X", Short: "Show a-b", Run: func(*cobra.Command, []string) {}, Example: "  show \\x --all",
		Long: "It shows\n.TH and\n'so.\n\nThen\n  ssh -L 1:2\nends."}
	c.Flags().BoolP("all", "a", false, "all of it")
	c.Flags().String("to", "here", "the `PLACE` it goes to")
	c.Flags().Bool("inner", false, "x")
	if err := c.Flags().MarkHidden("inner"); err != nil {
		t.Fatal(err)
	}
	want := `.TH "SHOW" 1 "2026-01-02" linerate linerate
.SH NAME
show \- Show a\-b
.SH SYNOPSIS
.B show X [flags]
.SH DESCRIPTION
.PP
It shows
\&.TH and
\&'so.
.PP
Then
.nf
  ssh \-L 1:2
.fi
ends.
.SH OPTIONS
.TP
\fB\-a, \-\-all\fR
all of it
.TP
\fB\-\-to\fR \fIPLACE\fR
the PLACE it goes to (default here)
.SH EXAMPLES
.nf
show \ex \-\-all
.fi
`
	if got := page(c, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)); got != want {
		t.Errorf("got:\n%s", got)
	}
}

// Every command that help lists has a page, and every page that it refers to is there.
func TestEveryCommandHasAPage(t *testing.T) {
	dir := t.TempDir()
	if err := write(cli.Commands(), dir, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(filepath.Join(dir, "man", "linerate.1"))
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for line := range strings.Lines(string(first)) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), ".BR ")
		if !ok {
			continue
		}
		named++
		name = strings.ReplaceAll(strings.TrimSuffix(name, " (1)"), "\\-", "-")
		if _, err := os.Stat(filepath.Join(dir, "man", name+".1")); err != nil {
			t.Errorf("the first page names one that is not there: %v", err)
		}
	}
	if named < 15 {
		t.Errorf("the first page names %d commands", named)
	}
}
