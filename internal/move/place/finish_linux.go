package place

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
)

// Finish implements move.Sink.
func (p *Place) Finish(ctx context.Context) error {
	if err := p.flush(ctx); err != nil {
		return err
	}
	err := p.sweep() // before directories get their times, and rights that may forbid it
	if err = errors.Join(err, p.describeDirs(ctx), p.sync()); err == nil {
		p.finished = true
	}
	return err
}

// servedDirs is how many directories of a mount are described at once.
const servedDirs = 16

// described is a directory that is being described.
type described struct {
	path string
	done chan error
}

// describeDirs sets the metadata of directories, of each after those of what it holds: it may not be
// entered afterwards.
func (p *Place) describeDirs(ctx context.Context) error {
	most := 1
	if p.Served() {
		most = servedDirs
	}
	var flying []described // the oldest first
	err := p.dirs.Backward(func(e *move.Entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.Path == "" && p.Served() && !p.o.Told {
			p.last = e // the journal's end changes it once more
			return nil
		}
		var err error
		var left []described
		for i, d := range flying {
			if i <= len(flying)-most || e.Path == "" || strings.HasPrefix(d.path, e.Path+"/") {
				err = errors.Join(err, <-d.done)
			} else {
				left = append(left, d)
			}
		}
		done := make(chan error, 1)
		go func() { done <- p.describeDir(e) }()
		flying = append(left, described{e.Path, done})
		return err
	})
	for _, d := range flying {
		err = errors.Join(err, <-d.done)
	}
	return err
}

func (p *Place) describeDir(e *move.Entry) error {
	d, err := p.dir(e.Path)
	if err != nil {
		p.report.Lose(move.Failed, e.Path, "open directory for its metadata: %v", err)
		return nil
	}
	defer p.release(d)
	if e.Stood {
		p.mend(d.fd, e)
	} else {
		p.describe(d.fd, e)
	}
	return p.syncDir(d)
}

// allowed has a client of NFS know whether a directory may be searched. It asks that each time the
// directory was changed, before it asks for what is in it: a wait less, if it was asked beside another.
func allowed(dir int) {
	_ = unix.Faccessat(dir, ".", unix.X_OK, 0) // who is not allowed is told so by what follows
}
