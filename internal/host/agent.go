package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/creachadair/jrpc2"

	"linerate/internal/kernel"
	"linerate/internal/probe"
	"linerate/internal/tune"
)

// AgentOptions is what the process of an agent passes to it.
type AgentOptions struct {
	// StateDir holds the journal; empty is DefaultStateDir.
	StateDir string
	// Deployed: this binary was copied here for the session. It is kept in
	// StateDir if changes are still open when the session ends.
	Deployed bool
	// Self is the argv by which this binary is started, for workers.
	Self  []string
	Build string
	// By is for whom it acts, as the journal has it; empty: a controller that started it.
	By  string
	Now func() time.Time // the host's wall clock; nil is time.Now
	Log io.Writer        // the agent's stderr; nil drops it
}

// rootStateDir is where root's agent keeps its journal.
const rootStateDir = "/var/lib/linerate"

// rootsJournal is an error where root has a state directory, which this user may not read: whether
// there is a journal in it, and what it holds, is not known, and the user's own says nothing about it.
func rootsJournal(uid int, dir string) error {
	if _, err := os.Lstat(dir); uid <= 0 || err != nil {
		return nil
	}
	return fmt.Errorf("whether root changed anything here by linerate is not known: %s is there, and user %d may not read it: log in as root, or allow sudo -n", dir, uid)
}

// DefaultStateDir is where an agent keeps its journal unless told otherwise: /var/lib/linerate
// for root, else linerate in the user's XDG state directory where one is named, else
// linerate\state in %LOCALAPPDATA%, which is of Windows and the user's alone (ProgramData is open
// to all), else ~/.local/state/linerate.
func DefaultStateDir(uid int, getenv func(string) string) (string, error) {
	if uid == 0 {
		return rootStateDir, nil
	}
	if d := getenv("XDG_STATE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "linerate"), nil
	}
	if d := getenv("LOCALAPPDATA"); filepath.IsAbs(d) {
		return filepath.Join(d, "linerate", "state"), nil
	}
	if h := getenv("HOME"); h != "" {
		return filepath.Join(h, ".local", "state", "linerate"), nil
	}
	return "", errors.New("find state directory: none of XDG_STATE_HOME, LOCALAPPDATA and HOME is set")
}

// ParseAgentArgs reads the arguments of the hidden subcommand agent:
// [--deployed] [STATEDIR].
func ParseAgentArgs(args []string) (stateDir string, deployed bool, err error) {
	if len(args) > 0 && args[0] == "--deployed" {
		deployed, args = true, args[1:]
	}
	if len(args) > 1 || len(args) == 1 && !filepath.IsAbs(args[0]) {
		return "", false, fmt.Errorf("read arguments of agent: want [--deployed] [absolute state directory], got %q", args)
	}
	if len(args) == 1 {
		stateDir = args[0]
	}
	return stateDir, deployed, nil
}

// AgentMain is a whole agent: it serves JSON-RPC on stdin and stdout until stdin or ctx ends,
// and then stops everything that it has started.
func AgentMain(ctx context.Context, stdin io.Reader, stdout io.WriteCloser, o AgentOptions) error {
	// When the controller is gone, SIGPIPE must not kill the agent before it has stopped what
	// it runs.
	signal.Ignore(syscall.SIGPIPE)
	a, err := newAgent(o)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	srv := jrpc2.NewServer(a.methods(), &jrpc2.ServerOptions{
		AllowPush: true, DisableBuiltin: true, Concurrency: 2*maxWorkers + maxSamplers + maxProbes + 2*MaxTunnels + 16,
		NewContext: func() context.Context { return ctx },
	})
	a.push = srv.Notify
	a.overdue(ctx)
	a.tidyCopies()
	srv.Start(newLines(stdin, stdout))
	served := make(chan error, 1)
	go func() { served <- srv.Wait() }()
	select {
	case err = <-served:
	case <-ctx.Done():
		// The server may be blocked in a read of stdin: it ends with the process.
		err = context.Cause(ctx)
	}
	cancel()
	return errors.Join(err, a.end())
}

type agent struct {
	o       AgentOptions
	src     kernel.Source
	began   time.Time // by the clock that nobody sets
	tuner   *tune.Tuner
	push    func(ctx context.Context, method string, params any) error
	workers table[*process]
	samples table[*sampling]
	probes  table[*probe.Socket]
	tunnels table[net.Conn]
	copied  *os.File // the copy that it was started from, held until it ends; nil: none
	hidden  error    // of rootsJournal
}

func newAgent(o AgentOptions) (*agent, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.By == "" {
		o.By = "linerate agent"
	}
	var hidden error
	if o.StateDir == "" {
		d, err := DefaultStateDir(os.Getuid(), os.Getenv)
		if err != nil {
			return nil, err
		}
		o.StateDir, hidden = d, rootsJournal(os.Getuid(), rootStateDir)
	}
	a := &agent{o: o, hidden: hidden, src: kernel.Live{}, began: time.Now()}
	a.workers.max, a.workers.what = maxWorkers, "workers"
	a.samples.max, a.samples.what = maxSamplers, "samplings"
	a.probes.max, a.probes.what = maxProbes, "probes"
	a.tunnels.max, a.tunnels.what = MaxTunnels, "tunnels"
	a.tuner = &tune.Tuner{Dir: o.StateDir, BootID: a.bootID(), By: o.By, Setters: a.setters(), Now: o.Now, RunScript: kernel.Run, Uptime: kernel.Root("").Uptime}
	if len(o.Self) > 0 {
		a.tuner.Program = o.Self[0]
	}
	a.tuner.DeadMan, a.tuner.Persisting, a.tuner.Interfaces = a.deadMan(), a.persisting, a.interfaces
	return a, nil
}

