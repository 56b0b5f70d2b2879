package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// subject is one kind of fact.
//
// To add one: write SUBJECT.go with a reader that fills its fields of model.Facts from a
// kernel.Source and returns an error only when nothing of its subject can be seen; add a line to
// subjects; put what it reads into a tree of testdata/hosts and run the tests with -update.
type subject struct {
	what      string // its name in CouldNotSee
	wouldShow string
	// everywhere: every Linux host has it. A host that shows none of these subjects shows
	// nothing.
	everywhere bool
	read       func(ctx context.Context, src kernel.Source, f *model.Facts) error
}

func subjects() []subject {
	return []subject{
		{"host identity", "which kernel this is and whether it restarted since", true, readHost},
		{"/sys", "slots, queues, link speeds, interrupts and disks: what is not found may only not be seen", false, readSys},
		{"process status", "which CPUs may be used, and who is looking", true, readStatus},
		{"interfaces", "link speed, MTU, offloads and the slot of each NIC", true, readNICs},
		{"Thunderbolt", "how fast the cable of an outside adapter is", false, readThunderbolt},
		{"routes", "which interface the data takes", true, readRoutes},
		{"mounts", "which file systems come over the network, and their options", true, readMounts},
		{"TCP settings", "what bounds the window and the buffers", true, readSysctls},
		{"CPUs", "how fast they run and wake, and which core takes the packets", false, readCPU},
		{"TCP counters", "losses, drops and shortage of memory since the host started", false, readNetCounters},
		{"storage connections", "how many connections serve each mount, and their round trip", false, readStorage},
		{"block devices", "queues, schedulers and read-ahead", false, readDisks},
		{"iSCSI sessions", "their state, and what they negotiated", false, readISCSI},
		{"RAID arrays", "missing disks and rebuilds", false, readArrays},
		{"ZFS", "its cache and the state of its pools", false, readZFS},
		{"connection tracking", "whether a firewall follows each connection", false, readConntrack},
		{"firewall rules", "how many rules each packet passes", false, readFirewall},
		{"NFS server", "how many threads serve", false, readNFSD},
		{"processes", "services that move interrupts or join paths", false, readServices},
	}
}

// Read reads the facts of the host behind src. host is the user's name for it and now the host's
// wall clock. What cannot be read is listed in CouldNotSee; the error is set only if nothing can
// be read, or linerate cannot read this operating system yet.
func Read(ctx context.Context, src kernel.Source, host string, now time.Time) (*model.Facts, error) {
	if src.OS() != "linux" {
		return nil, fmt.Errorf("read facts of %s: unsupported on %s, where no agent of linerate reads them: %w", host, src.OS(), errors.ErrUnsupported)
	}
	f := &model.Facts{V: model.FactsVersion, Host: host, Taken: now, OS: src.OS(), UID: -1, Settings: map[string]model.Fact[string]{}}
	noted := &noting{Source: src}
	src = noted
	var errs []error
	seen := false
	for _, s := range subjects() {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("read facts of %s: %w", host, err)
		}
		err := s.read(ctx, src, f)
		seen = seen || err == nil && s.everywhere
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", s.what, err))
			f.CouldNotSee = append(f.CouldNotSee, model.Blind{What: s.what, WouldShow: s.wouldShow, How: remedy(err)})
		}
	}
	f.CouldNotSee = append(f.CouldNotSee, noted.large...)
	if !seen {
		return nil, fmt.Errorf("read facts of %s: nothing can be read; see that /proc is mounted and readable there: %w", host, errors.Join(errs...))
	}
	return f, nil
}

// readSys reads nothing, and fails where a host shows nothing of /sys: most readers take a file that
// is missing there for a thing that the host lacks.
func readSys(_ context.Context, src kernel.Source, _ *model.Facts) error {
	names, err := src.ReadDir("/sys")
	if len(names) > 0 || errors.Is(err, fs.ErrPermission) { // each reader says what it may not see
		return nil
	}
	return fmt.Errorf("/sys is empty: %w", fs.ErrNotExist)
}

// noting is a source that records the files that were too large to be read, since some readers
// ignore a missing file.
type noting struct {
	kernel.Source
	large []model.Blind
}

// ReadFile reads from the source.
func (n *noting) ReadFile(name string) ([]byte, error) {
	b, err := n.Source.ReadFile(name)
	known := func(b model.Blind) bool { return b.What == name }
	if errors.Is(err, kernel.ErrHugeFile) && !slices.ContainsFunc(n.large, known) {
		n.large = append(n.large, model.Blind{What: name, WouldShow: "what rules read in it", How: "no host that linerate knows has so much in it: " + err.Error()})
	}
	return b, err
}

// remedy is what the user can do about a view that failed.
func remedy(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "run as root on that host: " + err.Error()
	case errors.Is(err, fs.ErrNotExist):
		return "mount /proc and /sys there: " + err.Error()
	}
	return err.Error()
}

// lost tells, by the error of a read, why there is no value.
func lost[T any](err error) model.Fact[T] {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return model.Unknown[T](model.Denied, err.Error())
	case errors.Is(err, fs.ErrNotExist):
		return model.Unknown[T](model.Absent, err.Error())
	}
	return model.Unknown[T](model.Unsupported, err.Error())
}
