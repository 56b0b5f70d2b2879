package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// work is a command that a mishap is put into.
type work struct {
	name   string
	weight int // how often, against the others
	// has are the roles of the processes that it has, beside the controller.
	has []string
	// hosts are those that it may change: of the lab, and "" for the station itself.
	hosts []string
	// keeps: what it changes stays when all goes well, until it is undone.
	keeps bool
	// changes: it may change settings at all. What does not must not say so either.
	changes bool
	// again: the same command once more, unharmed, has to end well and claim nothing wrong.
	again  bool
	before func(ctx context.Context, s *station) error
	args   func(s *station) []string
	// claims are what its words claim that is not so, where it ended well.
	claims func(ctx context.Context, s *station, said string, before, now map[string]string) []string
	labs   bool // it makes a lab by itself
	// lab is one more that the work has to itself, as lab up takes it.
	lab []string
}

// Roles of processes.
const (
	agent, worker, mover, watcher, ssh, sshd = "agent", "worker", "mover", "tune-watch", "ssh", "sshd"
)

// clock is the role of a host whose clock can be set.
const clock = "clock"

const kernelHost = "kern/client1"

var ownKernel = []string{"back-to-back", "--kernel", "client1", "--name", "kern"}

// within is the time to confirm of what the bench itself applies: longer than what it applies takes
// on a busy machine, so that what is said of it can be held against what is.
const within = 30 * time.Second

// confirms is the work whose failure leaves to the hosts what waits.
const confirms = "tune confirm"

func fixed(args ...string) func(*station) []string {
	return func(*station) []string { return args }
}

// ofBench are settings whose change is harmless anywhere.
func ofBench(host string) []string {
	return []string{"tune", "apply", host, "--set", "tcp_slow_start_after_idle=0", "--set", "tcp_notsent_lowat=131072"}
}

func works() []work {
	both := []string{"wan-16ms/client1", "wan-16ms/server1"}
	waits := []string{"--confirm-within", within.String()}
	return []work{
		{name: "load tcp", weight: 2, has: []string{agent, worker}, hosts: both,
			args: fixed("load", "tcp", "lab:client1", "lab:server1", "--seconds", "1", "--warmup", "100ms")},
		{name: "load file", weight: 1, has: []string{agent, worker}, hosts: both, before: clearData, again: true,
			args: func(s *station) []string {
				return []string{"load", "file", s.data("files"), "--on", "lab:client1,lab:server1", "-s", "2m", "-i", "0"}
			}},
		{name: "load block", weight: 1, has: []string{agent, worker}, hosts: both, before: blockFile,
			args: func(s *station) []string {
				f := s.data("block")
				return []string{"load", "block", f, "--on", "lab:client1", "--for", "1s", "--read", "50", "--destroy", f}
			}},
		{name: "tune apply", weight: 3, has: []string{agent, watcher}, hosts: both[:1], keeps: true, changes: true,
			args: fixed(append(ofBench("lab:client1"), waits...)...), claims: inForce},
		{name: "tune undo", weight: 2, has: []string{agent}, hosts: both[:1], keeps: true, changes: true, before: applied,
			args: fixed("tune", "undo", "lab:client1"), claims: asFirst},
		{name: confirms, weight: 2, has: []string{agent, watcher}, hosts: both[:1], keeps: true, changes: true, before: applying,
			args: fixed("tune", "confirm", "lab:client1"), claims: staysInForce},
		{name: "tune apply by ssh", weight: 3, has: []string{agent, watcher, ssh, sshd}, hosts: []string{""}, keeps: true, changes: true,
			args: fixed(append(ofBench("server1"), waits...)...), claims: inForce},
		{name: "tune apply for good by ssh", weight: 2, has: []string{agent, ssh, sshd}, hosts: []string{""}, keeps: true, changes: true,
			args: fixed(append(ofBench("server1"), "--confirm-within", "0")...), claims: inForce},
		{name: "tune undo by ssh", weight: 2, has: []string{agent, ssh, sshd}, hosts: []string{""}, keeps: true, changes: true, before: appliedHere,
			args: fixed("tune", "undo", "server1"), claims: asFirst},
		{name: "load tcp by ssh", weight: 2, has: []string{agent, worker, ssh, sshd}, hosts: []string{""},
			args: fixed("load", "tcp", "localhost", "server1", "--via", "127.0.0.1", "--seconds", "1", "--warmup", "100ms")},
		{name: "explain --load", weight: 2, has: []string{agent, worker}, hosts: both,
			args: fixed("explain", "lab:client1", "lab:server1", "--load")},
		{name: "study run", weight: 1, has: []string{agent, worker, watcher}, hosts: both, changes: true,
			args: func(s *station) []string {
				return []string{"study", "run", filepath.Join(s.Home, "study.yaml"), "--yes", "--seed", "3"}
			}},
		{name: "fix", weight: 1, has: []string{agent, worker, watcher}, hosts: both, keeps: true, changes: true,
			args: fixed("fix", "lab:client1", "lab:server1", "--yes", "--budget", "60s")},
		{name: "demo", weight: 1, labs: true, has: []string{agent, worker, watcher}, hosts: both,
			args: fixed("demo", "--fault", "window")},
		{name: "watch", weight: 1, has: []string{agent}, hosts: both,
			args: fixed("watch", "lab:client1", "lab:server1", "--once")},
		{name: "copy here", weight: 1, has: []string{mover}, hosts: []string{""}, before: clearData, claims: copied, again: true,
			args: func(s *station) []string { return []string{"copy", s.source() + "/", s.data("copy") + "/"} }},
		{name: "copy in the lab", weight: 2, has: []string{agent, mover}, hosts: both, before: clearData, claims: copied, again: true,
			args: func(s *station) []string {
				return []string{"copy", "lab:client1:" + s.source() + "/", "lab:server1:" + s.data("copy") + "/"}
			}},
		{name: "copy by ssh", weight: 2, has: []string{agent, mover, ssh, sshd}, hosts: []string{""}, before: clearData, claims: copied, again: true,
			args: func(s *station) []string {
				return []string{"copy", s.source() + "/", "server1:" + s.data("copy") + "/", "--via", "127.0.0.1"}
			}},
		{name: "tune apply, a kernel of its own", weight: 1, has: []string{clock}, lab: ownKernel, hosts: []string{kernelHost}, keeps: true, changes: true,
			args: fixed(append(ofBench("lab:"+kernelHost), waits...)...), claims: inForce},
		{name: "load tcp, a kernel of its own", weight: 1, has: []string{clock}, lab: ownKernel,
			args: fixed("load", "tcp", "lab:"+kernelHost, "lab:kern/server1", "--seconds", "3", "--warmup", "100ms", "--json"), claims: plausible},
	}
}

