package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/creachadair/jrpc2"

	"linerate/internal/facts"
	"linerate/internal/guide"
	"linerate/internal/kernel"
	"linerate/internal/model"
	"linerate/internal/tune"
	"linerate/internal/tune/deadman"
	"linerate/internal/tune/setter"
)

// setters is the list of mechanisms by which an agent changes its host.
func (a *agent) setters() []setter.Setter { return Setters(a.src) }

func (a *agent) facts(ctx context.Context, p factsParams) (*model.Facts, error) {
	return facts.Read(ctx, a.src, p.Host, a.o.Now())
}

// thermal reads the host's temperatures. They are not part of the facts, since to read a
// disk's sensor takes a request to the disk.
func (a *agent) thermal(context.Context, none) (model.Thermal, error) {
	return facts.ReadThermal(a.src), nil
}

// files reads the host's configuration files. It takes no parameters: facts and guide fix
// which files and values it reads.
func (a *agent) files(ctx context.Context, _ none) (model.HostFiles, error) {
	return facts.ReadHostFiles(ctx, a.src, guide.Sysctls(), guide.Parameters())
}

func (a *agent) readSetting(ctx context.Context, p readParams) (readResult, error) {
	for _, s := range a.tuner.Setters {
		if s.Owns(p.Setting) {
			v, err := s.Read(ctx, setter.Place{Setting: p.Setting, Target: p.Target}, p.Like)
			return readResult{v}, err
		}
	}
	return readResult{}, fmt.Errorf("read setting %q: this linerate has no mechanism for it; like it are %s", p.Setting, strings.Join(guide.NearIDs(p.Setting, 3), ", "))
}

// interfaces returns this host's interfaces by interface index.
func (a *agent) interfaces(ctx context.Context) (map[int]tune.Interface, error) {
	links, err := a.src.Links(ctx)
	if err != nil {
		return nil, err
	}
	all := make(map[int]tune.Interface, len(links))
	for _, l := range links {
		all[l.Index] = tune.InterfaceOf(l, kernel.InterfaceNode(a.tuner.Root, l))
	}
	return all, nil
}

func (a *agent) apply(ctx context.Context, p model.Plan) (tune.Result, error) {
	r, err := a.tuner.Apply(ctx, p)
	var not *tune.NotInForceError
	if errors.As(err, &not) {
		return r, jrpc2.Errorf(codeNotInForce, "%v", err).WithData(not)
	}
	return r, err
}

func (a *agent) undo(ctx context.Context, r tune.UndoRequest) (tune.Result, error) {
	if a.hidden != nil {
		return tune.Result{}, a.hidden
	}
	return a.tuner.UndoWith(ctx, r)
}

func (a *agent) confirm(ctx context.Context, p planParams) (none, error) {
	return none{}, a.tuner.Confirm(ctx, p.Plan)
}

func (a *agent) persist(ctx context.Context, p persistParams) ([]tune.FileChange, error) {
	return a.tuner.Persist(ctx, p.Plan, p.Dry)
}

func (a *agent) planFiles(ctx context.Context, p model.Plan) ([]tune.FileChange, error) {
	return a.tuner.Files(ctx, p)
}

// maxPacket is the largest value of IPv4's length field (RFC 791 section 3.1).
const maxPacket = 65535

func probePath(ctx context.Context, p probeParams) (none, error) {
	if !p.To.IsValid() || p.Size < 1 || p.Size > maxPacket {
		return none{}, fmt.Errorf("probe path: %d octets to %s: want 1 to %d to an address", p.Size, p.To, maxPacket)
	}
	return none{}, kernel.PingWhole(ctx, p.To, p.Size)
}

func (a *agent) waiting(ctx context.Context, _ none) (waitingResult, error) {
	p, ok, err := a.tuner.Pending(ctx)
	if !ok {
		return waitingResult{}, err
	}
	return waitingResult{&p.Waiting, p.Overdue, p.Unwatched}, err
}

// overdue undoes what nobody confirmed in time where its watcher is gone, and says what it
// did, or what is wrong with a plan that waits.
func (a *agent) overdue(ctx context.Context) {
	was, waits, _ := a.tuner.Pending(ctx) // a record that cannot be read is said below
	err := a.tuner.UndoOverdue(ctx)
	left, still, perr := a.tuner.Pending(ctx)
	if err == nil {
		err = perr // both read the record: what one cannot read, the other cannot either
	}
	said := ""
	switch {
	case err != nil:
		said = fmt.Sprintf("undo what nobody confirmed in time: %v", err) // commands on the journal say it again
	case waits && was.Overdue && !still:
		said = fmt.Sprintf("plan %s was overdue, its watcher is gone: its changes were undone now", was.Plan)
	case still:
		said = left.Alarm()
	}
	if said != "" {
		fmt.Fprintln(a.o.Log, said)
	}
}

