package copy

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/move"
	"linerate/internal/move/mover"
	paths "linerate/internal/move/route"
	"linerate/internal/move/wire"
	"linerate/internal/reach"
)

// MaxStreams bounds the data streams of a copy between hosts.
const MaxStreams = wire.MaxStreams

// Far are the options of a copy between hosts; a copy within one host has none of them.
type Far struct {
	Streams    int           // connections for data; 0: more are added while that raises the rate
	Plain      bool          // no encryption
	ThroughSSH bool          // data by the agents' channel
	Via        string        // data address of the other host
	Port       uint16        // to listen on; 0: any
	Mem        time.Duration // copy memory to memory for this long instead of files; 0: files
	// Congestion is the congestion control that the connections of the sending end get; "": the
	// host's own.
	Congestion string
}

// ThroughSSH is the Way of data that the agents' channel carried.
const ThroughSSH = "through ssh"

// Wire is how the data of a copy between hosts went.
type Wire struct {
	// Encryption is "tls" or "none".
	Encryption string `json:"encryption"`
	// Way is "direct", "direct, the other end dialled" or "through ssh".
	Way     string `json:"way"`
	From    string `json:"from"` // data addresses, of who sends and who receives
	To      string `json:"to"`
	Streams int    `json:"streams"`
	// Congestion is what was asked for; what the connections had is in Ends.
	Congestion string `json:"congestion,omitempty"`
	// MovedNs is the time since the ends met; Again counts blocks that arrived with another
	// hash than they were read with, and were sent again.
	MovedNs int64    `json:"moved_ns"`
	Again   int64    `json:"blocks_again"`
	Ends    []FarEnd `json:"ends"` // who sends, who receives
}

// FarEnd is one host's part.
type FarEnd struct {
	Name    string       `json:"name"`
	CPUSec  float64      `json:"cpu_s"`
	Sockets wire.Sockets `json:"sockets"`
	// Placement is where threads ran, on a host of several NUMA nodes, or why anywhere.
	Placement *mover.Near `json:"placement,omitempty"`
}

// IsFar reports whether the copy involves other hosts: an argument names one, or it is from memory
// to memory.
func (o Options) IsFar() bool {
	_, _, far := remote(o.Target)
	return far || o.Far.Mem > 0 || slices.ContainsFunc(o.Sources, func(s string) bool { _, _, is := remote(s); return is })
}

// end is a mover at a host, as host.Mover is.
type end interface {
	Tell(ctx context.Context, c mover.Command) error
	Events(ctx context.Context) ([]mover.Event, error)
	Tunnel(ctx context.Context, pair int, near io.ReadWriteCloser) error
	Stop(ctx context.Context) error
	PID() int
}

// side is one end of a copy between hosts.
type side struct {
	as    string // as its user named the host
	name  host.Name
	agent *host.Client
	m     end
	ev    chan mover.Event // but for what is kept here
	pin   wire.Pin
	one   bool
	whole []move.Raw
	lie   paths.Lie // of what it reads
	// device is the number of the block device that it reads or writes.
	device string
	addr   netip.Addr
	meets  netip.AddrPort  // where it listens; not valid: it does not yet
	work   chan mover.Work // the last that it told; room for one
	last   mover.Work
	ended  bool   // its mover has said so
	deaf   func() // ends hearing it
	isNew  bool   // a target that holds nothing of what is copied
}

func (s *side) here() bool { return reach.IsHere(s.name) }

// between is a copy between hosts under way.
type between struct {
	env      app.Env
	p        app.Progress
	o        Options
	report   *move.Report
	from, to *side
	agents   []*host.Client
	out      *Result
	began    time.Time
	closers  []func()
	do       mover.Deed
	seen     *watched // nil: nobody looks
}

// placeOf reads one argument: a path of this host, or of another.
func placeOf(arg string, mem bool) (n host.Name, path string, err error) {
	if arg == "" {
		return n, "", failure.Of(failure.Usage, "an empty path names nothing")
	}
	if _, _, far := remote(arg); !far && !mem {
		path, err = absolute(arg)
		if err == nil && paths.Inside(arg) && !strings.HasSuffix(path, "/") {
			path += "/"
		}
		return host.Name{Reach: host.SSH, Host: reach.Here}, path, err
	}
	name, path := arg, ""
	if i := strings.Index(arg, ":/"); i > 0 { // a path is of any bytes, the name of a host is not
		name, path = arg[:i+2], arg[i+1:]
	}
	if n, err = host.ParseName(name); err != nil {
		return n, "", failure.As(failure.Usage, err)
	}
	n.Path = ""
	switch {
	case mem && (path != "" || n.Reach == host.Local):
		return n, "", failure.Of(failure.Usage, "%s: from memory to memory no files are moved: name a host without a path", arg)
	case !mem && path == "":
		return n, "", failure.Of(failure.Usage, "%s: name a path on that host, as %s:/path", arg, n)
	}
	return n, path, nil
}

