package host

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"linerate/internal/load/worker"
	"linerate/internal/move/mover"
)

// Variables by which a test changes the agent that it starts.
const (
	clockEnv  = "LINERATE_TEST_CLOCK"  // how far the agent's clock is off
	driftEnv  = "LINERATE_TEST_DRIFT"  // how many ppm it is fast
	brokenEnv = "LINERATE_TEST_BROKEN" // a way in which the agent is no agent
	attackEnv = "LINERATE_TEST_ATTACK" // what a hostile agent does to its controller
)

// TestMain makes the test binary a linerate with the roles agent, worker and mover.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "agent" && os.Args[1] != worker.Role && os.Args[1] != mover.Role {
		// The race detector makes every process wait a second at its end.
		if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := role(ctx, os.Args[1], os.Args[2:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func role(ctx context.Context, name string, args []string) error {
	if name == worker.Role {
		return worker.Main(ctx, os.Stdin, os.Stdout)
	}
	if name == mover.Role {
		return mover.Main(ctx, os.Stdin, os.Stdout)
	}
	if attack := os.Getenv(attackEnv); attack != "" {
		return attacker(os.Stdin, os.Stdout, attack)
	}
	switch os.Getenv(brokenEnv) {
	case "dies":
		return fmt.Errorf("cannot be an agent: \x1b[31mno luck")
	case "deaf":
		fmt.Fprintln(os.Stderr, "this agent says nothing")
		select {} // until it is killed
	case "chatty":
		fmt.Println("Welcome to this host!")
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	dir, deployed, err := ParseAgentArgs(args)
	if err != nil {
		return err
	}
	off, err := time.ParseDuration(os.Getenv(clockEnv) + "0s")
	if err != nil {
		return err
	}
	drift, err := strconv.ParseFloat("0"+os.Getenv(driftEnv), 64)
	if err != nil {
		return err
	}
	began := time.Now()
	return AgentMain(ctx, os.Stdin, os.Stdout, AgentOptions{
		StateDir: dir, Deployed: deployed, Self: []string{self}, Build: "test", Log: os.Stderr,
		Now: func() time.Time {
			now := time.Now()
			return now.Add(off + time.Duration(float64(now.Sub(began))*drift/1e6))
		},
	})
}

// bound is how long a test waits for what has to come; reaching it is a failure.
const bound = 30 * time.Second

// logged collects what agents say.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

func localEndpoint(t *testing.T, name string) Endpoint {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Endpoint{Name: name, Self: []string{self}, StateDir: filepath.Join(t.TempDir(), "state")}
}

func dial(t *testing.T, name string) (*Client, *logged) {
	t.Helper()
	said := &logged{}
	c, err := Dial(t.Context(), localEndpoint(t, name), Options{Log: said.add})
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil && !strings.Contains(err.Error(), "agent ended") {
			t.Error(err)
		}
	})
	return c, said
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if err == nil || !strings.Contains(err.Error(), p) {
			t.Fatalf("error %v, want one with %q", err, p)
		}
	}
}
