package linerate

import (
	"go/ast"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// workOf are the packages of internal/app that the files of a subcommand call: one, and others
// only with a reason. A subcommand that only asks rooms that are data or arithmetic has none.
var workOf = map[string][]string{
	"agent":     {"site"},
	"check":     {"check"},
	"compare":   {"runs"},
	"copy":      {"copy"},
	"demo":      {"demo"},
	"explain":   {"explain"},
	"fix":       {"fix"},
	"guide":     {"guide"},
	"lab":       {"lab"},
	"leave":     {"tune"}, // what it leaves behind are a plan's changes
	"load":      {"load"},
	"profile":   {"profile"},
	"published": {},
	"report":    {"runs"},
	"runs":      {"runs"},
	"serve":     {"serve", "watch", "explain"}, // a page of what watch shows, of hosts as explain names them
	"setting":   {"guide"},
	"size":      {},
	"study":     {"study", "runs", "tune"}, // study history finds bundles; a study's plan is a plan
	"tune":      {"tune", "profile"},       // tune plan takes a profile
	"version":   {"roles"},
	"watch":     {"watch", "runs", "explain"}, // plays a run again, of hosts as explain names them
}

// shared are the files of cli that are no subcommand's, each with what it has.
var shared = map[string]string{
	"cli.go":             "the list of subcommands, exit codes",
	"complete.go":        "completion of arguments, of every subcommand",
	"elsewhere.go":       "which subcommands another system refuses",
	"finish.go":          "questions to the user, and the end of every run: its bundle and its report",
	"history.go":         "the records of live views, which report prints and compare sets side by side",
	"next.go":            "what to type after an error, by the step that a room advises",
	"progress.go":        "progress on a terminal and as JSON",
	"suggest.go":         "the flag that was meant",
	"suspend_unix.go":    "Ctrl-Z in a live view",
	"suspend_windows.go": "likewise",
	"terminal.go":        "width, colours and what else a terminal can do",
}

// A new subcommand is one file of cli, one line in the list, and the package of app that does its work.
func TestASubcommandIsOneFileAndOnePackage(t *testing.T) {
	declared, listed, calls := map[string]string{}, []string{}, map[string][]string{}
	for _, s := range sources(t) {
		if path.Dir(s.file) != "internal/cli" || s.test {
			continue
		}
		name := path.Base(s.file)
		command, _, _ := strings.Cut(strings.TrimSuffix(name, ".go"), "_")
		if _, ok := workOf[command]; !ok && shared[name] == "" {
			t.Errorf("%s: %s is no subcommand; name the file after the one it belongs to, or say here what it has", s.file, command)
		}
		for _, p := range s.imports() {
			if of, ok := strings.CutPrefix(p, "linerate/internal/app/"); ok && shared[name] == "" && !slices.Contains(calls[command], of) {
				calls[command] = append(calls[command], of)
			}
		}
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasSuffix(f.Name.Name, "Command") && makesCommand(f) {
				declared[f.Name.Name] = name
			}
		}
		listed = append(listed, added(s)...)
	}
	for command, packages := range workOf {
		if at := declared[command+"Command"]; at != command+".go" {
			t.Errorf("%sCommand is declared in %q, want %s.go", command, at, command)
		}
		slices.Sort(calls[command])
		if want := slices.Sorted(slices.Values(packages)); !slices.Equal(calls[command], want) {
			t.Errorf("the files of %s call %v of internal/app, listed are %v", command, calls[command], want)
		}
	}
	for name := range declared {
		if n := count(listed, name); n != 1 && name != "rootCommand" {
			t.Errorf("%s is added %d times: each subcommand stands once in the list of its parent", name, n)
		}
	}
}

// makesCommand tells whether a function returns a *cobra.Command.
func makesCommand(f *ast.FuncDecl) bool {
	if f.Type.Results.NumFields() != 1 {
		return false
	}
	star, ok := f.Type.Results.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	sel, ok := star.X.(*ast.SelectorExpr)
	return ok && sel.Sel.Name == "Command"
}

// added are the functions whose commands a file adds to another.
func added(s source) (names []string) {
	ast.Inspect(s.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if sel, ok := call.Fun.(*ast.SelectorExpr); !ok || sel.Sel.Name != "AddCommand" {
			return true
		}
		for _, of := range call.Args {
			if made, ok := of.(*ast.CallExpr); ok {
				if name, ok := made.Fun.(*ast.Ident); ok {
					names = append(names, name.Name)
				}
			}
		}
		return true
	})
	return names
}

func count(list []string, name string) (n int) {
	for _, of := range list {
		if of == name {
			n++
		}
	}
	return n
}

// What the map names is there: a room of the tree at each line, and a directory for each name in its
// entry. (TestMapNamesEveryPackage holds that nothing is missing on it.)
func TestTheMapNamesNothingElse(t *testing.T) {
	b, err := os.ReadFile("docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "\n## Rooms\n")
	text, _, _ := strings.Cut(rest, "\n```\nA later room")
	_, text, ok := strings.Cut(text, "\ninternal/\n")
	text, _, _ = strings.Cut(text, "\ndocs/ ")
	if !ok {
		t.Fatal("docs/design.md: no chapter Rooms")
	}
	there, mapped := map[string]bool{}, map[string]bool{}
	for _, s := range sources(t) {
		for dir := path.Dir(s.file); dir != "."; dir = path.Dir(dir) {
			there[path.Base(dir)] = true
		}
		if s.room != "" {
			there["room "+s.room] = true
		}
	}
	line := regexp.MustCompile(`(?m)^  ([a-z]+)/`)
	for _, m := range line.FindAllStringSubmatch(text, -1) {
		mapped[m[1]] = true
		if !there["room "+m[1]] {
			t.Errorf("docs/design.md has a line of internal/%s/, which is not there", m[1])
		}
	}
	for _, r := range rooms {
		if !mapped[r] {
			t.Errorf("docs/design.md has no line of internal/%s/", r)
		}
	}
	for _, m := range regexp.MustCompile(`(?:^|[\s(])([a-z][a-z0-9]*)/(?:[\s,;:)]|$)`).FindAllStringSubmatch(text, -1) {
		if !there[m[1]] {
			t.Errorf("docs/design.md names %s/, which is no directory of the tree", m[1])
		}
	}
}
