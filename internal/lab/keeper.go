package lab

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/lab/fabric"
	"linerate/internal/lab/fault"
	"linerate/internal/lab/topology"
	"linerate/internal/lab/wire"
	"linerate/internal/model"
)

// Order is the task of a keeper on its standard input: one JSON line.
type Order struct {
	Name     string `json:"name"`
	File     string `json:"file"` // name of the topology's file, for messages
	YAML     []byte `json:"yaml"`
	FullRate bool   `json:"full_rate"`
	Seed     uint64 `json:"seed"`
	// Serve maps hosts to the kinds of servers they have beside the file's.
	Serve map[string][]string `json:"serve,omitempty"`
	// Kinds maps hosts to kinds other than the file's.
	Kinds map[string]topology.Kind `json:"kinds,omitempty"`
}

// News is what a keeper says on its standard output until the lab is up: one
// JSON line each.
type News struct {
	Step  string `json:"step,omitempty"`
	Error string `json:"error,omitempty"`
	Up    bool   `json:"up,omitempty"`
}

// Status is all there is to know of a lab that is up.
type Status struct {
	Name     string          `json:"name"`
	ID       string          `json:"id"`
	Topology string          `json:"topology"`
	Title    string          `json:"title"`
	FullRate bool            `json:"full_rate"`
	Since    time.Time       `json:"since"`
	Hosts    []HostStatus    `json:"hosts"`
	Links    []LinkStatus    `json:"links"`
	Servers  []ServerStatus  `json:"servers"`
	Faults   []Injected      `json:"faults"`
	LeftOut  []string        `json:"left_out"`
	Flow     FlowStatus      `json:"flow"`
	Warnings []model.Warning `json:"warnings"`
}

// HostStatus is one emulated host.
type HostStatus struct {
	Name     string        `json:"name"`
	Kind     topology.Kind `json:"kind"`
	PID      int           `json:"pid"` // of the process that keeps it alive
	CPUs     []int         `json:"cpus"`
	Data     string        `json:"data_address"`
	Ports    []PortStatus  `json:"interfaces"`
	StateDir string        `json:"state_dir"`
	// Program is this very program inside the host; empty: as outside.
	Program []string `json:"program,omitempty"`
}

// PortStatus is an interface of a host.
type PortStatus struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	MTU     int    `json:"mtu"` // as built
}

// ServerStatus is one storage server, and how clients get at it: commands in
// which FILE is a file of the client and NAME one on the share.
type ServerStatus struct {
	Host  string   `json:"host"`
	Kind  string   `json:"kind"`
	URL   string   `json:"url"`
	Share string   `json:"share"` // inside the host
	Put   []string `json:"put,omitempty"`
	Get   []string `json:"get,omitempty"`
	Mount []string `json:"mount,omitempty"` // at DIR
	Logs  string   `json:"logs"`
}

// LinkStatus is one link with its counters; index 0 leads from A to B.
type LinkStatus struct {
	ID     string                   `json:"id"`
	A      string                   `json:"a"`
	B      string                   `json:"b"`
	Direct bool                     `json:"direct,omitempty"`
	Shapes [2]topology.Shape        `json:"shapes"`
	Counts [2]fabric.DirectionStats `json:"counts"`
}

// FlowStatus is what the topology is about, and what its path can carry.
type FlowStatus struct {
	From []string      `json:"from"`
	To   string        `json:"to"`
	Rate float64       `json:"rate_bps"`
	RTT  time.Duration `json:"rtt_ns"`
	MTU  int           `json:"mtu"`
}

// Injected is a fault that is in place.
type Injected struct {
	Number  int             `json:"number"`
	What    string          `json:"what"`
	Limiter model.LimiterID `json:"limiter"`
	Since   time.Time       `json:"since"`
	By      string          `json:"by,omitempty"` // the study that put it in, and takes it out; empty: a user

	host string // whose kernel holds it
	undo fault.Undo
}

// keeper keeps a lab until a client has it taken down.
type keeper struct {
	mu     sync.Mutex // one request at a time
	lab    *Lab
	order  Order
	since  time.Time
	now    func() time.Time
	faults []Injected
	next   int
	done   chan struct{} // closed once the client that took the lab down has its answer
	end    sync.Once
}

