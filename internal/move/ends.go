package move

import (
	"context"
	"fmt"
)

// Source is the end that is read. Its methods may be called by several goroutines, Scan by
// one.
type Source interface {
	// Scan calls yield for every entry, a directory before what it holds, in the order in
	// which directories list them. It holds no more than one directory of every depth open.
	// What it cannot read it reports as Failed and goes on; an error is the end of the scan:
	// yield's, or the root's. An entry is the caller's to keep.
	Scan(ctx context.Context, yield func(*Entry) error) error
	// Open opens a file, and looks at it anew: what Entry of the result says, counts.
	Open(ctx context.Context, e *Entry) (SourceFile, error)
}

// SourceFile is an open file of a source. Read may be called by several goroutines.
type SourceFile interface {
	// Entry is the file as it was when it was opened.
	Entry() *Entry
	// Next is the first block at or after index that holds data, io.EOF after the last.
	Next(index int64) (int64, error)
	// Read reads a block into buf, which has room for BlockSize or for all of the file, and hashes it. A range that
	// holds no data any more gives a block without extents, which is not sent.
	Read(ctx context.Context, index int64, buf []byte) (Block, error)
	// Changed is an error (ErrChanged) if the file is not what it was at Open: to be asked
	// after the last block was read, before the target is committed.
	Changed() error
	Close() error
}

// Ahead is a source that can have small files read from its disk before their turn.
type Ahead interface {
	// OpenAhead opens a file as Open does, and has the system begin to read it. It is nil where the
	// file is better opened in its turn, which then also says what is wrong with it.
	OpenAhead(ctx context.Context, e *Entry) SourceFile
}

// ErrChanged is a source that changed while it was read: the caller aborts, opens it once
// more, and reports it as failed the second time.
var ErrChanged = fmt.Errorf("the source changed while it was read")

// ErrMoved is a file that another target takes: the caller gives it up and says nothing of it.
var ErrMoved = fmt.Errorf("another target takes it")

// Presence is what a target has under the name of an entry.
type Presence uint8

// The presences.
const (
	Absent  Presence = iota
	Present          // what a copy would leave as it is, but for its metadata
	Differs          // something else, or a part of it that an earlier run has left
)

// Finder is a target that can be asked what it has. An entry needs no xattrs for that.
type Finder interface {
	Find(ctx context.Context, entries []*Entry) ([]Presence, error)
}

// Sink is the end that is written. Its methods may be called by several goroutines; the
// order that they need: a directory is made before what it holds, and Finish is last.
// Whatever cannot be kept it reports as Loss through the Report that it was made with; an
// error of Make, Put and Begin concerns that entry alone unless it wraps ErrSink.
type Sink interface {
	// Make makes what is not a file with data: directories, symlinks, fifos, devices, and
	// further names (Linked) of what was committed before.
	Make(ctx context.Context, e *Entry) error
	// Put takes a file of at most PackSize whole. b.Extents may be empty: an empty file, or
	// one that is all hole. It becomes visible with its batch, at the latest at Finish.
	Put(ctx context.Context, e *Entry, b Block) error
	// Begin takes a file whose blocks follow. Nothing is seen under its name before Commit.
	Begin(ctx context.Context, e *Entry) (SinkFile, Have, error)
	// Finish makes everything durable and sets the directories' metadata.
	Finish(ctx context.Context) error
}

// ErrSink marks an error after which the sink takes nothing more: no space, no device.
var ErrSink = fmt.Errorf("the target takes nothing more")

// ErrNoFirst is a further name whose first one is not in the target: the caller copies it
// as a file of its own.
var ErrNoFirst = fmt.Errorf("its first name is not in the target")

// ErrUnmade is an entry of a kind that the target, or its user, cannot make: it is counted as
// LostEntry, not as Failed.
var ErrUnmade = fmt.Errorf("it cannot be made here")

// Have is what a sink has already of a file.
type Have struct {
	// Same: its content is there under its name (same size and mtime); no SinkFile is given.
	Same bool
	// Leaves are of blocks that an earlier run made durable, ascending: they are not sent.
	Leaves []Leaf
}

// SinkFile is a file that is being written. Write may be called by several goroutines.
type SinkFile interface {
	// Write checks a block (CorruptError: send it again) and writes it. b.Data is the
	// caller's again when it returns.
	Write(ctx context.Context, b Block) error
	// Commit compares the root of all blocks, sets metadata, makes data durable and gives
	// the file its name: a large one now, others with their batch, whose late failures are
	// reported. After an error nothing stands under the name that was not before.
	Commit(ctx context.Context, root Hash) error
	// Abort ends it without a commit; keep leaves what was written for a later run.
	Abort(keep bool) error
}

// Name is an entry of a target, as its source is asked about it.
type Name struct {
	Path      string // of the target: bytes
	Directory bool
}

// Keeper is a source that can be asked which names of the target are to stay.
type Keeper interface {
	// Keeps answers for each name whether it stays: the source has it, leaves it out, or has
	// nothing to do with it.
	Keeps(ctx context.Context, names []Name) ([]bool, error)
	// Unread is how many entries could not be read: with one of them nothing is deleted. It
	// counts after Scan.
	Unread(ctx context.Context) (int64, error)
}

// Tidier is a sink that deals, once all was finished, with what the source does not have.
type Tidier interface {
	Tidy(ctx context.Context, source Keeper) error
}
