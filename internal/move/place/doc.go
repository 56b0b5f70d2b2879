// Package place writes what is copied: it makes entries below one directory, under a
// temporary name until they are whole, durable and have their metadata, so that a reader
// never sees half a file. Whatever it is told, it writes nowhere else: every path is walked
// without following a link. It reads metadata back, and reports what the file system did not
// keep. It refuses to replace a directory that holds anything, and to write where another
// copy is writing.
package place

import (
	"fmt"
	"strings"

	"github.com/zeebo/xxh3"

	"linerate/internal/move"
)

// Options of a place.
type Options struct {
	Run    string      // names the temporary files: up to 16 letters and digits; "": one is drawn
	Verify move.Verify // Full: what was written is read again past the cache
	Direct bool        // large files past the page cache, where that can be had
	Setuid bool        // keep set-user-ID and set-group-ID of files
	Plan   bool        // change nothing: only Decide and Extra are used, the root may be absent
	// Told: the report is told after Finish, so that all which is lost has to be in it before Close.
	Told bool
	// Journal is how many bytes may be written that the journal does not know; 0: 256 MiB. It is
	// written after a quarter of them, or a second.
	Journal int64
	// At hears of the points at which a test kills or waits: "open", "write", "fdatasync", "append",
	// "prove" (a block is read again), "rename", "dirsync". nil: nobody listens.
	At func(point string)
}

// Sizes that decide how files are written.
const (
	directFrom = 32 << 20 // from here past the cache
	aloneFrom  = 64 << 20 // from here a file is made durable by itself, below with its batch
	// From so many files, or so much, a batch is made durable and gets its names, if the one before
	// is by then: each time the disk is waited for.
	leastFiles = 1024
	leastBytes = 16 << 20
	// No more wait for the one before: what a kill has sent again is that much, three times at most, of
	// files that wait, that are made durable, and that get their names.
	batchFiles = 4096
	batchBytes = 64 << 20
)

// Action is what becomes of an entry.
type Action uint8

// The actions.
const (
	New Action = iota
	Replace
	Same // the content is there; metadata are set where they differ
)

// String names an action as a plan prints it.
func (a Action) String() string { return [...]string{"new", "replace", "same"}[a] }

// tempName is the name under which an entry is written before it is whole. It holds the
// name, so that people find what is left of a copy that was killed, unless that is too long,
// or the target folds case: there the temporary names of two entries have to differ even
// where their own do not.
func tempName(name, run string, folds bool) string {
	temp := "." + name + ".linerate-" + run
	if len(temp) <= 255 && !folds {
		return temp
	}
	sum := xxh3.HashString128(name)
	return fmt.Sprintf(".linerate-%s-%016x%016x", run, sum.Hi, sum.Lo)
}

// secondName is another temporary name of an entry, which no other entry has.
func secondName(name, run string) string { return tempName(name, run, true) + "-2" }

// isTemp tells whether a name is one that tempName made.
func isTemp(name, run string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".linerate-"+run) || strings.HasPrefix(name, ".linerate-"+run+"-")
}

// errJournalName is an entry that has the name of the target's journal.
var errJournalName = fmt.Errorf("in the root of a target that name is the journal's: rename it in the source")

// CollisionError is an entry whose name another one has on a target that folds case.
type CollisionError struct{ Name string }

// Error implements error.
func (e *CollisionError) Error() string {
	return "the target does not tell its name from that of another entry, which was kept: rename one of the two in the source"
}
