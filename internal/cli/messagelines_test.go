package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A message may name a command with its flags and arguments in the middle of a sentence. Its
// values are put in when it is printed; here they are examples.

// verbs of a format, with an example of what is printed for each.
var verbs = []struct {
	verb    *regexp.Regexp
	example string
}{
	{regexp.MustCompile(`%(\[\d+\])?d`), "1"},
	{regexp.MustCompile(`%(\[\d+\])?[.\d]*[gf]`), "3.9"},
	{regexp.MustCompile(`%(\[\d+\])?[sqvw]|…`), "nas1"},
}

// tail is what ends a command line within a sentence.
const tail = ".,;:)?!"

// wholeLine is the command line at the beginning of words: its commands, and behind them all
// that cannot be the sentence going on. It tells whether something was put in for an example.
// What is printed right behind a command may be empty; it is if bare.
func wholeLine(root *cobra.Command, words []string, bare bool) (cmd *cobra.Command, line []string, example bool) {
	cmd = root
	cmd.InitDefaultHelpFlag()
	value, end := false, false // the next word is the value of a flag; the sentence goes on
	for i := 0; i < len(words) && !end; i++ {
		w := words[i]
		for _, v := range verbs {
			if at := v.verb.FindStringIndex(w); at != nil {
				example = true
				if at[0] > 0 && v.example == "nas1" && regexp.MustCompile(`[a-z]$`).MatchString(w[:at[0]]) { // " nas1" or nothing
					if !bare {
						words = slices.Insert(words, i+1, w[at[0]:])
					}
					w = w[:at[0]]
				}
				w = v.verb.ReplaceAllLiteralString(w, v.example)
			}
		}
		end = strings.TrimRight(w, tail) != w && !strings.HasSuffix(w, "...")
		w = strings.TrimLeft(strings.TrimRight(w, tail), "(")
		sub := subcommand(cmd, w)
		switch {
		case value:
			value = false
		case strings.HasPrefix(words[i], "("): // a remark
			return cmd, line, example
		case sub != nil && len(line) == depth(cmd):
			cmd = sub
			cmd.InitDefaultHelpFlag()
		case w == "" || w == "&&" || w == "and" || w == "or":
			return cmd, line, example
		case w == "--":
			return cmd, append(append(line, w), words[i+1:]...), example
		case strings.HasPrefix(w, "-") && len(w) > 1:
			f := flagOf(cmd, w)
			value = f != nil && f.NoOptDefVal == "" && !strings.Contains(w, "=")
		case strings.HasPrefix(w, "["): // may be left out
			example = true
			continue
		case len(line) > 0 && (isArgument(w) || cmd.HasSubCommands() && len(line) == depth(cmd) && !slices.Contains(prose, w)):
		default:
			return cmd, line, example
		}
		example = example || placeholder.MatchString(w)
		line = append(line, w)
	}
	return cmd, line, example
}

// depth is how many words name the command.
func depth(cmd *cobra.Command) int { return len(strings.Fields(cmd.CommandPath())) - 1 }

// flagOf is the flag that a word names; nil where there is none.
func flagOf(cmd *cobra.Command, w string) *pflag.Flag {
	name, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
	look := func(s *pflag.FlagSet) *pflag.Flag {
		if len(name) == 1 && !strings.HasPrefix(w, "--") {
			return s.ShorthandLookup(name)
		}
		return s.Lookup(name)
	}
	if f := look(cmd.Flags()); f != nil {
		return f
	}
	return look(cmd.InheritedFlags())
}

// wordLike are names of things that look like words of a sentence.
var wordLike = strings.Fields("last mine cluster")

// labels are strings that begin as a command line does and that nobody reads: contexts of keys
// and proofs, and what a process calls itself.
var labels = []string{"linerate load 1 proof of ", "linerate agent …"}

// isArgument tells an argument from the next word of the sentence.
func isArgument(w string) bool {
	return !slices.Contains(prose, w) && (slices.Contains(wordLike, w) || !regexp.MustCompile(`^[a-z]+('s)?$`).MatchString(w))
}

