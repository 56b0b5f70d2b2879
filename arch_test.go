// Package linerate holds no code of its own: its tests keep the house rules
// of docs/design.md. It refuses to know what any room does.
package linerate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// rooms in the order in which values flow. A room may import the ones before
// it, never one after. size stands right after unit because its calculators
// depend on numbers alone: no host, no facts.
var rooms = []string{
	// conf stands low: topologies, studies and profiles are read through it.
	// published stands beside guide: what the papers measured is data like what
	// they advise, and knows nothing but units.
	// probe stands before load: its datagrams are promised not to be one.
	// failure stands below all: every room may say of what kind an end is.
	// reach stands after lab: names lead to emulated hosts too.
	// app stands after loop: its packages are the commands' work.
	"failure", "unit", "stat", "size", "model", "conf", "kernel", "facts", "systems", "guide", "published", "rules", "tune", "probe", "load", "measure",
	"study", "explain", "watch", "move", "host", "fleet", "lab", "reach", "store", "report", "web", "loop", "app", "cli",
}

// bans are imports that only some rooms may have, each with the reason.
var bans = []struct {
	imports string   // import path, or prefix ending in "/"
	allowed []string // rooms that may
	why     string
}{
	{"os/exec", []string{"kernel"}, "starting a process is an effect on a production filer: one door, so that it can be audited and never goes through a shell"},
	{"github.com/vishvananda/", []string{"kernel"}, "netlink is a door to the kernel; everything else reads facts from kernel"},
	{"github.com/safchain/", []string{"kernel"}, "ethtool is a door to the kernel"},
	{"github.com/gosnmp/", []string{"kernel"}, "asking a switch is an effect on the network; credentials stay in one room"},
	{"net/http", []string{"web"}, "no room but the live page listens or fetches: linerate never phones anybody"},
	{"linerate/internal/size", []string{"size", "cli", "rules", "explain", "guide"}, "the calculators answer questions of people; rules, explain and guide take from it what a slot, a buffer, slots and read-ahead carry (slot.go, buffer.go, flight.go), so that each formula stands once, and no answers: what a verdict is computed from is recorded with its inputs"},
	{"github.com/parquet-go/", []string{"report"}, "one export knows that format; nothing of linerate's own is kept in it"},
	{"github.com/gdamore/", []string{"report"}, "one file draws on a terminal: what it draws is a document's text, in which nothing is left that a terminal could obey"},
	{"github.com/goccy/go-yaml", []string{"conf", "guide", "published", "kernel"}, "conf bounds what a file costs before it is parsed; guide and published decode the program's own data, kernel one small file with the credentials of a switch, whose values are taken as they stand; conf.Bounded sees it first"},
	{"github.com/goccy/go-yaml/", []string{"conf", "published"}, "published only looks for tags; one reader of the files that people write, with line numbers and the key that was meant"},
	{"math/rand", []string{}, "use math/rand/v2 with a recorded seed (studies must be repeatable) or crypto/rand (tokens)"},
	{"unsafe", []string{"kernel", "load"}, "only system calls need it"},
}

// pure rooms see no clock, file or network: their results depend on their
// arguments alone, so that tables and recordings can test them.
var pure = map[string]bool{
	"unit": true, "stat": true, "size": true, "model": true, "conf": true, "rules": true, "explain": true, "guide": true, "published": true, "watch": true,
}

// isPure tells whether a file is of a pure room, or of the profiles: a value
// rule has to give the same plan for the same host; or of what a study is asked
// and concludes: a study that was interrupted is continued by playing its runs
// again, which must lead to the same place; or of what sets two runs side by side.
func isPure(s source) bool {
	return pure[s.room] || strings.HasPrefix(s.file, "internal/tune/profile/") ||
		strings.HasPrefix(s.file, "internal/study/file/") || strings.HasPrefix(s.file, "internal/study/drive/") ||
		strings.HasPrefix(s.file, "internal/report/compare/")
}

