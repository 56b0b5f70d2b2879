package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"linerate/internal/facts"
	"linerate/internal/fleet"
	"linerate/internal/host"
	"linerate/internal/kernel"
)

// answers are what a simulated host says, by method.
type answers map[string]json.RawMessage

// recorded reads this machine once.
func recorded() (answers, error) {
	f, err := facts.Read(context.Background(), kernel.Live{}, "bench", time.Now())
	if err != nil {
		return nil, err
	}
	a := answers{}
	for method, v := range map[string]any{
		"facts": f,
		"hello": host.Hello{Protocol: host.Protocol, Build: "bench", BootID: "bench", OS: "linux", Arch: "amd64", Capabilities: []string{}, Clock: time.Now()},
	} {
		if a[method], err = json.Marshal(v); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// simulated is a host: what it answers, and the samples that it sends.
type simulated struct {
	answers
	name  string
	beats *beats
}

// host is what its agent is given.
func (s simulated) host() fleet.Host {
	return fleet.Host{Serve: s.serve, Reads: host.Reads, Boot: "bench", Build: "bench", Now: time.Now, Log: func(string) {}}
}

func (s simulated) serve(ctx context.Context, in io.Reader, out io.WriteCloser, _ string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	write := func(line []byte) error {
		mu.Lock()
		defer mu.Unlock()
		_, err := out.Write(append(line, '\n'))
		return err
	}
	ended := make(chan int, 1)
	sampling, stop := context.WithCancel(ctx)
	defer stop()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		result, ok := s.answers[r.Method]
		switch r.Method {
		case "sample.start":
			result, ok = json.RawMessage(`{"id":1}`), true
			go func() { ended <- s.beats.send(sampling, s.name, write) }()
		case "sample.stop":
			stop()
			result, ok = fmt.Appendf(nil, `{"count":%d}`, <-ended), true
		}
		if !ok {
			return fmt.Errorf("a simulated host was asked for %s", r.Method)
		}
		if err := write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result)); err != nil {
			return err
		}
	}
	return lines.Err()
}

// process is the one with all agents.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	end func() error
}

func startAgents(creds []fleet.Credential) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self, agentsRole)}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.end = sync.OnceValue(func() error {
		if err := p.in.Close(); err != nil {
			return err
		}
		return p.cmd.Wait()
	})
	e := json.NewEncoder(p.in)
	for _, c := range creds {
		if err := e.Encode(c); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// cost is what a process has used, and what went over the loopback.
type cost struct {
	cpu   time.Duration
	rss   int64 // bytes
	bytes int64
}

// costOf reads the cost of a process (proc(5): stat, statm) and of the loopback.
func costOf(pid int) (c cost, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return c, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 22 {
		return c, fmt.Errorf("read /proc/%d/stat: %d fields", pid, len(fields))
	}
	var n [3]int64
	for i, at := range []int{11, 12, 21} { // utime, stime, rss
		if n[i], err = strconv.ParseInt(fields[at], 10, 64); err != nil {
			return c, err
		}
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100
	c.cpu, c.rss = tick*time.Duration(n[0]+n[1]), n[2]*int64(os.Getpagesize())
	text, err := os.ReadFile("/proc/self/net/dev")
	if err != nil {
		return c, err
	}
	for line := range strings.Lines(string(text)) {
		if name, counters, ok := strings.Cut(strings.TrimSpace(line), ":"); ok && name == "lo" {
			c.bytes, err = strconv.ParseInt(strings.Fields(counters)[0], 10, 64)
		}
	}
	return c, err
}

// agentsCost is the cost of all agents together; nothing before they are started.
func (x *bench) agentsCost() (cost, error) {
	if x.agents == nil {
		return cost{}, nil
	}
	return costOf(x.agents.cmd.Process.Pid)
}

// measure prints a row of the table: what it took to do something.
func (x *bench) measure(what string, do func() error) error {
	me, err := costOf(os.Getpid())
	if err != nil {
		return err
	}
	pid := x.b.PID()
	its, err := costOf(pid)
	if err != nil {
		return err
	}
	hosts, err := x.agentsCost()
	if err != nil {
		return err
	}
	began := time.Now()
	if err := do(); err != nil {
		return err
	}
	took := time.Since(began)
	after, err := costOf(os.Getpid())
	if err != nil {
		return err
	}
	b, err := costOf(x.b.PID())
	if err != nil {
		return err
	}
	hostsAfter, err := x.agentsCost()
	if err != nil {
		return err
	}
	if x.b.PID() != pid {
		its.cpu = 0
	}
	fmt.Printf("| %s | %.1f s | %.2f | %d | %.2f | %d | %.2f | %d |\n", what, took.Seconds(), (after.cpu - me.cpu).Seconds(), after.rss/1e6,
		(b.cpu - its.cpu).Seconds(), b.rss/1e6, (hostsAfter.cpu - hosts.cpu).Seconds(), (after.bytes-me.bytes)/int64(x.n))
	return nil
}