// takes checks a command line that is complete: its flags, their values, its arguments. Of one
// that is only named, as the subject of a sentence, there is nothing to check but the name.
func takes(t *testing.T, root, cmd *cobra.Command, line []string, example bool) error {
	t.Helper()
	rest := line[depth(cmd):]
	if len(rest) == 0 {
		return nil
	}
	if !example {
		return wouldTake(t, root, "linerate "+strings.Join(quoted(line), " "))
	}
	if err := cmd.ParseFlags(rest); err != nil && err.Error() != "pflag: help requested" {
		return err
	}
	args := cmd.Flags().Args()
	if cmd.HasSubCommands() && len(args) > 0 && (cmd.Args == nil || cmd.Args(cmd, args) != nil) {
		return fmt.Errorf("%s has no command %q", cmd.CommandPath(), args[0])
	}
	if len(args) == 0 { // "with linerate x --flag": where it is needed was said before
		return nil
	}
	return cmd.ValidateArgs(args)
}

func quoted(words []string) (out []string) {
	for _, w := range words {
		if strings.ContainsAny(w, " |&;<>") {
			w = "'" + w + "'"
		}
		out = append(out, w)
	}
	return out
}

func TestWholeCommandLinesInMessages(t *testing.T) {
	t.Parallel()
	whole, root := 0, commandTree()
	for where, text := range messages(t) {
		if slices.Contains(labels, text) {
			continue
		}
		for _, at := range commandsIn.FindAllStringSubmatchIndex(text, -1) {
			line, _, _ := strings.Cut(text[at[2]:], "\n")
			words, err := shellWords("linerate" + line)
			if err != nil { // a quote that the sentence opened before
				words = strings.Fields(text[at[2]:at[3]])
			}
			var got []string
			for _, bare := range []bool{false, true} {
				var cmd *cobra.Command
				var example bool
				if cmd, got, example = wholeLine(root, slices.Clone(words), bare); len(got) == 0 {
					break
				}
				if len(got) > depth(cmd) && !bare {
					whole++
				}
				if err = takes(t, root, cmd, got, example); err == nil {
					break
				}
			}
			if len(got) > 0 && err != nil {
				t.Errorf("%s: linerate %s\n\t%v\n\tof %q", where, strings.Join(got, " "), err, strings.TrimSpace(line))
			}
		}
	}
	if whole < 300 {
		t.Errorf("%d command lines with flags or arguments were found: the test no longer sees them", whole)
	}
}

// The test above sees what is wrong with a line within a sentence.
func TestWholeCommandLineIsSeen(t *testing.T) {
	t.Parallel()
	root := commandTree()
	for _, tt := range []struct {
		text string
		line string // as it is taken
		good bool
	}{
		{"linerate lab down --name %s, or choose another", "lab down --name nas1", true},
		{"linerate lab down --nam %s, or choose another", "lab down --nam nas1", false},
		{"linerate tune undo%s restores the values", "tune undo nas1", true},
		{"linerate lab fault remove %d", "lab fault remove 1", true},
		{"linerate lab fault drop %d", "lab fault drop 1", false},
		{"linerate explain MOUNT --load --write %s; then", "explain MOUNT --load --write nas1", true},
		{"linerate explain MOUNT --lod --write %s; then", "explain MOUNT --lod --write nas1", false},
		{"linerate profile diff %s", "profile diff nas1", false},
		{"linerate study show %s shows what it found", "study show nas1", true},
		{"linerate copy names what could not be kept", "copy", true},
		{"linerate lab fault add host:server1 fill=80%", "lab fault add host:server1 fill=80%", true},
		{"linerate lab fault add host:server1 fil=80%", "lab fault add host:server1 fil=80%", false},
		{"linerate check --watch 10x shows", "check --watch 10x", false},
		{"linerate runs last 7 goes on", "runs last 7", false},
	} {
		words, err := shellWords(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		cmd, line, example := wholeLine(root, words, false)
		err = takes(t, root, cmd, line, example)
		if got := strings.Join(line, " "); got != tt.line && tt.good || (err == nil) != tt.good {
			t.Errorf("%q is taken as %q: %v", tt.text, got, err)
		}
	}
}
