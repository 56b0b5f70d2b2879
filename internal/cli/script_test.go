package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"linerate/internal/lab"
	"linerate/internal/lab/buildtest"
	"linerate/internal/lab/labtest"
	"linerate/internal/lab/uml"
)

// asProgram in the environment makes the test binary stand for the linerate
// binary, also when the program starts itself as agent, worker or lab process.
const asProgram = "LINERATE_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if how := os.Getenv(hostileRole); how != "" {
		if err := hostileAgent(how, os.Args); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(asProgram) != "" {
		main()
	}
	if err := os.Setenv("GORACE", raceExit); err != nil {
		panic(err)
	}
	// What the tests start is the program.
	if err := os.Setenv(asProgram, "1"); err != nil {
		panic(err)
	}
	// They wait for labs more than they work.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"linerate": main})
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// raceExit: with the race detector a program waits a second before it ends, and the
// tests start hundreds.
const raceExit = "atexit_sleep_ms=0"

// The scripts are the commands' transcripts: what a user types and sees.
func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, scripts(t, "testdata/script"))
}

// built is linerate as users have it.
var built buildtest.Once

// Hosts with kernels of their own run linerate as it is built for users: a test
// program with the race detector has no room in a User-Mode Linux process.
func TestMachines(t *testing.T) {
	labtest.Long(t)
	t.Parallel()
	if _, err := uml.Find("/"); err != nil {
		t.Skip(err)
	}
	users := built.Program(t, "linerate", "linerate/cmd/linerate")
	p := scripts(t, "testdata/machines")
	with := p.Setup
	p.Setup = func(e *testscript.Env) error {
		e.Setenv("PATH", filepath.Dir(users)+string(filepath.ListSeparator)+e.Getenv("PATH"))
		e.Setenv("LINERATE", users) // inside of hosts, which see this tree
		return with(e)
	}
	testscript.Run(t, p)
}

func scripts(t *testing.T, dir string) testscript.Params {
	return testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			e.Values[ofScript{}] = e.T()
			e.Setenv(asProgram, "1")
			e.Setenv("GORACE", raceExit)
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_DATA_HOME", filepath.Join(e.WorkDir, "data"))
			e.Setenv("XDG_RUNTIME_DIR", e.WorkDir)
			e.Defer(func() { endLabs(t, e.WorkDir) })
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exitcode": exitcode, "needs": needs, "long": long,
		},
		// [root]: a user's hosts in a lab know one user, and some of what a script does is root's.
		Condition: func(name string) (bool, error) {
			if name != "root" {
				return false, fmt.Errorf("condition %s: want root", name)
			}
			return os.Geteuid() == 0, nil
		},
	}
}

// needs NAME… skips the script where the machine lacks one of them.
func needs(ts *testscript.TestScript, _ bool, args []string) {
	if why := labtest.Lacks(args...); why != "" {
		ts.Value(ofScript{}).(testscript.T).Skip(why)
	}
}

// long skips a script that proves at length, unless long tests are asked for.
func long(ts *testscript.TestScript, _ bool, _ []string) {
	if why := labtest.Short(ts.Value(ofScript{}).(interface{ Name() string }).Name()); why != "" {
		ts.Value(ofScript{}).(testscript.T).Skip(why)
	}
}

// ofScript is the key of a script's own test.
type ofScript struct{}

// endLabs takes down what a script that failed has left up.
func endLabs(t *testing.T, dir string) {
	state := filepath.Join(dir, "linerate")
	names, err := lab.Names(state)
	if err != nil {
		t.Error(err)
	}
	for _, n := range names {
		c, err := lab.Connect(state, n)
		if err == nil {
			err = c.Down(context.Background())
		}
		if err != nil {
			t.Errorf("take lab %s down: %v", n, err)
		}
	}
}

// exitcode WANT COMMAND… runs the command and checks its exit code; stdout and
// stderr are kept for the lines that follow.
func exitcode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode WANT COMMAND [ARG…]")
	}
	err := ts.Exec(args[1], args[2:]...)
	if got := exitStatus(err); got != args[0] {
		ts.Fatalf("%v: exit code %s, want %s", args[1:], got, args[0])
	}
}

func exitStatus(err error) string {
	var ee *exec.ExitError
	switch {
	case err == nil:
		return "0"
	case errors.As(err, &ee):
		return strconv.Itoa(ee.ExitCode())
	}
	return err.Error()
}