// impure lists what the pure rooms may not import, and why.
var impure = map[string]string{
	"os":      "a file or the environment could change the answer",
	"net":     "a name server could change the answer (net/netip is fine)",
	"syscall": "the kernel could change the answer",
	"os/exec": "another program could change the answer",
}

type source struct {
	file string // relative to the root
	room string // internal/<room>/…, or "" outside
	ast  *ast.File
	test bool
}

// sources are the Go files of the tree, but for tools and recordings.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("found only %d Go files: is the test run from the root of the project?", len(all))
	}
	return all
}

// parsed reads them once for all tests.
var parsed = sync.OnceValues(func() (out []source, err error) {
	err = filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || p == "tools") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		s := source{file: filepath.ToSlash(p), ast: f, test: strings.HasSuffix(p, "_test.go")}
		if rest, ok := strings.CutPrefix(s.file, "internal/"); ok {
			s.room, _, _ = strings.Cut(rest, "/")
		}
		out = append(out, s)
		return nil
	})
	return out, err
})

func (s source) imports() []string {
	var out []string
	for _, i := range s.ast.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		if err == nil {
			out = append(out, p)
		}
	}
	return out
}

// The map of docs/design.md names every package of the tree, so that a reader finds each on it:
// a room by its own name, a package in a room by the last part of its path.
func TestMapNamesEveryPackage(t *testing.T) {
	b, err := os.ReadFile("docs/design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "\n## Rooms\n")
	rooms, _, ok := strings.Cut(rest, "\n## ")
	if !ok {
		t.Fatal("docs/design.md: no chapter Rooms")
	}
	entries := map[string]string{} // by room: the line that begins with its name, and those below it
	var room string
	for line := range strings.Lines(rooms) {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "  "), "/"); ok && strings.HasPrefix(line, "  ") && line[2] != ' ' {
			room = name
		}
		entries[room] += line
	}
	seen := map[string]bool{}
	for _, s := range sources(t) {
		dir := path.Dir(s.file)
		if s.room == "" || seen[dir] {
			continue
		}
		seen[dir] = true
		entry := entries[s.room]
		if entry == "" {
			t.Errorf("%s: docs/design.md, chapter Rooms, has no line for %s/", dir, s.room)
		} else if name := path.Base(dir); !strings.Contains(strings.NewReplacer(" ", "\n", "(", "\n").Replace(entry), "\n"+name+"/") && name != s.room {
			t.Errorf("%s: the entry of %s/ in docs/design.md does not name %s/; add what it is", dir, s.room, name)
		}
	}
}

func TestRoomsImportOnlyEarlierRooms(t *testing.T) {
	rank := map[string]int{}
	for i, r := range rooms {
		rank[r] = i
	}
	for _, s := range sources(t) {
		if s.room == "" || s.test {
			continue
		}
		if _, ok := rank[s.room]; !ok {
			t.Errorf("%s: room %q is not on the map; add it to docs/design.md and to this list", s.file, s.room)
			continue
		}
		for _, p := range s.imports() {
			rest, ok := strings.CutPrefix(p, "linerate/internal/")
			if !ok {
				continue
			}
			other, _, _ := strings.Cut(rest, "/")
			if other != s.room && rank[other] >= rank[s.room] {
				t.Errorf("%s: %s imports %s: values flow the other way (facts → rules → plan → apply → load → measure → study → explain → report)", s.file, s.room, other)
			}
		}
	}
}

func TestBannedImports(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || s.room == "" {
			continue
		}
		for _, p := range s.imports() {
			for _, b := range bans {
				hit := p == b.imports || strings.HasSuffix(b.imports, "/") && strings.HasPrefix(p, b.imports)
				if hit && !contains(b.allowed, s.room) {
					t.Errorf("%s imports %s, which only %v may: %s", s.file, p, b.allowed, b.why)
				}
			}
			if why, ok := impure[p]; ok && isPure(s) {
				t.Errorf("%s imports %s, but %s is pure: %s", s.file, p, s.room, why)
			}
		}
	}
}

