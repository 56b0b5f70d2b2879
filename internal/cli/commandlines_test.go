package cli

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"linerate/internal/app"
	"linerate/internal/app/lab"
	"linerate/internal/app/study"
	"linerate/internal/guide"
	"linerate/internal/lab/fault"
	"linerate/internal/lab/topology"
	"linerate/internal/report/document"
	"linerate/internal/tune/profile"
)

// Every command line that linerate writes anywhere is one that it takes: those of the
// pages, of the examples in --help, and those that messages name. Nothing is run but what
// only computes.

// prose are words that follow the program's name where it is the subject of a sentence.
var prose = strings.Fields(`linerate agent host worker writes process no was knows reads cannot could makes switches edits finds changes changed executes can in could in has had or and
	itself wants to watches is does not keeps listens runs sends gave asked looks here removed names never on program there load records ran had made left were starts undoes tests
	inside nor beside grew stopped started kept would must for sees puts takes needs shows measures that of by at from does it first newcomer wrote brings desk applies lists protocol`)

// notes stand behind examples, spaces between.
var notes = regexp.MustCompile(`   +[^\n]*`)

// commandsIn finds command lines within text.
var commandsIn = regexp.MustCompile(`(?:^|[^-./\w])linerate((?: +[^\s` + "`" + `"'“”]+)*)`)

func TestCommandLinesInPagesAndExamples(t *testing.T) {
	t.Parallel()
	lines, root := 0, commandTree()
	for where, list := range writtenLines(t) {
		for _, line := range list {
			lines++
			if err := wouldTake(t, root, line); err != nil {
				t.Errorf("%s: %s\n\t%v", where, line, err)
			}
		}
	}
	if lines < 300 {
		t.Errorf("%d lines were found: the test no longer sees them", lines)
	}
}

func TestCommandLinesInMessages(t *testing.T) {
	t.Parallel()
	found, root := 0, commandTree()
	for where, text := range messages(t) {
		for _, m := range commandsIn.FindAllStringSubmatch(notes.ReplaceAllString(text, "."), -1) {
			n, err := named(root, strings.Fields(m[1]))
			found += n
			if err != nil {
				t.Errorf("%s: %q: %v", where, m[0], err)
			}
		}
	}
	if found < 150 {
		t.Errorf("%d were found: the test no longer sees them", found)
	}
}

func commandTree() *cobra.Command {
	root := rootCommand(&environment{Env: app.Env{Getenv: func(string) string { return "" }}, in: strings.NewReader(""), out: document.NewScreen(&bytes.Buffer{}), err: document.NewScreen(&bytes.Buffer{})})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.InitDefaultVersionFlag()
	return root
}

// named checks words of a sentence that begin a command line: its commands and flags.
func named(cmd *cobra.Command, words []string) (int, error) {
	at := 0
	for i, w := range words {
		end := strings.TrimRight(w, ".,;:)?!") != w
		w = strings.Trim(w, ".,;:)(?![]")
		if flag, ok := strings.CutPrefix(w, "--"); ok && at > 0 && flag != "" {
			flag, _, _ = strings.Cut(flag, "=")
			cmd.InitDefaultHelpFlag()
			if cmd.Flags().Lookup(flag) == nil && cmd.InheritedFlags().Lookup(flag) == nil {
				return at, fmt.Errorf("%s has no flag --%s", cmd.CommandPath(), flag)
			}
		}
		sub := subcommand(cmd, w)
		switch {
		case sub != nil && at == i:
			cmd, at = sub, at+1
		case i == 0 && regexp.MustCompile(`^[a-z]+$`).MatchString(w) && !slices.Contains(prose, w):
			return 0, fmt.Errorf("there is no command %q", w)
		}
		if end {
			break
		}
	}
	return min(at, 1), nil
}

func subcommand(cmd *cobra.Command, name string) *cobra.Command {
	for _, c := range cmd.Commands() {
		if c.Name() == name {
			return c
		}
	}
	return nil
}

// wouldTake parses a whole line against the commands, and looks its names up.
func wouldTake(t *testing.T, root *cobra.Command, line string) error {
	t.Helper()
	words, err := shellWords(line)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "2>") }); i >= 0 {
		words = words[:i]
	}
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	open := slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "…") || strings.HasPrefix(w, "[") })
	if cmd == root && len(words) > 0 && !placeholder.MatchString(words[0]) && words[0] != "--help" && words[0] != "--version" {
		return fmt.Errorf("there is no command %q", words[0])
	}
	cmd.InitDefaultHelpFlag()
	if err := cmd.ParseFlags(rest); err != nil && !open && err.Error() != "pflag: help requested" {
		return err
	}
	args := cmd.Flags().Args()
	if cmd.HasSubCommands() && len(args) > 0 && !placeholder.MatchString(args[0]) && cmd.Args != nil && cmd.Args(cmd, args) != nil {
		return fmt.Errorf("%s has no command %q", cmd.CommandPath(), args[0])
	}
	mentioned := len(rest) == 0 // the command as such, within a sentence
	if slices.Contains(words, "--help") || open || mentioned {
		return nil
	}
	if err := cmd.ValidateArgs(args); err != nil {
		return err
	}
	return lookUp(t, cmd, args, words)
}

// placeholder is what stands for a name of the reader's own.
var placeholder = regexp.MustCompile(`^[A-Z][A-Z0-9/:._-]*$|[/.<>]`)