// KeepMain is the hidden subcommand lab-keep: it builds the lab that standard
// input orders, reports its progress on standard output, and then keeps it
// until a client has it taken down or it gets a SIGTERM. It returns the exit
// status.
func KeepMain(ctx context.Context, o Options, stdin io.Reader, stdout io.Writer, now func() time.Time) int {
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	say := func(n News) {
		// Whoever started the lab may have gone; the lab stays.
		_ = json.NewEncoder(stdout).Encode(n)
	}
	k, ln, err := startKeeper(ctx, o, stdin, say, now)
	var ex net.Listener
	if err == nil {
		ex, err = listenExec(o.StateDir, k.order.Name)
	}
	if err != nil {
		say(News{Error: err.Error()})
		return 1
	}
	say(News{Up: true})
	if c, ok := stdout.(io.Closer); ok {
		_ = c.Close() // the end of the news
	}
	go accept(ln, k.serve)
	go accept(ex, k.serveExec)
	select {
	case <-k.done:
	case <-ctx.Done():
		err = k.takeDown(context.WithoutCancel(ctx))
	}
	if err = errors.Join(err, ln.Close(), ex.Close(), removeEmpty(o.StateDir)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func startKeeper(ctx context.Context, o Options, stdin io.Reader, say func(News), now func() time.Time) (*keeper, net.Listener, error) {
	line, err := bufio.NewReader(stdin).ReadBytes('\n')
	if err != nil {
		return nil, nil, fmt.Errorf("read order: %w", err)
	}
	k := &keeper{done: make(chan struct{}), next: 1, now: now}
	if err := json.Unmarshal(line, &k.order); err != nil {
		return nil, nil, fmt.Errorf("read order: %w", err)
	}
	t, err := topology.Parse(k.order.File, k.order.YAML)
	if err != nil {
		return nil, nil, err
	}
	if t, err = t.WithKinds(k.order.Kinds); err != nil {
		return nil, nil, err
	}
	if t, err = t.Serve(k.order.Serve); err != nil {
		return nil, nil, err
	}
	if err := kernel.PrivateDir(o.StateDir); err != nil {
		return nil, nil, err
	}
	ln, err := listen(o.StateDir, k.order.Name)
	if err != nil {
		return nil, nil, err
	}
	o.Seed = k.order.Seed
	o.Log = func(s string) { say(News{Step: s}) }
	k.lab, err = Up(ctx, t.Scaled(k.order.FullRate), o)
	if err != nil {
		return nil, nil, errors.Join(err, ln.Close())
	}
	k.since = now()
	return k, ln, nil
}

// Names of a keeper's sockets: for requests, and for commands that it starts
// with the descriptors of the client.
const (
	socketSuffix = ".sock"
	execSuffix   = ".exec"
)

func socketPath(stateDir, name string) string { return filepath.Join(stateDir, name+socketSuffix) }

// listen takes the name. A socket without a listener is left of a keeper that was
// killed.
func listen(stateDir, name string) (net.Listener, error) {
	path := socketPath(stateDir, name)
	if c, err := kernel.DialUnix(context.Background(), path); err == nil {
		_ = c.Close()
		return nil, fmt.Errorf("a lab named %s is up already; take it down with: linerate lab down --name %s, or choose another name with --name", name, name)
	}
	return takeName(name, path)
}

// takeName listens on a socket of a lab's name, in place of one that is there.
func takeName(name, path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("take the name %s: %w", name, err)
	}
	ln, err := kernel.ListenUnix(path)
	if err != nil {
		return nil, fmt.Errorf("take the name %s: %w", name, err)
	}
	return ln, nil
}

func accept(ln net.Listener, serve func(net.Conn)) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return // closed: the lab is down
		}
		go serve(c)
	}
}