// UndoOverdue undoes what nobody confirmed in time on this host, where its watcher is gone.
func UndoOverdue(ctx context.Context, o AgentOptions) error {
	a, err := newAgent(o)
	if err != nil {
		return err
	}
	a.overdue(ctx)
	return nil
}

// Alarm says what is wrong with a plan that waits for its confirmation on this host; ""
// where nothing is, or this user cannot see it. It changes nothing.
func Alarm(ctx context.Context) string {
	a, err := newAgent(AgentOptions{})
	if err != nil {
		return "" // a user without a home has made no change
	}
	p, ok, err := a.tuner.Pending(ctx)
	switch {
	case errors.Is(err, tune.ErrRecord):
		return err.Error()
	case err != nil || !ok:
		return ""
	}
	return p.Alarm()
}

// leave also prevents this agent from keeping its binary when it ends.
func (a *agent) leave(ctx context.Context, _ none) (tune.LeaveResult, error) {
	if a.hidden != nil {
		return tune.LeaveResult{}, a.hidden
	}
	return a.tuner.Leave(ctx)
}

func (a *agent) openJournal(context.Context, none) ([]tune.Entry, error) {
	open, err := a.tuner.Open()
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return open, err
}

// keepBinary copies this binary beside the journal while changes are open, since the directory
// that it was copied to is removed with the session.
func (a *agent) keepBinary() error {
	open, err := a.openJournal(context.Background(), none{})
	if err != nil || len(open) == 0 {
		return err
	}
	kept, err := a.tuner.Keep(context.Background())
	if err != nil {
		return fmt.Errorf("keep binary for %d open changes: %w", len(open), err)
	}
	_, err = fmt.Fprintf(a.o.Log, "%d changes are still open; kept %s to undo them\n", len(open), kept)
	return err
}

// WatchRole is the subcommand with which a dead-man starts this binary.
const WatchRole = "tune-watch"

// deadMan starts watchers from a binary that outlives the session and what a plan cuts off.
func (a *agent) deadMan() tune.DeadMan {
	return deadman.Starter{
		Program: func(later bool) ([]string, error) { return a.watcher(later) },
		Role:    WatchRole, StateDir: a.o.StateDir,
	}
}

// watcher is what a watcher is started from: this program, or a copy beside the journal.
func (a *agent) watcher(later bool) ([]string, error) {
	if !a.o.Deployed && (len(a.o.Self) == 0 || stays(a.o.Self[0], a.o.StateDir, later)) {
		return a.o.Self, nil
	}
	kept, err := a.tuner.CopyProgram()
	return []string{kept}, err
}

// stays tells whether a program can be read until the time of a plan is over. A process that runs
// keeps its file, whoever removes the name; but not where the file comes over the network, which
// the plan may cut off. What is started later has to be where packages are installed: a directory
// for temporary files is cleaned, and a home may go when its user's session ends. A copy that
// could not be started, as its file system allows no programs, is no help.
func stays(program, stateDir string, later bool) bool {
	path, err := filepath.EvalSymlinks(program)
	if err != nil {
		return false
	}
	installed := slices.ContainsFunc([]string{"/usr/", "/opt/", "/bin/", "/sbin/"}, func(dir string) bool { return strings.HasPrefix(path, dir) })
	if !later || installed {
		return !kernel.OverNetwork(path) || kernel.StartsNoPrograms(stateDir)
	}
	return kernel.StartsNoPrograms(stateDir)
}

// WatchMain is the dead-man's process: args are the state directory and the
// plan. It reports on out that it watches, closes out, and undoes the plan if its time expires
// before it was confirmed.
func WatchMain(ctx context.Context, args []string, out io.WriteCloser, o AgentOptions) error {
	w, err := deadman.ParseArgs(args)
	if err != nil {
		return err
	}
	o.StateDir = w.StateDir
	a, err := newAgent(o)
	if err != nil {
		return err
	}
	a.tuner.By = "linerate dead-man"
	return deadman.Main(ctx, a.tuner, w, out)
}

// ValueMain reads or writes one value of this host for undo.sh; args are the
// state directory and those of tune.Tuner.Value.
func ValueMain(ctx context.Context, args []string, out io.Writer, o AgentOptions) error {
	if len(args) == 0 {
		return errors.New("read or write a value: want the state directory first")
	}
	o.StateDir = args[0]
	a, err := newAgent(o)
	if err != nil {
		return err
	}
	return a.tuner.Value(ctx, args[1:], out)
}