// lookUp checks the names that a line has of things that come with linerate.
func lookUp(t *testing.T, cmd *cobra.Command, args, words []string) error {
	t.Helper()
	for _, f := range []string{"profile", "mine"} {
		if v, err := cmd.Flags().GetString(f); err == nil && v != "" && !placeholder.MatchString(v) && v != "mine" {
			if _, ok := profile.Builtin(v); !ok {
				return fmt.Errorf("--%s: there is no profile %q", f, v)
			}
		}
	}
	if list, err := cmd.Flags().GetStringArray("set"); err == nil {
		for _, s := range list {
			if _, err := parseSet(s); err != nil && !placeholder.MatchString(s) {
				return err
			}
		}
	}
	if len(args) > 0 && placeholder.MatchString(args[0]) {
		return nil
	}
	switch path := cmd.CommandPath(); {
	case path == "linerate lab fault add":
		return faultFits(args)
	case path == "linerate lab up":
		if !slices.Contains(lab.TopologyNames(), args[0]) {
			return fmt.Errorf("there is no topology %q", args[0])
		}
	case path == "linerate study new" && len(args) > 0:
		_, err := study.FindTemplate(args[0])
		return err
	case path == "linerate guide show":
		if _, ok := guide.FindGuide(args[0]); !ok {
			return fmt.Errorf("there is no guide %q", args[0])
		}
	case path == "linerate setting" && len(args) > 0, strings.HasPrefix(path, "linerate size "), path == "linerate published", path == "linerate load list":
		var out, errs bytes.Buffer
		if code := Run(context.Background(), words, strings.NewReader(""), &out, &errs); code != ExitOK {
			return fmt.Errorf("exit code %d: %s", code, errs.String())
		}
	case path == "linerate profile show", path == "linerate profile export":
		if _, ok := profile.Builtin(args[0]); !ok && args[0] != "mine" {
			return fmt.Errorf("there is no profile %q", args[0])
		}
	}
	return nil
}

// faultFits tells whether a fault can be put into one of the labs that there are.
func faultFits(args []string) error {
	all, last := topology.Builtin()
	for _, topo := range all {
		if _, last = fault.Parse(args, topo); last == nil {
			return nil
		}
		if _, err := fault.Find(args[0]); err == nil && strings.Contains(last.Error(), "kernel") {
			return nil // it asks for a host that these labs have on request
		}
	}
	return last
}

// shellWords splits a line as a shell would, up to a comment, a pipe or the note that
// stands behind an example.
func shellWords(line string) ([]string, error) {
	line = strings.TrimSpace(line)
	var words []string
	word, in, quote := "", false, rune(0)
	spaces := 0
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '(' && word == "$":
			quote, in = ')', true
		case r == '\'' || r == '"':
			quote, in = r, true
		case r == ' ':
			if spaces++; in {
				words, word, in = append(words, word), "", false
			}
			if spaces == 2 {
				return words[1:], nil
			}
			continue
		case !in && (r == '#' || r == '|' || r == '>' || r == '&' || r == ';' || r == '<'):
			return words[1:], nil
		case r == ';':
			return append(words, word)[1:], nil
		default:
			word, in = word+string(r), true
		}
		spaces = 0
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote is left open")
	}
	if in {
		words = append(words, word)
	}
	return words[1:], nil
}

// writtenLines are whole command lines by where they stand.
func writtenLines(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatal(pages, err)
	}
	for _, p := range append(pages, "../../README.md", "../../CONTRIBUTING.md") {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		fenced := false
		for n, l := range strings.Split(string(raw), "\n") {
			if strings.HasPrefix(strings.TrimSpace(l), "```") {
				fenced = !fenced
				continue
			}
			at := fmt.Sprintf("%s:%d", filepath.Base(p), n+1)
			text := strings.TrimLeft(strings.TrimSpace(l), "$# ")
			text = strings.TrimPrefix(text, "sudo ")
			if (fenced || strings.HasPrefix(l, "    ")) && strings.HasPrefix(text, "linerate ") && (len(out[at]) == 0) && !strings.HasPrefix(text, "linerate: ") {
				out[at] = append(out[at], strings.TrimSuffix(text, `\`))
			} else if !fenced {
				for _, m := range regexp.MustCompile("`(linerate [^`]+)`").FindAllStringSubmatch(l, -1) {
					out[at] = append(out[at], strings.TrimSuffix(m[1], "…"))
				}
			}
		}
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, l := range strings.Split(c.Example, "\n") {
			if text := strings.TrimSpace(l); strings.HasPrefix(text, "linerate ") {
				for _, one := range strings.Split(text, " ; ") {
					out[c.CommandPath()+" --help"] = append(out[c.CommandPath()+" --help"], one)
				}
			}
		}
		for _, s := range c.Commands() {
			walk(s)
		}
	}
	root := commandTree()
	walk(root)
	for _, l := range strings.Split(root.Long, "\n") {
		if text := strings.TrimSpace(l); strings.HasPrefix(text, "linerate ") && strings.Contains(text, "  ") {
			out["linerate --help"] = append(out["linerate --help"], text)
		}
	}
	return out
}

// messages are the string constants of the program; what is put into them is "…".
func messages(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir("..", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(p, ".go") || strings.HasSuffix(p, "_test.go") {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, p, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, constant := textOf(e)
			if !constant {
				return true
			}
			if strings.Contains(text, "linerate") {
				at := set.Position(e.Pos())
				out[fmt.Sprintf("%s:%d", at.Filename, at.Line)] = text
			}
			return false
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// textOf is a string constant, or a sum with one in it.
func textOf(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		a, one := textOf(e.X)
		b, other := textOf(e.Y)
		if e.Op != token.ADD || !one && !other {
			return "", false
		}
		if !one {
			a = "…"
		}
		if !other {
			b = "…"
		}
		return a + b, true
	}
	return "", false
}
