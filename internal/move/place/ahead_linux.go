package place

import (
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"linerate/internal/move"
)

// aheadFrom: the data of smaller files are no longer under way when the answers come.
const aheadFrom = 2 * aloneFrom

// askAhead asks a server, beside the data of a large file, what its end would wait for.
//
// A client of SMB that asks for the attributes of a file has its server ask back for what the client may
// keep of that file, and waits for all of it. The journal, in the root, tells beside the data what else the
// first file of the root would be asked for at its end: whether the root hands attributes down. It is
// also removed sooner, once the server has been given back what the client could keep of it.
func (p *Place) askAhead() error {
	p.bare.Store(!slices.ContainsFunc(p.present(procOf(p.root)), isOurs))
	m := p.journal
	if !p.onSMB() || m.resumed { // it may be older than what the root hands down
		return nil
	}
	handed := slices.ContainsFunc(p.present(procOf(int(m.f.Fd()))), isOurs)
	if handed {
		return nil
	}
	root, err := p.dir("")
	if err != nil {
		return err
	}
	root.hands.Store(handsNothing)
	p.release(root)
	return nil
}

// askAgain has a client of SMB ask about the journal's file beside the last data of a large one, and believe
// that for a second (actimeo): it would ask as it removes the journal.
func (f *file) askAgain(beside *sync.WaitGroup) {
	if !f.d.smb() || f.e.Size < aheadFrom {
		return
	}
	beside.Go(func() {
		var st unix.Stat_t
		_ = unix.Fstat(int(f.p.journal.f.Fd()), &st) // the removal tells what is wrong
	})
}

// cachedAhead is how many blocks of a large file on a mount of NFS its client holds that the server does not have: more
// than is under way on fast and long lines.
const cachedAhead = 16

// follow waits until the server has the block that lies so far before another one. Else memory is filled as fast
// as the source is read, until the journal is waited for, and then again: while that takes a host's only core,
// nothing is sent. A client of SMB sends within what begins the sending, and needs no wait.
func (f *file) follow(index int64) error {
	at := (index - cachedAhead) * move.BlockSize
	if !f.d.nfs || at < 0 {
		return nil
	}
	f.following.RLock()
	defer f.following.RUnlock()
	err := unix.SyncFileRange(f.fd, at, move.BlockSize, unix.SYNC_FILE_RANGE_WAIT_BEFORE)
	if err != nil { // the kernel tells of it once
		err = fmt.Errorf("write at %d: %w", at, f.p.sinkError(err))
		f.lost.Store(&err)
	}
	return err
}

// toldOthers reports whether a writer was told of lost data, of which the kernel then told nobody else.
func (f *file) toldOthers() bool {
	f.following.Lock()
	defer f.following.Unlock()
	return f.isLost() != nil
}

// whole tells whether all blocks of a file were written.
func (f *file) whole() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int64(len(f.blocks)) == move.Blocks(f.e.Size)
}

// settleHead has the journal's first record sent to a server beside the first small file: else the last
// close waits for it. For a large file the first append does so.
func (p *Place) settleHead() {
	m := p.journal
	if p.Served() && !m.headed.Swap(true) {
		m.beside.Go(func() error { return unix.Fdatasync(int(m.f.Fd())) })
	}
}
