package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/lab"
	"linerate/internal/lab/topology"
	"linerate/internal/model"
)

// copyRole in the environment makes the test binary one end of a plain TCP
// copy, such as any program would make: "sink ADDR" or "source ADDR".
const copyRole = "LINERATE_TEST_COPY"

// burstBytes is what the role "burst" sends and "count" takes in.
const burstBytes = 4 << 20

// plainCopy runs until its peer or its stdin ends.
func plainCopy(role string) error {
	if what, addr, _ := strings.Cut(role, " "); what == "count" || what == "burst" {
		return countedCopy(what, addr)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is the signal
		os.Exit(0)
	}()
	what, addr, _ := strings.Cut(role, " ")
	if what == "sink" {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return err
		}
		if _, err := os.Stdout.WriteString("listening\n"); err != nil {
			return err
		}
		c, err := l.Accept()
		if err != nil {
			return err
		}
		_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{c}, make([]byte, 256<<10))
		return err
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	block := make([]byte, 256<<10)
	for {
		if _, err := c.Write(block); err != nil {
			return err
		}
	}
}

// countedCopy moves burstBytes; the receiver says "ready", and then how many
// bytes came in how many seconds from the first on.
func countedCopy(what, addr string) error {
	if what == "burst" {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write(make([]byte, burstBytes))
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	c, err := l.Accept()
	if err != nil {
		return err
	}
	started := time.Now()
	n, err := io.Copy(io.Discard, c)
	fmt.Println(n, time.Since(started).Seconds())
	return err
}

// bareLab is a lab with a fault in place.
func bareLab(t *testing.T, fault string) *lab.Lab {
	t.Helper()
	t.Setenv(asProgram, "1")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := lab.FindFault(fault)
	if err != nil {
		t.Fatal(err)
	}
	network, err := topology.Demo()
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(t.TempDir(), "state") // the lab makes it, private
	ctx := context.Background()
	l, err := lab.Up(ctx, f.Topology(network), lab.Options{Self: []string{exe}, StateDir: state})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := l.Inject(ctx, f); err != nil {
		t.Fatal(err)
	}
	return l
}

// labWithCopy is a lab with a fault in which a plain TCP copy runs.
func labWithCopy(t *testing.T, fault string) *lab.Lab {
	t.Helper()
	l := bareLab(t, fault)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	addr := net.JoinHostPort(l.Addr("server1").String(), "5201")
	sink := startCopy(t, l.Enter("server1"), exe, "sink "+addr)
	if _, err := io.ReadFull(sink, make([]byte, len("listening\n"))); err != nil {
		t.Fatalf("the sink did not come up: %v", err)
	}
	startCopy(t, l.Enter("client1"), exe, "source "+addr)
	return l
}

func startCopy(t *testing.T, enter []string, exe, role string) io.Reader {
	t.Helper()
	argv := append(append([]string{}, enter...), exe)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), copyRole+"="+role)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close() // it is the end of the copy, whatever Close says
		_ = cmd.Wait()    // a copy that is cut off fails by design
	})
	return stdout
}

// explainIn runs linerate explain inside a host of the lab.
func explainIn(t *testing.T, l *lab.Lab, host string, args ...string) (model.Outcome, int) {
	t.Helper()
	p := program(t, home(t), append([]string{"explain", "--json"}, args...)...)
	argv := append(append([]string{}, l.Enter(host)...), p.Args...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = p.Env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		t.Fatal(err)
	}
	var out model.Outcome
	if err == nil {
		if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
			t.Fatalf("%v in %s", err, stdout.String())
		}
	}
	t.Logf("%s: exit %d, %s %s", host, cmd.ProcessState.ExitCode(), out.Verdict.Line, strings.TrimSpace(stderr.String()))
	return out, cmd.ProcessState.ExitCode()
}

func TestExplainNamesTheLimiterOfARunningCopyFromEitherEnd(t *testing.T) {
	needRoot(t)
	l := labWithCopy(t, "window")
	from, code := explainIn(t, l, "client1", "--attach", l.Addr("server1").String()+":5201", "--for", "4s", "--line-rate", "1Gbit")
	if code != 0 || from.Verdict.Limiter != model.ReceiverWindow {
		t.Errorf("from the sender: exit %d, named %s", code, from.Verdict.Limiter)
	}
	if len(from.Verdict.CouldNotSee) == 0 {
		t.Error("from the sender: does not say that the receiver was not seen")
	}
	to, code := explainIn(t, l, "server1", "--attach", l.Addr("client1").String()+":5201", "--for", "4s", "--line-rate", "1Gbit")
	if code != 0 || to.Verdict.Limiter != model.ReceiverWindow {
		t.Errorf("from the receiver: exit %d, named %s", code, to.Verdict.Limiter)
	}
	if len(from.Ladder) != 9 || from.Ladder[8].Rung != "whole path" || !from.Ladder[8].Seen {
		t.Errorf("the ladder: %+v", from.Ladder)
	}
	if _, err := os.Stat(filepath.Clean(from.Report)); err != nil {
		t.Errorf("the report: %v", err)
	}
}

func TestExplainSaysWhenThereIsNothingToWatch(t *testing.T) {
	needRoot(t)
	l := labWithCopy(t, "none")
	if _, code := explainIn(t, l, "client1", "--attach", l.Addr("server1").String()+":80", "--for", "24s"); code != ExitNothing {
		t.Errorf("exit code %d, want %d", code, ExitNothing)
	}
}
