// Package reach answers once what every use case asks: which host a name means,
// how an agent gets there, by which addresses data flows between two hosts, and
// what rate a lab states for that path. It puts no load on anything, changes
// nothing, and refuses to guess a data address where several could be meant.
package reach

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"time"

	"linerate/internal/failure"
	"linerate/internal/host"
	"linerate/internal/reach/carried"
)

// Name is how the user names a host.
type Name = host.Name

// ThisHost is this host as its own shell shows and changes it.
type ThisHost = host.ThisHost

// Here is what this host is called.
const Here = "localhost"

// Within is how long a look at one host may take where several are looked at: a
// dead one must not hold up the others.
const Within = 60 * time.Second

// Dialler reaches hosts.
type Dialler struct {
	Self   []string                // argv of this program
	Getenv func(key string) string // where labs are kept
	Now    func() time.Time
	Log    func(line string) // gets what agents say on stderr; nil drops it
	Sites  *Sites            // that this process joins; nil: none can be
	Local  host.ThisHost     // this host, for Agent and Ask
	// Crashed is called before the program ends with a panic of a goroutine that reads an agent; nil: nothing is.
	Crashed func()
}

// IsHere tells whether a name means this host, as this user.
func IsHere(n host.Name) bool {
	return n.Reach != host.Lab && n.Reach != host.Site && n.Host == Here && n.User == ""
}

// Dial starts an agent on a host.
func (d Dialler) Dial(ctx context.Context, n host.Name) (*host.Client, error) {
	ep, err := d.endpoint(ctx, n)
	if err != nil {
		return nil, err
	}
	return d.start(ctx, n, ep)
}

func (d Dialler) start(ctx context.Context, n host.Name, ep host.Endpoint) (*host.Client, error) {
	o := host.Options{Log: d.Log, Now: d.Now, Crashed: d.Crashed}
	if d.Sites != nil {
		o.Types = &d.Sites.types
	}
	c, err := host.Dial(ctx, ep, o)
	if err != nil {
		return nil, fmt.Errorf("reach %s: %w", n, err)
	}
	return c, nil
}

// Agent starts an agent that reads and changes a host. Only an agent on Linux can: any other host
// is a *host.Foreign, this one and one of the very system of this program too, for Ask.
func (d Dialler) Agent(ctx context.Context, n host.Name) (*host.Client, error) {
	switch {
	case IsHere(n) && d.Local.OS() != "linux":
		return nil, fmt.Errorf("reach %s: %w", n, noAgent(d.Local.OS()))
	case n.Reach != host.SSH || d.Local.OS() == "linux":
		return d.Dial(ctx, n)
	}
	ep, err := host.Ssh{Binary: func(goos, goarch string) (string, error) {
		if goos != "linux" {
			return "", noAgent(goos)
		}
		return ownBinary(goos, goarch)
	}, Agent: carried.Agent()}.Reach(ctx, n, nil)
	if err != nil {
		return nil, err
	}
	return d.start(ctx, n, ep)
}

func noAgent(goos string) error {
	err := fmt.Errorf("it runs %s, where linerate's agent neither reads nor changes settings", goos)
	return &host.Foreign{GOOS: goos, Err: failure.Advise(err, failure.AskByScripts)}
}

// DialAll starts an agent on every host; with an error it returns those that
// were started before.
func (d Dialler) DialAll(ctx context.Context, names []host.Name) (agents []*host.Client, err error) {
	for _, n := range names {
		a, err := d.Dial(ctx, n)
		if err != nil {
			return agents, err
		}
		agents = append(agents, a)
	}
	return agents, nil
}

func (d Dialler) endpoint(ctx context.Context, n host.Name) (host.Endpoint, error) {
	switch {
	case n.Reach == host.Lab:
		return d.labHost(ctx, n)
	case n.Reach == host.Site:
		return d.siteHost(ctx, n)
	case IsHere(n):
		return host.Endpoint{Name: Here, Self: d.Self}, nil
	}
	return host.Ssh{Binary: ownBinary, Agent: carried.Agent()}.Reach(ctx, n, nil)
}

// ownBinary is this very program, for hosts of the same kind.
func ownBinary(goos, goarch string) (string, error) {
	if goos != runtime.GOOS || goarch != runtime.GOARCH {
		return "", &host.Foreign{GOOS: goos, Err: fmt.Errorf("copy linerate to a host of %s/%s: this build is for %s/%s; start it from a machine of the same kind", goos, goarch, runtime.GOOS, runtime.GOARCH)}
	}
	return os.Executable()
}

// Ask has this host, or one that is reached by ssh, execute a script in the shell of its system,
// which is named as in ids of settings: there as root, if the login is that or sudo asks for no password. Of
// OneFS, of which nothing is changed, sudo is not asked.
func (d Dialler) Ask(ctx context.Context, n host.Name, system, script string, most int) ([]byte, error) {
	in := host.SudoSh
	switch {
	case system == "windows":
		in = host.PowerShell
	case system == "onefs" || IsHere(n):
		in = host.Sh
	}
	if IsHere(n) {
		return d.Local.Ask(ctx, in, script, most)
	}
	return host.Ssh{}.Ask(ctx, n, in, script, most)
}

// HostName reads the name of a host, without a path.
func HostName(s string) (host.Name, error) {
	n, err := host.ParseName(s)
	if err != nil {
		return n, failure.As(failure.Usage, err)
	}
	if n.Path != "" {
		return n, failure.Of(failure.Usage, "%s: name a host without a path (nas1, user@nas1, lab:client1)", s)
	}
	return n, nil
}
