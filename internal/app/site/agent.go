package site

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/fleet"
	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/reach"
)

// Files of a host's place in a site.
const (
	credentialName = "credential.json"
	enrollingName  = "enrolling.json" // the key of a host that has not been answered yet
	saidName       = "said.json"
	lockName       = "lock"
)

// Enrolled is a host's place in a site.
type Enrolled struct {
	Site    string            `json:"site"`
	Name    string            `json:"name"`
	ID      string            `json:"id"`
	Labels  map[string]string `json:"labels,omitempty"`
	Servers []string          `json:"servers"`
	Dir     string            `json:"dir"`
}

// enrolling is what is on the disk while a token is used: an answer that is lost must not cost
// the token.
type enrolling struct {
	Token string `json:"token"` // ID
	Seed  []byte `json:"seed"`
}

// place is the directory of this host's place in a site.
func place(e app.Env) (string, error) { return reach.AgentDir(os.Geteuid(), e.Getenv) }

// Enrol takes this host into the site of a token. replace forgets an earlier place.
func Enrol(ctx context.Context, e app.Env, token string, replace bool) (Enrolled, error) {
	t, err := fleet.ParseToken(token)
	if err != nil {
		return Enrolled{}, failure.As(failure.Usage, err)
	}
	dir, err := place(e)
	if err != nil {
		return Enrolled{}, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Enrolled{}, fmt.Errorf("make directory of this host's identity: %w", err)
	}
	old, err := fleet.ReadCredential(filepath.Join(dir, credentialName))
	switch {
	case err == nil && !replace:
		return Enrolled{}, failure.Advise(failure.Of(failure.Usage, "this host is enrolled in site %s already (%s)", old.Site, dir), failure.ForgetPlace)
	case err != nil && !errors.Is(err, os.ErrNotExist) && !replace:
		return Enrolled{}, failure.Advise(err, failure.ForgetPlace)
	}
	k, err := keysFor(t, filepath.Join(dir, enrollingName))
	if err != nil {
		return Enrolled{}, err
	}
	name, err := os.Hostname()
	if err != nil {
		return Enrolled{}, fmt.Errorf("find this host's name: %w", err)
	}
	name, _, _ = strings.Cut(name, ".")
	c, err := fleet.Enrol(ctx, t, k, fleet.Entry{Name: name, Boot: bootID(), Build: e.Build}, e.Now())
	if err != nil {
		return Enrolled{}, err
	}
	if err := fleet.WritePrivate(filepath.Join(dir, credentialName), c); err != nil {
		return Enrolled{}, err
	}
	if err := os.Remove(filepath.Join(dir, enrollingName)); err != nil {
		return Enrolled{}, fmt.Errorf("forget the token: %w", err)
	}
	return enrolled(c, dir)
}

// keysFor are new keys, or those that were drawn for this token before.
func keysFor(t fleet.Credential, path string) (*fleet.Keys, error) {
	tk, err := t.Keys()
	if err != nil {
		return nil, failure.As(failure.Usage, fmt.Errorf("read token: %w", err))
	}
	var was enrolling
	if err := fleet.ReadPrivate(path, &was); err == nil && was.Token == tk.ID() {
		return fleet.KeysOf(was.Seed)
	}
	k, err := fleet.NewKeys()
	if err != nil {
		return nil, err
	}
	return k, fleet.WritePrivate(path, enrolling{tk.ID(), k.Seed()})
}

func enrolled(c fleet.Credential, dir string) (Enrolled, error) {
	k, err := c.Keys()
	if err != nil {
		return Enrolled{}, err
	}
	g, err := c.Granted()
	return Enrolled{Site: c.Site, Name: g.Name, ID: k.ID(), Labels: g.Labels, Servers: c.Servers, Dir: dir}, err
}

// bootID differs from boot to boot of this host; empty if the OS has none.
func bootID() string {
	b, _ := kernel.Live{}.ReadFile("/proc/sys/kernel/random/boot_id") // not there: empty
	return strings.TrimSpace(string(b))
}

// NotEnrolledError: this host belongs to no site.
type NotEnrolledError struct{ Dir string }

// Error implements error.
func (e *NotEnrolledError) Error() string {
	return fmt.Sprintf("this host is enrolled in no site (%s)", e.Dir)
}

// credential reads this host's.
func credential(dir string) (fleet.Credential, error) {
	c, err := fleet.ReadCredential(filepath.Join(dir, credentialName))
	if errors.Is(err, os.ErrNotExist) {
		return c, failure.Advise(failure.As(failure.Nothing, &NotEnrolledError{dir}), failure.Enrol)
	}
	return c, err
}

// Run is this host's agent, until ctx ends. log gets what it has to say; stateDir has the journal
// of changes, empty: where every agent of this user has it.
func Run(ctx context.Context, e app.Env, stateDir string, log io.Writer) error {
	dir, err := place(e)
	if err != nil {
		return err
	}
	c, err := credential(dir)
	if err != nil {
		return err
	}
	lock, err := kernel.LockFile(filepath.Join(dir, lockName))
	if errors.Is(err, kernel.ErrLocked) {
		return errors.New("the agent of this host runs already")
	}
	if err != nil {
		return fmt.Errorf("hold %s: %w", dir, err)
	}
	defer lock.Close() // which lets it go
	// A plan whose time ran out while nothing of linerate ran here is undone now, whether or not
	// anybody asks.
	o := host.AgentOptions{StateDir: stateDir, Self: e.Self, Build: e.Build, Now: e.Now, Log: log}
	if err := host.UndoOverdue(ctx, o); err != nil {
		return err
	}
	return fleet.Run(ctx, c, fleet.Host{
		Serve: func(ctx context.Context, in io.Reader, out io.WriteCloser, by string) error {
			one := o
			one.By = by
			return host.AgentMain(ctx, in, out, one)
		},
		Reads: host.Reads, Boot: bootID(), Build: e.Build, Now: e.Now,
		Log: func(line string) {
			fmt.Fprintln(log, line)
			// For agent status; that it is not kept does not stop the agent.
			_ = fleet.WritePrivate(filepath.Join(dir, saidName), said{e.Now().UTC(), line})
		},
	})
}

// said is what an agent last had to say.
type said struct {
	At   time.Time `json:"at"`
	Line string    `json:"line"`
}

// Status is this host's place in a site, and whether its agent runs.
type Status struct {
	Enrolled
	Running bool `json:"running"`
	// Said is what the agent last had to say, at SaidAt.
	Said   string    `json:"said,omitempty"`
	SaidAt time.Time `json:"said_at,omitzero"`
}

// Here tells of this host's agent.
func Here(e app.Env) (Status, error) {
	dir, err := place(e)
	if err != nil {
		return Status{}, err
	}
	c, err := credential(dir)
	if err != nil {
		return Status{}, err
	}
	var s Status
	if s.Enrolled, err = enrolled(c, dir); err != nil {
		return s, err
	}
	lock, err := kernel.LockFile(filepath.Join(dir, lockName))
	switch {
	case errors.Is(err, kernel.ErrLocked):
		s.Running = true
	case err != nil:
		return s, fmt.Errorf("see whether the agent runs: %w", err)
	default:
		if err := kernel.UnlockFile(lock); err != nil {
			return s, fmt.Errorf("see whether the agent runs: %w", err)
		}
	}
	var last said
	if err := fleet.ReadPrivate(filepath.Join(dir, saidName), &last); err != nil && !errors.Is(err, os.ErrNotExist) {
		return s, err
	}
	s.Said, s.SaidAt = last.Line, last.At
	return s, nil
}