// belowApp are the rooms that cli may not import, each with the reason: their work is a
// use case's, which app has.
var belowApp = map[string]string{
	"facts":   "app reads hosts",
	"kernel":  "app looks at this host; whoever opens a file of cli need not know a system call",
	"probe":   "app sends datagrams",
	"load":    "app puts load on hosts, and says what a load may be",
	"measure": "app makes runs",
	"fleet":   "app keeps sites and joins them",
	"host":    "app reaches hosts and ends their agents; reach reads names",
	"lab":     "app builds labs",
	"loop":    "app configures the loop; its record is app.Record",
	"tune":    "app plans, applies and undoes",
	"study":   "app draws designs and concludes",
	"explain": "app hands over what was seen; the verdict is in the record",
	"watch":   "app shows what goes on; the types of a picture are named there",
	"rules":   "app applies the rules; findings are in the report",
	"store":   "app keeps bundles and finds them again",
}

// A command of cli reads flags, asks the user, calls one package of app and prints what
// that returns: one who knows the use case need not know the surface, and the other way.
func TestCommandsLeaveTheWorkToApp(t *testing.T) {
	for _, s := range sources(t) {
		if s.room != "cli" || s.test {
			continue
		}
		for _, p := range s.imports() {
			inner, ours := strings.CutPrefix(p, "linerate/internal/")
			room, _, _ := strings.Cut(inner, "/")
			if why, below := belowApp[room]; ours && below {
				t.Errorf("%s imports %s: %s; move that work into a package of internal/app", s.file, p, why)
			}
		}
	}
}

func TestPureRoomsReadNoClock(t *testing.T) {
	clock := map[string]bool{"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "Tick": true, "NewTimer": true, "NewTicker": true}
	for _, s := range sources(t) {
		if s.test || !isPure(s) {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || !clock[sel.Sel.Name] {
				return true
			}
			if id, ok := sel.X.(*ast.Ident); ok && id.Name == "time" && id.Obj == nil {
				t.Errorf("%s uses time.%s, but %s is pure: pass the time in", s.file, sel.Sel.Name, s.room)
			}
			return true
		})
	}
}

func TestEveryPackageHasADocComment(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range sources(t) {
		dir := path.Dir(s.file)
		if s.test && dir != "." {
			continue
		}
		documented[dir] = documented[dir] || s.ast.Doc != nil && len(s.ast.Doc.Text()) > 60
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s: no package comment that says what it does and what it refuses to do", dir)
		}
	}
}

func TestNoInitFunctionsAndNoVagueNames(t *testing.T) {
	vague := map[string]bool{"util": true, "utils": true, "common": true, "helper": true, "helpers": true, "manager": true}
	for _, s := range sources(t) {
		if vague[s.ast.Name.Name] {
			t.Errorf("%s: package name %q says nothing; name it after what it holds", s.file, s.ast.Name.Name)
		}
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: init() registers or computes behind the reader's back; use the explicit list", s.file)
			}
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	for _, s := range sources(t) {
		b, err := os.ReadFile(s.file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(b), "\n"); n > 500 {
			t.Errorf("%s has %d lines: is there a second subject in it?", s.file, n)
		}
	}
}

