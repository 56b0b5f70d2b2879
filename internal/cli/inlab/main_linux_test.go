// Package inlab tests the commands on hosts of labs: what they say and leave there, where they are
// killed, and what they judge. Scripts of commands, some in labs too, are tested in package cli.
package inlab

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"linerate/internal/cli"
	"linerate/internal/lab/buildtest"
)

// asProgram in the environment makes the test binary stand for the linerate
// binary, also when the program starts itself as agent, worker or lab process.
const asProgram = "LINERATE_TEST_AS_PROGRAM"

// raceExit: with the race detector a program waits a second before it ends, and the
// tests start hundreds.
const raceExit = "atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	if role := os.Getenv(copyRole); role != "" && len(os.Args) == 1 {
		if err := plainCopy(role); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(asProgram) != "" {
		main()
	}
	// What the tests start is the program.
	for name, value := range map[string]string{"GORACE": raceExit, asProgram: "1"} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	// They wait for labs more than they work.
	if err := flag.Set("test.parallel", "6"); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"linerate": main})
}

// built is linerate as users have it, for hosts with kernels of their own.
var built buildtest.Once

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