func workNamed(name string) (work, error) {
	all := works()
	i := slices.IndexFunc(all, func(w work) bool { return w.name == name })
	if i < 0 {
		return work{}, fmt.Errorf("no work %q", name)
	}
	return all[i], nil
}

// studyText changes a setting of one host, again and again.
const studyText = `v: 1
name: faults
question: does the window matter at 16 ms?
hosts: {client: lab:client1, server: lab:server1}
factors:
  - name: rmem
    levels:
      - name: tiny
        set: {server: {linux.sysctl.net.ipv4.tcp_rmem: 4096 16384 65536}}
workloads:
  - {name: bulk, senders: [client], receivers: [server], seconds: 0.3, warmup: 100ms}
primary: bulk
protocol: {name: linerate, design: one-at-a-time, looks: [8], aa: 1}
`

// inForce: what was applied is there, unless its time may be over by now on a busy machine.
func inForce(_ context.Context, s *station, _ string, before, now map[string]string) []string {
	if len(differ(before, now)) == 0 && time.Since(s.begun) < within {
		return []string{"exit code 0, and nothing is in force"}
	}
	return nil
}

// asFirst: all is as it was before the bench changed anything.
func asFirst(_ context.Context, s *station, _ string, _, now map[string]string) []string {
	return differ(s.first, now)
}

// staysInForce: what was confirmed is there when its time would have been over.
func staysInForce(ctx context.Context, s *station, _ string, _, _ map[string]string) []string {
	if err := wait(ctx, within+time.Second); err != nil {
		return nil
	}
	now, err := s.settings(ctx)
	if err == nil && len(differ(s.first, now)) == 0 {
		return []string{"confirmed, and undone nevertheless"}
	}
	return nil
}

var (
	goodputOf = regexp.MustCompile(`"goodput_bps": ([0-9.e+-]+)`)
	windowOf  = regexp.MustCompile(`"window_ns": ([0-9]+)`)
)

// plausible: it measured for the three seconds that it was to, and no more than the link of
// 1 Gbit/s carries.
func plausible(_ context.Context, _ *station, said string, _, _ map[string]string) (wrong []string) {
	for what, x := range map[string]struct {
		of       *regexp.Regexp
		from, to float64
	}{"goodput_bps": {goodputOf, 1e6, 1.01e9}, "window_ns": {windowOf, 2.9e9, 3.5e9}} {
		m := x.of.FindStringSubmatch(said)
		if m == nil {
			wrong = append(wrong, "no "+what)
			continue
		}
		if v, err := strconv.ParseFloat(m[1], 64); err != nil || v < x.from || v > x.to {
			wrong = append(wrong, what+" is "+m[1])
		}
	}
	return wrong
}

// copied: the target is the source.
func copied(_ context.Context, s *station, _ string, _, _ map[string]string) []string {
	out, err := exec.Command("diff", "-rq", s.source(), s.data("copy")).CombinedOutput()
	if err != nil {
		return []string{"exit code 0, and the target differs: " + headLine(string(out))}
	}
	return nil
}

func (s *station) data(name string) string { return filepath.Join(s.Home, "data", name) }
func (s *station) source() string          { return filepath.Join(s.Home, "source") }

// makeSource writes the tree that copies copy.
func (s *station) makeSource() error {
	for i := range 60 {
		dir := filepath.Join(s.source(), fmt.Sprint(i%4))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		text := strings.Repeat(fmt.Sprintf("file %d of the bench\n", i), 500*(1+i%7*i%7*10))
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("f", i)), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func clearData(_ context.Context, s *station) error {
	if err := os.RemoveAll(filepath.Join(s.Home, "data")); err != nil {
		return err
	}
	return os.MkdirAll(s.data("files"), 0o755)
}

func blockFile(ctx context.Context, s *station) error {
	if err := clearData(ctx, s); err != nil {
		return err
	}
	return os.WriteFile(s.data("block"), make([]byte, 4<<20), 0o644)
}

// applied has changes in force that wait for nobody.
func applied(ctx context.Context, s *station) error {
	_, err := s.Run(ctx, append(ofBench("lab:client1"), "--confirm-within", "0")...)
	return err
}

// appliedHere is applied for the host that ssh leads to.
func appliedHere(ctx context.Context, s *station) error {
	_, err := s.Run(ctx, append(ofBench("localhost"), "--confirm-within", "0")...)
	return err
}

// applying has changes in force that wait to be confirmed.
func applying(ctx context.Context, s *station) error {
	_, err := s.Run(ctx, append(ofBench("lab:client1"), "--confirm-within", within.String())...)
	return err
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func headLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}