// copyFar copies, plans or compares between hosts. With an error it also returns what was done
// before.
func copyFar(ctx context.Context, e app.Env, o Options, p app.Progress, do mover.Deed) (*Result, error) {
	out := &Result{V: resultVersion, Sources: o.Sources, Target: o.Target, Warnings: []string{}}
	b := &between{env: e, p: p, o: o, do: do, report: out.losing(), out: out, began: e.Now()}
	defer b.close()
	from, to, err := b.tasks()
	if err != nil {
		return nil, err
	}
	if err := b.reach(ctx, from); err != nil {
		return nil, err
	}
	if err := b.start(ctx, from, to); err != nil {
		return nil, b.usage(ctx, err)
	}
	if o.Far.Mem > 0 || do != mover.Copying {
		return b.ended(ctx, b.move(ctx))
	}
	out.note(e, o, false)
	err = b.move(ctx)
	if counts, _, _ := b.report.Losses(); err == nil && counts[move.Failed] == 0 {
		out.note(e, o, true)
	}
	return b.ended(ctx, err)
}

// tasks reads the arguments.
func (b *between) tasks() (from, to mover.Task, err error) {
	o, mem := b.o, b.o.Far.Mem > 0
	run, secret, err := wire.Draw()
	if err != nil {
		return from, to, err
	}
	base := mover.Task{Streams: o.Far.Streams, Do: b.do, Full: o.Full, Buffered: o.Buffered, Plain: o.Far.Plain, Run: run, Secret: secret, Mem: o.Far.Mem}
	from, to = base, base
	from.Limit, from.Exclude, to.Exclude, to.Setuid = int64(o.Limit), move.Raws(o.Exclude), move.Raws(o.Exclude), o.Setuid
	from.Count = b.p.Live() && !mem && b.do == mover.Copying
	from.Send, to.Delete, to.MaxDelete = mem, o.Delete, o.MaxDelete
	from.Congestion = wire.Congestion(o.Far.Congestion)
	b.from, b.to = &side{}, &side{}
	for i, arg := range o.Sources {
		n, path, err := placeOf(arg, mem)
		if err != nil {
			return from, to, err
		}
		if i > 0 && n != b.from.name {
			return from, to, failure.Of(failure.Usage, "%s and %s are on two hosts: copy from one at a time", o.Sources[0], arg)
		}
		b.from.name = n
		if !mem {
			from.Read = append(from.Read, move.Raw(path))
		}
	}
	var path string
	b.to.name, path, err = placeOf(o.Target, mem)
	to.Write = move.Raw(path)
	for _, s := range []*side{b.from, b.to} {
		s.as = s.name.String()
	}
	switch {
	case err != nil:
	case o.Far.ThroughSSH && !b.from.here() && !b.to.here():
		err = failure.Of(failure.Usage, "through ssh, one end has to be on this host: data would go from host to host by way of it")
	}
	return from, to, err
}

// ahead reports whether the source's mover starts while the login to the target's host is under
// way. What that mover says first is then known before the target's mover starts, which saves a
// round trip, and it begins to scan.
func (b *between) ahead() bool { return b.from.here() && !b.to.here() && b.o.Far.Mem == 0 }

// reach starts an agent at either end, both at once, and one where both are the same host.
func (b *between) reach(ctx context.Context, from mover.Task) error {
	d := b.env.Reach(b.p)
	sides := []*side{b.from, b.to}
	if b.to.name == b.from.name {
		sides = sides[:1]
	}
	var g errgroup.Group
	for _, s := range sides {
		g.Go(func() (err error) {
			if s.agent, err = d.Dial(ctx, s.name); err == nil && s == b.from && b.ahead() {
				err = b.startAhead(ctx, from)
			}
			return err
		})
	}
	err := g.Wait()
	for _, s := range sides {
		if s.agent != nil {
			b.agents = append(b.agents, s.agent)
		}
	}
	if len(sides) == 1 {
		b.to.agent = b.from.agent
	}
	return err
}

