package labtest

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

//go:embed programs.txt
var programs string

// What Needs takes beside names of programs.txt: the rights of root, and leave to
// make the namespaces of a lab.
const (
	Root       = "root"
	Namespaces = "namespaces"
)

// LongSwitch in the environment has Long let tests run.
const LongSwitch = "LINERATE_LONG"

// Needs skips t where this machine lacks one of the programs of programs.txt
// that are named, or of Root and Namespaces, and says all that it lacks.
func Needs(t testing.TB, names ...string) {
	t.Helper()
	if why := Lacks(names...); why != "" {
		t.Skip(why)
	}
}

// Lacks says which of names this machine lacks and which packages have them;
// "" if it has them all. A name that programs.txt does not have panics.
func Lacks(names ...string) string {
	var lacking, packages []string
	for _, name := range names {
		why, from := lacks(name)
		if why != "" {
			lacking = append(lacking, why)
		}
		if from != "" {
			packages = append(packages, from)
		}
	}
	if len(lacking) == 0 {
		return ""
	}
	why := "needs " + strings.Join(lacking, ", ")
	if len(packages) > 0 {
		slices.Sort(packages)
		why += "; apt-get install --no-install-recommends " + strings.Join(slices.Compact(packages), " ")
	}
	return why
}

// lacks says what is lacking of one name and which package has it.
func lacks(name string) (why, from string) {
	switch {
	case name == Root && os.Geteuid() != 0:
		return "the rights of root", ""
	case name == Root:
		return "", ""
	case name == Namespaces:
		return lacksNamespaces(), ""
	}
	if p := find(name); !p.there() {
		return name, p.from
	}
	return "", ""
}

// Inside skips t with the reasons for which tests of this program skipped that ran
// inside of t, in another process: out is what they printed with -test.v.
func Inside(t testing.TB, out []byte) {
	t.Helper()
	var said []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "--- SKIP") || strings.Contains(line, ": needs ") || strings.Contains(line, ": find program ") {
			said = append(said, strings.TrimSpace(line))
		}
	}
	if len(said) > 0 {
		t.Skipf("inside of it: %s", strings.Join(said, "; "))
	}
}

// Long skips what proves at length what shorter tests show in part, unless it is
// requested. CI runs tests that call Long in a tier of their own.
func Long(t testing.TB) {
	t.Helper()
	if why := Short(t.Name()); why != "" {
		t.Skip(why)
	}
}

// Short says why a long test of that name does not run; "" if it does.
func Short(name string) string {
	if os.Getenv(LongSwitch) != "" {
		return ""
	}
	return fmt.Sprintf("long: %s runs with %s=1", name, LongSwitch)
}

// OneGoroutine skips, under the race detector, a test in which only one goroutine works: the
// detector makes it up to twenty times slower and has nothing to find there. The test runs without
// the detector.
func OneGoroutine(t testing.TB) {
	t.Helper()
	if Raced {
		t.Skip("one goroutine works: the race detector has nothing to find")
	}
}

// MemoryDir is a directory in memory, if there is one, that is removed with the test. It is for
// tests that write to the disk again and again but are not about the disk.
func MemoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "linerate-test-*")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Every is the step from one case to the next, for cases that differ in what they return and not in
// which goroutines meet: 1, or n under the race detector.
func Every(n int) int {
	if Raced {
		return n
	}
	return 1
}

// program is a line of programs.txt.
type program struct{ name, from, files string }

func find(name string) program {
	for line := range strings.Lines(programs) {
		f := append(strings.Fields(line), "", "")
		if f[0] == name {
			return program{f[0], f[1], f[2]}
		}
	}
	panic("programs.txt does not have " + name)
}

// there also searches the directories of administrators' programs, which a user's PATH
// lacks.
func (p program) there() bool {
	if p.files != "" {
		found, err := filepath.Glob(p.files)
		return err == nil && len(found) > 0
	}
	dirs := append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin", "/sbin")
	return slices.ContainsFunc(dirs, func(dir string) bool {
		st, err := os.Stat(filepath.Join(dir, p.name))
		return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
	})
}
