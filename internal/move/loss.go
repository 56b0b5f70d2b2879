package move

import (
	"fmt"
	"slices"
	"sync"
)

// What could not be kept, and what failed. The words are part of the JSON.
const (
	LostOwner    = "owner"
	LostMode     = "mode"
	LostMtime    = "mtime"
	LostXattr    = "xattr"     // Detail names it
	LostACL      = "acl"       // system.posix_acl_*, system.nfs4_acl, …
	LostSecurity = "security"  // security.*
	LostLink     = "hard link" // the content was copied as a file of its own
	LostHole     = "hole"
	LostEntry    = "entry"  // a fifo, socket or device that could not be made
	LostSetuid   = "setuid" // kept only when asked for
	Failed       = "failed" // the entry is not in the target, or as it was before
)

// Loss is one thing that could not be kept.
type Loss struct {
	What   string `json:"what"`
	Path   string `json:"-"` // bytes; Name is what people read
	Name   string `json:"path"`
	Detail string `json:"detail,omitempty"` // what it was, or why
}

// Summary is what a copy did. Bytes are of data, not of holes.
type Summary struct {
	Files       int64 `json:"files"` // copied
	Directories int64 `json:"directories"`
	NewDirs     int64 `json:"new_directories"` // of them those that were not there
	Symlinks    int64 `json:"symlinks"`
	HardLinks   int64 `json:"hard_links"`
	Specials    int64 `json:"specials"` // fifos, sockets, devices
	Bytes       int64 `json:"bytes"`    // of data, written in this run
	// Vain are those of Bytes whose files did not get their name, and are gone: the source changed
	// while it was read, or the file failed.
	Vain      int64 `json:"vain_bytes,omitempty"`
	Resumed   int64 `json:"resumed_bytes"`
	Same      int64 `json:"same_entries"` // were there already, but for directories
	SameBytes int64 `json:"same_bytes"`
	Mended    int64 `json:"mended_entries"` // were there already, with other metadata than the source's
	Deleted   int64 `json:"deleted"`
	Retried   int64 `json:"retried_files"` // changed while they were read, once
	Excluded  int64 `json:"excluded"`
	// Cloned files share their data with the source, or were copied by the file system or
	// its server: linerate did not see their bytes.
	Cloned      int64 `json:"cloned_files"`
	ClonedBytes int64 `json:"cloned_bytes"`
	// JournalNs is the time that it took to make data durable for the journal, and the
	// journal itself; other blocks are read and written meanwhile.
	JournalNs int64 `json:"journal_ns"`
}

// Kept is how much of the data that were written is there now, or goes on.
func (s Summary) Kept() int64 { return s.Bytes - s.Vain }

// Report collects what both ends have to say. The zero value keeps everything; it may be
// used by several goroutines.
type Report struct {
	mu     sync.Mutex
	sum    Summary
	counts map[string]int64
	failed []Loss           // files that are not there, which are named before what they merely lack
	losses []Loss           // all others
	spill  func(Loss) error // where all go
	err    error
}

// keptLosses is how many losses stay in memory: so many files that failed, and so many others. All
// go to the spill.
const keptLosses = 2000

// NewReport makes a report that hands every loss to spill, which may be nil.
func NewReport(spill func(Loss) error) *Report { return &Report{spill: spill} }

// Lose reports one loss.
func (r *Report) Lose(what, path, format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[string]int64{}
	}
	r.counts[what]++
	l := Loss{What: what, Path: path, Name: Quote(path), Detail: fmt.Sprintf(format, args...)}
	if path == "" {
		l.Name = "."
	}
	switch {
	case what == Failed && len(r.failed) < keptLosses:
		r.failed = append(r.failed, l)
	case what != Failed && len(r.losses) < keptLosses:
		r.losses = append(r.losses, l)
	}
	if r.spill != nil && r.err == nil {
		r.err = r.spill(l)
	}
}

// LoseMore counts losses that nobody names.
func (r *Report) LoseMore(what string, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[string]int64{}
	}
	if n > 0 {
		r.counts[what] += n
	}
}

// Count changes the summary.
func (r *Report) Count(change func(*Summary)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.sum)
}

// Summary is what was counted until now.
func (r *Report) Summary() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sum
}

// Losses gives the number of every kind, and the first of them, files that failed before all
// others; err is the spill's.
func (r *Report) Losses() (counts map[string]int64, first []Loss, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts = map[string]int64{}
	for k, n := range r.counts {
		counts[k] = n
	}
	first = append(slices.Clone(r.failed), r.losses...)
	return counts, first[:min(len(first), keptLosses)], r.err
}
