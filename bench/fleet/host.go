package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
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
	"linerate/internal/model"
	"linerate/internal/unit"
)

// answers are what a simulated host says, by method.
type answers map[string]json.RawMessage

// recorded reads this machine once, and gives it an interface of its own.
func recorded() (answers, error) {
	f, err := facts.Read(context.Background(), kernel.Live{}, "bench", time.Now())
	if err != nil {
		return nil, err
	}
	f.Hostname = anyName
	f.NICs = append(f.NICs, model.NIC{Name: "data0", Up: true, MTU: 1500, Speed: model.Known(unit.Gbit), Addrs: []netip.Prefix{netip.PrefixFrom(ownAddress(anyHost), 16)}})
	a := answers{"journal.history": json.RawMessage("[]"), "switch.hear": json.RawMessage("{}")}
	if a["facts"], err = json.Marshal(f); err != nil {
		return nil, err
	}
	a["hello"], err = json.Marshal(host.Hello{Protocol: host.Protocol, Build: "bench", BootID: "bench", OS: "linux", Arch: "amd64", Capabilities: []string{}, Clock: time.Now()})
	return a, err
}

// What stands in the recorded facts for the name and the address of a host.
const (
	anyName = "name-of-a-host"
	anyHost = 0xfffe
)

// simulated is a host: what it answers, and the samples that it sends.
type simulated struct {
	answers
	i     int
	moves bool // it has a connection to the host beside it
	beats *beats
}

// hostName is what a host is called.
func hostName(i int) string { return fmt.Sprintf("n%04d", i) }

// host is what its agent is given.
func (s simulated) host() fleet.Host {
	now := func() time.Time { return time.Now().Add(ahead(s.i, 0)) }
	return fleet.Host{Serve: s.serve, Reads: host.Reads, Boot: "bench", Build: "bench", Now: now, Log: func(string) {}}
}

// own are the facts of this machine with a name and an address that no other host has.
func (s simulated) own() json.RawMessage {
	text := bytes.Replace(s.answers["facts"], []byte(anyName), []byte(hostName(s.i)), 1)
	return bytes.Replace(text, []byte(ownAddress(anyHost).String()+"/"), []byte(ownAddress(s.i).String()+"/"), 1)
}

// asked is one session with a host.
type asked struct {
	simulated
	write func(line []byte) error
	runs  map[int]sampling // by their ids
	last  int
}

// sampling is one that goes on.
type sampling struct {
	stop  func()
	ended chan tally
}

func (s simulated) serve(ctx context.Context, in io.Reader, out io.WriteCloser, _ string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	x := &asked{simulated: s, runs: map[int]sampling{}, write: func(line []byte) error {
		mu.Lock()
		defer mu.Unlock()
		_, err := out.Write(append(line, '\n'))
		return err
	}}
	defer func() {
		cancel()
		for _, r := range x.runs {
			<-r.ended
		}
	}()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				ID int `json:"id"`
			} `json:"params"`
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		result, err := x.answer(ctx, r.Method, r.Params.ID)
		if err != nil {
			return err
		}
		if err := x.write(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result)); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (x *asked) answer(ctx context.Context, method string, id int) (json.RawMessage, error) {
	switch method {
	case "facts":
		return x.own(), nil
	case "sample.start":
		x.last++
		ctx, stop := context.WithCancel(ctx)
		r, id := sampling{stop, make(chan tally, 1)}, x.last
		x.runs[id] = r
		go func() { r.ended <- x.beats.send(ctx, x.simulated, id, x.write) }()
		return fmt.Appendf(nil, `{"id":%d}`, id), nil
	case "sample.stop":
		r, ok := x.runs[id]
		if !ok { // it was stopped before
			return json.RawMessage(`{"count":0}`), nil
		}
		delete(x.runs, id)
		r.stop()
		t := <-r.ended
		return fmt.Appendf(nil, `{"count":%d,"dropped":%d}`, t.sent, t.dropped), nil
	}
	if result, ok := x.answers[method]; ok {
		return result, nil
	}
	return nil, fmt.Errorf("a simulated host was asked for %s", method)
}

// process is one with agents.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.ReadCloser
	end func() (total, error)
}

// total is what all simulated hosts have sent, and what they dropped by themselves.
type total struct{ Sent, Dropped int64 }

func startAgents(creds []fleet.Credential, t task) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(self, agentsRole)}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.out, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.end = sync.OnceValues(func() (t total, err error) {
		if err := p.in.Close(); err != nil {
			return t, err
		}
		err = json.NewDecoder(p.out).Decode(&t)
		return t, cmp.Or(p.cmd.Wait(), err)
	})
	e := json.NewEncoder(p.in)
	if err := e.Encode(t); err != nil {
		return nil, err
	}
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

// peakRSS is the most memory that this process had since its peak began, in bytes (proc(5): status).
func peakRSS() (int64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("read /proc/self/status: it has no VmHWM")
}

// agentsCost is the cost of all agents together; nothing before they are started.
func (x *bench) agentsCost() (cost, error) {
	var pids []int
	for _, p := range x.agents {
		pids = append(pids, p.cmd.Process.Pid)
	}
	return costOfAll(pids)
}

// brokersCost is the cost of all brokers together.
func (x *bench) brokersCost() (cost, error) {
	var pids []int
	for _, b := range x.brokers {
		pids = append(pids, b.PID())
	}
	return costOfAll(pids)
}

func costOfAll(pids []int) (sum cost, err error) {
	for _, pid := range pids {
		c, err := costOf(pid)
		if err != nil {
			return sum, err
		}
		sum.cpu, sum.rss = sum.cpu+c.cpu, sum.rss+c.rss
	}
	return sum, nil
}

// measure prints a row of the table: what it took to do something.
func (x *bench) measure(what string, do func() error) error {
	me, err := costOf(os.Getpid())
	if err != nil {
		return err
	}
	its, err := x.brokersCost()
	if err != nil {
		return err
	}
	killed := x.killed
	hosts, err := x.agentsCost()
	if err != nil {
		return err
	}
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil { // the peak begins anew: proc(5)
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
	peak, err := peakRSS()
	if err != nil {
		return err
	}
	b, err := x.brokersCost()
	if err != nil {
		return err
	}
	hostsAfter, err := x.agentsCost()
	if err != nil {
		return err
	}
	if x.killed != killed { // what it had used is gone with it
		its.cpu = 0
	}
	fmt.Printf("| %s | %.1f s | %.2f | %d, at most %d | %.2f | %d | %.2f | %d |\n", what, took.Seconds(), (after.cpu - me.cpu).Seconds(), after.rss/1e6, peak/1e6,
		(b.cpu - its.cpu).Seconds(), b.rss/1e6, (hostsAfter.cpu - hosts.cpu).Seconds(), (after.bytes-me.bytes)/int64(x.N))
	return nil
}
