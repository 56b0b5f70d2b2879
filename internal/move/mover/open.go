package mover

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"linerate/internal/failure"
	"linerate/internal/move"
	"linerate/internal/move/compare"
	"linerate/internal/move/place"
	"linerate/internal/move/route"
	"linerate/internal/move/tree"
)

// open opens the files of this end, and is what is to be told of them.
func (m *mover) open(c Command) (e Event, err error) {
	as, doubt := string(c.As), ""
	switch {
	case m.src != nil || m.dst != nil:
		return e, errors.New("opened twice")
	case len(m.task.Read) > 0:
		err = m.openSource(as)
	case m.task.Write != "":
		as, doubt, err = m.openTarget(c)
	}
	if err != nil {
		return e, err
	}
	e = Event{Kind: Opened, Pin: m.keys.Self.Pin(), As: move.Raw(as), New: m.isNew, Text: doubt}
	for _, x := range m.ends {
		e.Device = x.Device() // the last is the tree
	}
	return e, nil
}

func (t *Task) verify() move.Verify {
	if t.Full {
		return move.Full
	}
	return move.Fast
}

func (m *mover) openSource(as string) error {
	from, err := route.SourceOf(move.Strings(m.task.Read))
	if err != nil {
		return err
	}
	if as != "" && from.One() {
		from.Tops[0].As = as
	}
	o := tree.Options{Exclude: move.Strings(m.task.Exclude), Verify: m.task.verify(), Direct: !m.task.Buffered, Plan: m.task.Do == Planning, Cold: m.task.Cold}
	if m.task.Do == Comparing {
		o.Verify, o.Direct, o.Cold = move.Fast, true, true
	}
	t, err := tree.Open(from.Tops, o, m.report)
	if err != nil {
		return failure.As(failure.Usage, err)
	}
	m.src, m.ends = t, append(m.ends, t)
	switch {
	case m.task.Do == Comparing:
		m.src = compare.Digests(t)
	case m.task.Do == Copying && !m.task.Cold && len(m.task.Spread) == 0:
		t.Begin() // the other end may be a login away yet
	}
	return nil
}

func (m *mover) openTarget(c Command) (as, doubt string, err error) {
	root, as, doubt, err := m.rootOf(c)
	if err == nil && m.task.Empty {
		err = empty(root)
	}
	if err == nil && m.task.Scratch {
		root, err = os.MkdirTemp(string(m.task.Write), scratchName)
		m.ends = append(m.ends, scratch(root))
	}
	if err != nil {
		return "", "", err
	}
	if m.task.Do == Comparing {
		s, err := compare.Open(root, move.Strings(c.Whole), m.report)
		if err != nil {
			return "", "", err
		}
		m.dst, m.ends = s, append(m.ends, s)
		return as, doubt, nil
	}
	plainModes()
	m.isNew = !c.One && route.New(root, move.Strings(c.Whole))
	p, err := place.Open(root, place.Options{Verify: m.task.verify(), Direct: !m.task.Buffered, Setuid: m.task.Setuid, Plan: m.task.Do == Planning, Told: true}, m.report)
	if err != nil {
		return "", "", err
	}
	m.dst, m.ends = p, append(m.ends, p)
	planned := &place.Planned{Place: p, Delete: m.task.Delete, Whole: move.Strings(c.Whole), Most: m.task.MaxDelete, Rep: m.report, Step: m.step}
	switch {
	case m.task.Delete && len(m.task.Spread) > 0:
		later := &place.Later{Sink: p, Place: p, Whole: planned.Whole, Most: planned.Most, Do: p.Remove}
		if m.task.Do == Planning {
			later.Sink, later.Do = planned, planned.Tell
		}
		m.dst = later
	case m.task.Do == Planning:
		m.dst = planned
	case m.task.Delete:
		m.dst = &place.Deleting{Place: p, Whole: move.Strings(c.Whole), Most: m.task.MaxDelete, Rep: m.report}
	}
	if m.task.Do == Copying && p.Unlocked() {
		const unlocked = "the target's file system has no locks: whether another copy writes there is not known"
		doubt = strings.TrimPrefix(doubt+"; "+unlocked, "; ")
	}
	return as, doubt, nil
}

// empty refuses a directory that holds anything.
func empty(root string) error {
	d, err := os.Open(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a plan makes none
	}
	if err != nil {
		return err
	}
	names, err := d.Readdirnames(1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err = errors.Join(err, d.Close()); err == nil && len(names) > 0 {
		err = failure.Of(failure.Usage, "%s is not empty, and may be meant as a source", root)
	}
	return err
}

func (m *mover) close() error {
	var errs []error
	for _, e := range slices.Backward(m.ends) {
		errs = append(errs, e.Close())
	}
	return errors.Join(errs...)
}

// opened is a tree that this end has opened.
type opened interface {
	Close() error
	Device() string
}

// scratchName begins the names of directories that are only measured on.
const scratchName = ".linerate-measured-"

// scratch is such a directory, which goes when it is closed.
type scratch string

// Close implements opened.
func (s scratch) Close() error {
	if s == "" {
		return nil // it could not be made
	}
	return os.RemoveAll(string(s))
}

// Device implements opened.
func (scratch) Device() string { return "" }
