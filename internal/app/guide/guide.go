// Package guide is the work of the guide and setting commands: it reads the files in
// which a host keeps tuning, from the host, a recording or a tree, or what a host that is
// not Linux shows of itself, and has the catalogue judge them. It changes nothing, and
// refuses to have a host read any other file.
package guide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"

	"linerate/internal/app"
	"linerate/internal/app/check"
	"linerate/internal/facts"
	"linerate/internal/failure"
	catalogue "linerate/internal/guide"
	"linerate/internal/host"
	"linerate/internal/kernel"
	"linerate/internal/kernel/snapshot"
	"linerate/internal/model"
	"linerate/internal/reach"
)

// Summary is a line of the list of papers and guides.
type Summary struct {
	Key      string                   `json:"key"`
	Title    string                   `json:"title"`
	By       string                   `json:"by"`
	Date     string                   `json:"date"`
	OS       string                   `json:"os"`
	Advice   int                      `json:"advice"`
	Statuses map[catalogue.Status]int `json:"statuses"` // of advice and claims
}

// Summaries lists the papers and guides.
func Summaries() []Summary {
	var out []Summary
	for _, g := range catalogue.Guides() {
		s := Summary{Key: g.Key, Title: g.Title, By: g.By, Date: g.Date, OS: g.OS, Advice: len(g.Advice), Statuses: map[catalogue.Status]int{}}
		for _, a := range g.Advice {
			s.Statuses[a.Status]++
		}
		for _, c := range g.Claims {
			s.Statuses[c.Status]++
		}
		out = append(out, s)
	}
	return out
}

// Source is where an audit takes a host's files from: one of Host, Root and From;
// none: this host.
type Source struct {
	Host   string // one that is reached
	Root   string // directory that stands for /
	From   string // a recording: its folder, or an archive
	Kernel string // judge as if this release ran; empty: the one that runs
}

// PathError: a host was named with a path on it.
type PathError struct{ Name string }

// Error implements error.
func (e *PathError) Error() string {
	return "audit " + e.Name + ": name a host without a path (nas1, user@nas1, lab:client1)"
}

// Audit finds a host's inherited tuning and says what has become of it: on Linux by its files, elsewhere by
// the values in force there. Where Root is no directory the error is fs.ErrNotExist.
func Audit(ctx context.Context, e app.Env, p app.Progress, s Source) (catalogue.Report, error) {
	h, other, err := s.read(ctx, e, p)
	switch {
	case err != nil:
		return catalogue.Report{}, err
	case other != nil && s.Kernel != "":
		return catalogue.Report{}, failure.Of(failure.Usage, "audit: a kernel is asked for, which Linux alone has: what %s has is judged as it is", catalogue.SystemName(other.OS))
	case other != nil:
		return catalogue.InForce(other), nil
	}
	if s.Kernel != "" {
		h.Kernel = s.Kernel
		h.TCPNames = nil // those of the kernel that runs
	}
	return catalogue.Audit(h), nil
}

// read takes a host's files from where they are; or, of one that runs another system, what it shows.
func (s Source) read(ctx context.Context, e app.Env, p app.Progress) (h model.HostFiles, other *model.Facts, err error) {
	switch {
	case s.From != "":
		if other, err = check.RecordedElsewhere(s.From); err == nil && other == nil {
			h, err = recordedFiles(s.From)
		}
		return h, other, err
	case s.Root != "":
		if h, err = facts.ReadInherited(kernel.Root(s.Root), catalogue.Sysctls(), catalogue.Parameters()); err != nil {
			err = fmt.Errorf("audit %s: %w", s.Root, err)
		}
		return h, nil, err
	case s.Host != "" && s.Host != reach.Here || e.Local.OS() != "linux":
		return filesOf(ctx, e, p, cmp.Or(s.Host, reach.Here))
	}
	h, err = FilesHere(ctx)
	return h, nil, err
}

// FilesHere reads the files of settings of this host.
func FilesHere(ctx context.Context) (model.HostFiles, error) {
	h, err := facts.ReadHostFiles(ctx, kernel.Live{}, catalogue.Sysctls(), catalogue.Parameters())
	if err != nil {
		return h, fmt.Errorf("audit this host: %w", err)
	}
	return h, nil
}

// filesOf asks the agent of another host, or the shell of one that has none.
func filesOf(ctx context.Context, e app.Env, p app.Progress, name string) (h model.HostFiles, other *model.Facts, err error) {
	n, err := host.ParseName(name)
	if err != nil {
		return h, nil, err
	}
	if n.Path != "" {
		return h, nil, failure.As(failure.Usage, &PathError{name})
	}
	ctx, cancel := context.WithTimeout(ctx, reach.Within)
	defer cancel()
	a, err := e.Reach(p).Agent(ctx, n)
	if err != nil {
		other, err = check.Elsewhere(ctx, e, n, p, err)
		return h, other, err
	}
	h, err = a.Files(ctx)
	return h, nil, errors.Join(err, a.Close())
}

// recordedFiles takes the files out of a snapshot.
func recordedFiles(dir string) (model.HostFiles, error) {
	from, err := snapshot.OpenFolder(dir)
	if err != nil {
		return model.HostFiles{}, err
	}
	rec, err := from.Host(snapshot.FileName)
	if rec == nil {
		return model.HostFiles{}, err
	}
	h, missing := rec.HostFiles()
	switch {
	case missing == nil && err == nil:
		return h, nil
	case missing == nil: // the recording is cut short behind the files
		h.Unread = maps.Clone(h.Unread)
		if h.Unread == nil {
			h.Unread = map[string]string{}
		}
		h.Unread[dir] = err.Error()
		return h, nil
	case errors.Is(missing, fs.ErrNotExist):
		return h, failure.Advise(errors.Join(fmt.Errorf("audit %s: this recording has no files of settings", dir), err), failure.RecordAgain)
	}
	return h, fmt.Errorf("audit %s: %w", dir, missing)
}