func TestMainIsShort(t *testing.T) {
	b, err := os.ReadFile("cmd/linerate/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "\n"); n > 30 {
		t.Errorf("cmd/linerate/main.go has %d lines, want at most 30", n)
	}
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// readers are the packages that take bytes from a kernel, a program or a
// recording: whatever parses them there is fuzzed.
var readers = []string{"internal/kernel", "internal/kernel/snapshot", "internal/facts"}

// unfuzzed are parsers that no fuzz target calls, each with the reason.
var unfuzzed = map[string]string{
	"ParseSockDiag":     "FuzzParseSockDiagDump hands it every message",
	"parseTCPInfo":      "FuzzParseSockDiagDump, through ParseSockDiag",
	"parseTCPInfoRates": "FuzzParseSockDiagDump, through ParseSockDiag",
	"parseSkmem":        "FuzzParseSockDiagDump, through ParseSockDiag",
}

// Every function that is named as a parser and takes bytes or text is called by
// a fuzz target of its package.
func TestEveryParserIsFuzzed(t *testing.T) {
	parsers, fuzzed := map[string]string{}, map[string]bool{}
	for _, s := range sources(t) {
		dir := path.Dir(s.file)
		if !contains(readers, dir) {
			continue
		}
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil {
				continue
			}
			switch {
			case s.test && strings.HasPrefix(f.Name.Name, "Fuzz"):
				ast.Inspect(f, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						fuzzed[dir+"."+id.Name] = true
					}
					return true
				})
			case !s.test && strings.HasPrefix(strings.ToLower(f.Name.Name), "parse") && takesText(f):
				parsers[dir+"."+f.Name.Name] = f.Name.Name
			}
		}
	}
	if len(parsers) < 30 {
		t.Errorf("found only %d parsers: are they named otherwise now?", len(parsers))
	}
	for at, name := range parsers {
		if !fuzzed[at] && unfuzzed[name] == "" {
			t.Errorf("%s reads bytes from outside and no fuzz target of its package calls it", at)
		}
	}
	for name := range unfuzzed {
		if !slices.Contains(slices.Collect(maps.Values(parsers)), name) {
			t.Errorf("%s is excused and not there", name)
		}
	}
}

// takesText tells whether the first parameter is bytes or a string.
func takesText(f *ast.FuncDecl) bool {
	if f.Type.Params.NumFields() == 0 {
		return false
	}
	switch p := f.Type.Params.List[0].Type.(type) {
	case *ast.Ident:
		return p.Name == "string"
	case *ast.ArrayType:
		id, ok := p.Elt.(*ast.Ident)
		return ok && id.Name == "byte"
	}
	return false
}

// What is sent to hosts has nothing of the commands in it, of what they print, or of labs: it would be
// three times as large.
func TestTheProgramForHostsIsSmall(t *testing.T) {
	files := map[string][]source{}
	for _, s := range sources(t) {
		if !s.test {
			files[path.Dir(s.file)] = append(files[path.Dir(s.file)], s)
		}
	}
	late := rooms[slices.Index(rooms, "host")+1:]
	seen := map[string]bool{}
	var walk func(dir, from string)
	walk = func(dir, from string) {
		if seen[dir] {
			return
		}
		seen[dir] = true
		for _, s := range files[dir] {
			if contains(late, s.room) {
				t.Errorf("linerate-agent has %s in it, by %s: move what it needs into a room up to host", dir, from)
				return
			}
			for _, p := range s.imports() {
				if inner, ours := strings.CutPrefix(p, "linerate/"); ours {
					walk(inner, dir)
				}
			}
		}
	}
	walk("cmd/linerate-agent", "")
	if len(seen) < 10 {
		t.Errorf("only %d packages were found", len(seen))
	}
}

// What is copied to hosts, and what people run, has no server of a message system in it: that is
// linerate-broker's alone.
func TestOnlyTheBrokerCarriesAServer(t *testing.T) {
	const server, broker = "github.com/nats-io/nats-server/", "linerate/internal/fleet/broker"
	carries := 0
	for _, s := range sources(t) {
		dir := path.Dir(s.file)
		if s.test || strings.HasPrefix(dir, "bench/") {
			continue
		}
		for _, p := range s.imports() {
			switch {
			case strings.HasPrefix(p, server) && dir != "internal/fleet/broker":
				t.Errorf("%s imports %s", s.file, p)
			case p == broker && dir != "cmd/linerate-broker":
				t.Errorf("%s imports %s", s.file, p)
			case p == broker:
				carries++
			}
		}
	}
	if carries != 1 {
		t.Errorf("%d files of linerate-broker import %s", carries, broker)
	}
}
