// Command man writes what packages install beside the program: a manual page of each command,
// and completions for bash, zsh and fish. All of it comes from the commands themselves.
//
//	go run ./release/man DIR SECONDS      the date on the pages, since 1970
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/cli"
)

// trailer are the parts of the first page that no command has.
const trailer = `.SH EXIT STATUS
.TP
0
it is done
.TP
1
it failed; everything was put back
.TP
2
the command line could not be understood
.TP
3
there was nothing to judge
.TP
4
a change could not be put back: read the message
.TP
5
check \-\-fail\-on: there is such a finding; load \-\-require: it was not met; copy \-\-check: the trees differ
.TP
6
copy: done, but something could not be kept, or a file failed
.TP
130
interrupted; everything was put back
.SH FILES
.TP
/var/lib/linerate
root's journal of changes, and undo.sh, which takes them back without linerate
.TP
~/.local/state/linerate
the same of other users
.TP
~/.local/share/linerate/runs
recorded runs and their reports
.SH ENVIRONMENT
.TP
XDG_STATE_HOME, XDG_DATA_HOME
other places for the two directories of a user
.TP
NO_COLOR
no colours on the terminal
`

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "man: name a directory and the seconds since 1970 that the pages are dated")
		os.Exit(2)
	}
	seconds, err := strconv.ParseInt(os.Args[2], 10, 64)
	if err == nil {
		err = write(cli.Commands(), os.Args[1], time.Unix(seconds, 0).UTC())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
}

func write(root *cobra.Command, dir string, date time.Time) error {
	pages := filepath.Join(dir, "man")
	if err := os.MkdirAll(pages, 0o755); err != nil {
		return err
	}
	if err := tree(root, pages, date); err != nil {
		return err
	}
	return completions(root, dir)
}

// tree writes the page of a command and those of the commands below it.
func tree(c *cobra.Command, dir string, date time.Time) error {
	text := page(c, date)
	if !c.HasParent() {
		text += trailer
	}
	name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		return fmt.Errorf("write manual page: %w", err)
	}
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if err := tree(sub, dir, date); err != nil {
			return err
		}
	}
	return nil
}

func completions(root *cobra.Command, dir string) error {
	for name, make := range map[string]func(*bytes.Buffer) error{
		"linerate.bash": func(b *bytes.Buffer) error { return root.GenBashCompletionV2(b, true) },
		"_linerate":     func(b *bytes.Buffer) error { return root.GenZshCompletion(b) },
		"linerate.fish": func(b *bytes.Buffer) error { return root.GenFishCompletion(b, true) },
	} {
		var text bytes.Buffer
		if err := make(&text); err != nil {
			return fmt.Errorf("make completion %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write completion: %w", err)
		}
	}
	return nil
}