// end stops everything that was started, and keeps the binary if open changes will need it.
func (a *agent) end() error {
	for _, s := range a.samples.drain() {
		s.stop()
	}
	workers := a.workers.drain()
	for _, c := range a.tunnels.drain() {
		_ = c.Close() // whoever waits on it is gone
	}
	for _, w := range workers {
		w.cancel() // all at once: each may take its time
	}
	for _, w := range workers {
		w.stop()
	}
	var errs []error
	for _, p := range a.probes.drain() {
		errs = append(errs, p.Close())
	}
	if a.o.Deployed {
		errs = append(errs, a.keepBinary())
	}
	return errors.Join(errs...)
}

// handlers maps names to methods.
type handlers map[string]served

// served is a method with the function that answers it.
type served struct {
	effect effect
	handle jrpc2.Handler
}

// Assign implements jrpc2.Assigner.
func (h handlers) Assign(_ context.Context, method string) jrpc2.Handler { return h[method].handle }

// methods says who serves each method of the protocol.
func (a *agent) methods() handlers {
	h := handlers{}
	serve(h, methodHello, a.hello)
	serve(h, methodClock, a.clock)
	serve(h, methodFacts, a.facts)
	serve(h, methodThermal, a.thermal)
	serve(h, methodFiles, a.files)
	serve(h, methodRead, a.readSetting)
	serve(h, methodApply, a.apply)
	serve(h, methodUndo, a.undo)
	serve(h, methodConfirm, a.confirm)
	serve(h, methodPersist, a.persist)
	serve(h, methodPlanFiles, a.planFiles)
	serve(h, methodWaiting, a.waiting)
	serve(h, methodProbe, probePath)
	serve(h, methodToward, a.lookToward)
	serve(h, methodSource, a.sourceTo)
	serve(h, methodJournal, a.openJournal)
	serve(h, methodHistory, a.history)
	serve(h, methodLeave, a.leave)
	serve(h, methodSample, a.startSampling)
	serve(h, methodSampleStop, a.stopSampling)
	serve(h, methodWorker, a.startWorker)
	serve(h, methodWorkerEvent, a.workerEvent)
	serve(h, methodWorkerBegin, a.beginWorker)
	serve(h, methodWorkerSeen, a.workerSeen)
	serve(h, methodWorkerStop, a.stopWorker)
	serve(h, methodWorkerEnd, a.endWorker)
	serve(h, methodMover, a.startMover)
	serve(h, methodMoverTell, a.tellMover)
	serve(h, methodMoverEvents, a.takeEvents)
	serve(h, methodTunnelOpen, a.openTunnel)
	serve(h, methodTunnelSend, a.sendTunnel)
	serve(h, methodTunnelReceive, a.receiveTunnel)
	serve(h, methodTunnelClose, a.closeTunnel)
	serve(h, methodProbeOpen, a.openProbe)
	serve(h, methodProbeSend, a.sendProbe)
	serve(h, methodProbeAwait, a.awaitProbe)
	serve(h, methodProbeEcho, a.echoProbe)
	serve(h, methodProbeClose, a.closeProbe)
	serve(h, methodSwitch, a.hearSwitches)
	return h
}

// Reads tells whether a method of agents changes nothing and puts no load on anything; known is
// false if there is no such method.
func Reads(name string) (harmless, known bool) {
	m, known := (&agent{}).methods()[name]
	return m.effect == reads, known
}

// serve registers f as the answer to a method. It refuses fields that the method's parameters
// do not have.
func serve[P, R any](h handlers, m method[P, R], f func(context.Context, P) (R, error)) {
	h[m.name] = served{m.effect, func(ctx context.Context, req *jrpc2.Request) (any, error) {
		var p P
		if req.HasParams() {
			if err := decodeStrict(req.ParamString(), &p); err != nil {
				return nil, fmt.Errorf("read parameters: %w", err)
			}
		}
		r, err := f(ctx, p)
		if err != nil {
			return nil, err
		}
		return r, nil
	}}
}

func (a *agent) clock(context.Context, none) (clockResult, error) { return clockResult{a.o.Now()}, nil }

func (a *agent) history(context.Context, none) ([]tune.Entry, error) {
	if a.hidden != nil {
		return nil, a.hidden
	}
	return a.tuner.History()
}

func (a *agent) hello(context.Context, none) (Hello, error) {
	h := Hello{
		Protocol: Protocol, Build: a.o.Build, UID: os.Getuid(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Clock: a.o.Now(), BootID: a.bootID(),
	}
	for m := range a.methods() {
		h.Capabilities = append(h.Capabilities, m)
	}
	slices.Sort(h.Capabilities)
	return h, nil
}

// bootID differs from boot to boot of the host; empty if the OS has none.
func (a *agent) bootID() string {
	b, _ := a.src.ReadFile("/proc/sys/kernel/random/boot_id") // not there: empty
	return strings.TrimSpace(string(b))
}