// serve answers one client. The connection of the client that takes the lab down
// stays open until this process has ended: its end shows that nothing is left. Another
// client that disconnects meanwhile must not end this process.
func (k *keeper) serve(c net.Conn) {
	tookDown := false
	defer func() {
		if tookDown {
			k.end.Do(func() { close(k.done) })
			return
		}
		_ = c.Close()
	}()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	// A client that goes away in the middle is no fault of the lab's.
	_ = wire.Serve(c, c, map[string]wire.Handler{
		"status": wire.Op(func(struct{}) (Status, error) { return locked(k, func() (Status, error) { return k.status(ctx) }) }),
		"enter": wire.Op(func(host string) ([]string, error) {
			return locked(k, func() ([]string, error) { return k.enter(host) })
		}),
		"fault-add": wire.Op(func(args []string) (Injected, error) {
			return locked(k, func() (Injected, error) { return k.addFault(ctx, "", args) })
		}),
		"fault-add-by": wire.Op(func(o faultOrder) (Injected, error) {
			return locked(k, func() (Injected, error) { return k.addFault(ctx, o.By, o.Args) })
		}),
		"fault-check": wire.Op(func(args []string) (struct{}, error) {
			return locked(k, func() (struct{}, error) { _, err := k.parseFault(args); return struct{}{}, err })
		}),
		"fault-remove": wire.Op(func(n int) (Injected, error) {
			return locked(k, func() (Injected, error) { return k.removeFault(ctx, n) })
		}),
		"reboot": wire.Op(func(host string) (struct{}, error) {
			return locked(k, func() (struct{}, error) { return struct{}{}, k.reboot(ctx, host) })
		}),
		"down": wire.Do(func(struct{}) error {
			tookDown = true
			return k.takeDown(ctx)
		}),
	})
}

func locked[T any](k *keeper, f func() (T, error)) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return f()
}

// takeDown removes the lab; a second call waits for the first.
func (k *keeper) takeDown(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lab.Down(context.WithoutCancel(ctx))
}

func (k *keeper) enter(host string) ([]string, error) {
	if _, err := k.lab.find(host); err != nil {
		return nil, err
	}
	return k.lab.Enter(host), nil
}

// reboot refuses if the reboot would remove a fault that the lab still lists.
func (k *keeper) reboot(ctx context.Context, host string) error {
	for _, f := range k.faults {
		if f.host == host {
			return fmt.Errorf("reboot %s: its kernel holds fault %d (%s), which would go with it; remove it first with: linerate lab fault remove %d", host, f.Number, f.What, f.Number)
		}
	}
	return k.lab.Reboot(ctx, host)
}

// faultOrder is a fault with who puts it in.
type faultOrder struct {
	By   string   `json:"by"`
	Args []string `json:"args"`
}

// parseFault reads a fault that this lab can hold.
func (k *keeper) parseFault(args []string) (fault.Injection, error) {
	in, err := fault.Parse(args, k.lab.Topology())
	if err != nil {
		return in, err
	}
	var w, plain model.Workload
	if err := in.Workload(&w, k.lab.Topology()); err != nil {
		return in, err
	}
	if fmt.Sprint(w) != fmt.Sprint(plain) {
		return in, fmt.Errorf("fault %s is one of the application, not of the network or its hosts: a lab cannot hold it; the judge and the demo give it to their own workload", in.Fault)
	}
	return in, nil
}

// addFault injects a fault. One that the same study (by) has injected already is not injected
// again: a request is repeated after a connection broke.
func (k *keeper) addFault(ctx context.Context, by string, args []string) (Injected, error) {
	for _, f := range k.faults {
		if by != "" && f.By == by {
			return f, nil
		}
	}
	in, err := k.parseFault(args)
	if err != nil {
		return Injected{}, err
	}
	undo, err := in.Inject(ctx, k.lab)
	if err != nil {
		return Injected{}, err
	}
	f := Injected{Number: k.next, What: in.String(), Limiter: in.Limiter(), Since: k.now(), By: by, host: in.Host(k.lab.Topology()), undo: undo}
	k.next++
	k.faults = append(k.faults, f)
	return f, nil
}

// removeFault removes a fault. Faults that were injected later and change the same thing are
// removed first: their undo would restore the values that they found, and this fault with them.
func (k *keeper) removeFault(ctx context.Context, number int) (Injected, error) {
	for i, f := range k.faults {
		if f.Number != number {
			continue
		}
		if err := f.undo(ctx); err != nil {
			return f, fmt.Errorf("remove fault %d (%s): %w", number, f.What, err)
		}
		k.faults = append(k.faults[:i], k.faults[i+1:]...)
		return f, nil
	}
	return Injected{}, fmt.Errorf("there is no fault %d; see linerate lab fault list", number)
}