// roles are who dials and who listens at the first attempt. The other host listens, as servers do;
// if both ends are on other hosts, the target listens.
func (b *between) roles() (dialler, listener *side) {
	if b.to.here() && !b.from.here() {
		return b.to, b.from
	}
	return b.from, b.to
}

// hear takes the events of a side's mover until the copy ends.
func (b *between) hear(ctx context.Context, s *side, m end) {
	s.deaf = s.hear(ctx, m, b)
}

// hear passes on the events of the side's mover until stop is called.
func (s *side) hear(ctx context.Context, m end, h hearer) (stop func()) {
	s.m, s.ev, s.work = m, make(chan mover.Event, 16), make(chan mover.Work, 1)
	pump, cancel := context.WithCancel(context.WithoutCancel(ctx))
	go pumping{s, m, s.ev, s.work}.run(pump, h)
	return cancel
}

// hearer gets what movers report while they work.
type hearer interface {
	lost(s *side, l mover.Loss)
	step(s *side, x mover.Step)
	tell(s *side, w mover.Work)
}

func (b *between) lost(_ *side, l mover.Loss) {
	b.report.Lose(clean(l.What), string(l.Path), "%s", clean(l.Detail))
}

// step takes a step of a plan: those of one end, the target.
func (b *between) step(_ *side, x mover.Step) {
	keep := &session{o: b.o, out: b.out}
	keep.step(stepOf(x))
}

// stepOf is a mover's step as people see it.
func stepOf(x mover.Step) Step {
	return Step{Do: clean(x.Do), Kind: x.Kind.String(), Path: shown(string(x.Path)), Size: x.Size, Why: clean(x.Why)}
}

// pumping is one mover of a side and the channels for its events. It keeps its own channels,
// because a side that is tried again gets a new mover with new channels.
type pumping struct {
	side *side
	m    end
	ev   chan<- mover.Event
	work chan mover.Work
}

// run reads the mover's events: it puts losses into the report, passes steps on, and keeps the
// newest progress only.
func (s pumping) run(ctx context.Context, b hearer) {
	for {
		events, err := s.m.Events(ctx)
		if err != nil {
			events = append(events, mover.Event{Kind: mover.Failed, Text: err.Error()})
		}
		for _, e := range events {
			for _, l := range e.Losses {
				b.lost(s.side, l)
			}
			for _, x := range e.Steps {
				b.step(s.side, x)
			}
			if e.Work != nil {
				select {
				case <-s.work:
				default:
				}
				s.work <- *e.Work
				b.tell(s.side, *e.Work)
			}
			if e.Kind == mover.Seen || e.Kind == mover.Lost || e.Kind == mover.Planned {
				continue
			}
			select {
			case s.ev <- e:
			case <-ctx.Done():
				return
			}
			if e.Kind == mover.Failed || e.Kind == mover.Over {
				return
			}
		}
	}
}

// clean removes from another host's text what must not reach a terminal.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " "))
}

// failed is the error of a mover that ended without a result.
func (s *side) failed(e mover.Event) error {
	err := fmt.Errorf("%s: %s", s.as, clean(e.Text))
	switch {
	case e.Usage:
		return failure.As(failure.Usage, err)
	case e.Sink:
		return &sinkError{err}
	}
	return err
}

// sinkError is a target's that takes nothing more, which its text says by itself.
type sinkError struct{ error }

// Is implements what errors.Is asks for.
func (*sinkError) Is(target error) bool { return target == move.ErrSink }

// await waits for an event of a kind.
func (s *side) await(ctx context.Context, k mover.Kind) (mover.Event, error) {
	select {
	case e := <-s.ev:
		if e.Kind == k {
			return e, nil
		}
		if e.Kind == mover.Failed {
			return e, s.failed(e)
		}
		return e, fmt.Errorf("%s: its mover says %q, and %q was to come", s.as, clean(string(e.Kind)), k)
	case <-ctx.Done():
		return mover.Event{}, context.Cause(ctx)
	}
}

// seen is the newest progress that the end reported.
func (s *side) seen() mover.Work {
	select {
	case s.last = <-s.work:
	default:
	}
	return s.last
}

// usage is the error of a copy that ended before it began: Ctrl-C, or the error given.
func (b *between) usage(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return failure.Of(failure.Interrupted, "interrupted; nothing was copied")
	}
	return err
}
