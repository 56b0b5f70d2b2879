package ring

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// From include/uapi/linux/io_uring.h.
const (
	opNop        = 0
	opFsync      = 3
	opReadFixed  = 4
	opWriteFixed = 5

	fsyncDatasync = 1 << 0
	fixedFile     = 1 << 0 // IOSQE_FIXED_FILE

	setupClamp       = 1 << 4
	setupSingleIssue = 1 << 12
	setupDeferTask   = 1 << 13
	featSingleMmap   = 1 << 0

	enterGetEvents = 1 << 0
	enterExtArg    = 1 << 3 // since 5.11
	featExtArg     = 1 << 8

	registerBuffers = 0
	registerFiles   = 2

	offSQRing = 0
	offSQEs   = 0x10000000
)

type sqOffsets struct {
	head, tail, mask, entries, flags, dropped, array, resv1 uint32
	userAddr                                                uint64
}

type cqOffsets struct {
	head, tail, mask, entries, overflow, cqes, flags, resv1 uint32
	userAddr                                                uint64
}

type params struct {
	sqEntries, cqEntries, flags, threadCPU, threadIdle, features, wqFD uint32
	resv                                                               [3]uint32
	sq                                                                 sqOffsets
	cq                                                                 cqOffsets
}

type sqe struct {
	opcode   uint8
	flags    uint8
	ioprio   uint16
	fd       int32
	off      uint64
	addr     uint64
	len      uint32
	opFlags  uint32
	userData uint64
	bufIndex uint16
	_        [22]byte
}

type cqe struct {
	userData uint64
	res      int32
	flags    uint32
}

// Ring is one submission and one completion queue. It is used by the thread
// that made it, which must be locked (runtime.LockOSThread), and by no other.
type Ring struct {
	fd             int
	rings, entries []byte // mapped
	sqes           []sqe
	cqes           []cqe
	sqHead, sqTail *uint32
	cqHead, cqTail *uint32
	sqMask, cqMask uint32
	tail           uint32 // of what was pushed; sqTail is what the kernel may see
	submitted      uint32
	buffers        [][]byte
	arg            getEventsArg // of a wait; in the Ring so that nothing is allocated
	limit          unix.Timespec
}

// New makes a ring with room for depth operations that were pushed and not yet
// submitted; the completion queue holds twice as many. The completions of a
// kernel since 6.1 are handled only when the ring is entered (DEFER_TASKRUN),
// which is what keeps interrupts of the I/O off the loop; older kernels are
// asked without it.
func New(depth int) (*Ring, error) {
	if depth < 1 || depth > 1<<12 {
		return nil, fmt.Errorf("make ring: depth %d, want 1 to 4096", depth)
	}
	p := params{flags: setupClamp | setupSingleIssue | setupDeferTask}
	fd, err := setup(uint32(depth), &p)
	if errors.Is(err, unix.EINVAL) {
		p = params{flags: setupClamp}
		fd, err = setup(uint32(depth), &p)
	}
	switch {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		return nil, fmt.Errorf("make ring: %w: %w", ErrUnavailable, err)
	case errors.Is(err, unix.ENOMEM): // until 5.11 its own memory counts as locked
		return nil, fmt.Errorf("make ring: %w: %w: %s", ErrUnavailable, err, lockedAdvice)
	case err != nil:
		return nil, fmt.Errorf("make ring: %w", err)
	}
	r := &Ring{fd: fd}
	if p.features&featSingleMmap == 0 || p.features&featExtArg == 0 {
		return nil, errors.Join(fmt.Errorf("make ring: %w: the kernel is older than 5.11", ErrUnavailable), r.Close())
	}
	if err := r.mmap(&p); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// lockedAdvice: the pages of registered buffers count as locked, and without
// CAP_IPC_LOCK a user may have RLIMIT_MEMLOCK of them (io_uring_register(2)).
const lockedAdvice = "this user may not lock that much memory (ulimit -l)"

func setup(depth uint32, p *params) (int, error) {
	fd, _, no := unix.Syscall(unix.SYS_IO_URING_SETUP, uintptr(depth), uintptr(unsafe.Pointer(p)), 0)
	if no != 0 {
		return -1, no
	}
	return int(fd), nil
}

func (r *Ring) mmap(p *params) (err error) {
	size := max(int(p.sq.array)+int(p.sqEntries)*4, int(p.cq.cqes)+int(p.cqEntries)*int(unsafe.Sizeof(cqe{})))
	if r.rings, err = r.mapAt(offSQRing, size); err != nil {
		return err
	}
	if r.entries, err = r.mapAt(offSQEs, int(p.sqEntries)*int(unsafe.Sizeof(sqe{}))); err != nil {
		return err
	}
	word := func(at uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.rings[at])) }
	r.sqHead, r.sqTail, r.sqMask = word(p.sq.head), word(p.sq.tail), *word(p.sq.mask)
	r.cqHead, r.cqTail, r.cqMask = word(p.cq.head), word(p.cq.tail), *word(p.cq.mask)
	r.sqes = unsafe.Slice((*sqe)(unsafe.Pointer(&r.entries[0])), p.sqEntries)
	r.cqes = unsafe.Slice((*cqe)(unsafe.Pointer(&r.rings[p.cq.cqes])), p.cqEntries)
	// Entry i of the ring is always entry i of the array.
	array := unsafe.Slice(word(p.sq.array), p.sqEntries)
	for i := range array {
		array[i] = uint32(i)
	}
	r.tail = *r.sqTail
	r.submitted = r.tail
	return nil
}

func (r *Ring) mapAt(offset int64, size int) ([]byte, error) {
	b, err := unix.Mmap(r.fd, offset, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("map ring: %w", err)
	}
	return b, nil
}

// RegisterFiles gives the ring the open files that operations name by index.
// They must stay open as long as the ring.
func (r *Ring) RegisterFiles(fds []int32) error {
	if len(fds) == 0 {
		return errors.New("register files with ring: none")
	}
	return r.register(registerFiles, unsafe.Pointer(&fds[0]), len(fds), "files")
}

// RegisterBuffers gives the ring the buffers that operations name by index.
// They must not be on Go's heap where it could move or free them: map them.
func (r *Ring) RegisterBuffers(buffers [][]byte) error {
	iov := make([]unix.Iovec, len(buffers))
	for i, b := range buffers {
		if len(b) == 0 {
			return fmt.Errorf("register buffers with ring: buffer %d is empty", i)
		}
		iov[i].Base = &b[0]
		iov[i].SetLen(len(b))
	}
	if len(iov) == 0 {
		return errors.New("register buffers with ring: none")
	}
	if err := r.register(registerBuffers, unsafe.Pointer(&iov[0]), len(iov), "buffers"); err != nil {
		return err
	}
	r.buffers = buffers
	return nil
}

func (r *Ring) register(what uintptr, at unsafe.Pointer, n int, name string) error {
	_, _, no := unix.Syscall6(unix.SYS_IO_URING_REGISTER, uintptr(r.fd), what, uintptr(at), uintptr(n), 0, 0)
	switch no {
	case 0:
		return nil
	case unix.ENOMEM:
		return fmt.Errorf("register %s with ring: %w: %w: %s", name, ErrUnavailable, no, lockedAdvice)
	}
	return fmt.Errorf("register %s with ring: %w", name, no)
}

// Push puts an operation in the queue, to be submitted by the next Enter. It
// returns false when the queue is full. An operation beyond its buffer is a
// mistake of the caller's, and panics as an index out of range does.
func (r *Ring) Push(o Op) bool {
	if r.tail-atomic.LoadUint32(r.sqHead) >= uint32(len(r.sqes)) {
		return false
	}
	e := &r.sqes[r.tail&r.sqMask]
	*e = sqe{}
	e.fd, e.flags, e.userData = int32(o.File), fixedFile, o.Tag
	switch o.Kind {
	case Read, Write:
		b := r.buffers[o.Buffer][o.From : o.From+o.Len]
		e.opcode = opReadFixed
		if o.Kind == Write {
			e.opcode = opWriteFixed
		}
		e.off, e.len, e.bufIndex = uint64(o.Offset), uint32(o.Len), uint16(o.Buffer)
		e.addr = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
	case Fsync:
		e.opcode = opFsync
	case Fdatasync:
		e.opcode, e.opFlags = opFsync, fsyncDatasync
	default:
		*e = sqe{opcode: opNop, userData: o.Tag}
	}
	r.tail++
	return true
}

// getEventsArg is struct io_uring_getevents_arg.
type getEventsArg struct {
	sigmask   uint64
	sigmaskSz uint32
	_         uint32
	ts        uint64
}

// Enter submits what was pushed and lets completions arrive. It waits until at
// least so many have, but no longer than limit; with 0 it does not wait. A wait
// that was interrupted or took too long is no error: look what has arrived.
func (r *Ring) Enter(wait int, limit time.Duration) error {
	atomic.StoreUint32(r.sqTail, r.tail)
	n := r.tail - r.submitted
	var got uintptr
	var no unix.Errno
	if wait > 0 {
		r.limit = unix.NsecToTimespec(int64(max(limit, 0)))
		r.arg.ts = uint64(uintptr(unsafe.Pointer(&r.limit)))
		got, _, no = unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(n), uintptr(wait),
			enterGetEvents|enterExtArg, uintptr(unsafe.Pointer(&r.arg)), unsafe.Sizeof(r.arg))
	} else {
		// It cannot block, so the scheduler need not know.
		got, _, no = unix.RawSyscall6(unix.SYS_IO_URING_ENTER, uintptr(r.fd), uintptr(n), 0, enterGetEvents, 0, 0)
	}
	switch no {
	case 0:
		r.submitted += uint32(got)
		return nil
	case unix.EINTR, unix.EAGAIN, unix.EBUSY, unix.ETIME:
		// What was not taken is offered again by the next call: the kernel's
		// head tells how far it came.
		r.submitted = atomic.LoadUint32(r.sqHead)
		return nil
	}
	return fmt.Errorf("enter ring: %w", no)
}

// Next takes the oldest completion; false when none has arrived.
func (r *Ring) Next() (Completion, bool) {
	head := *r.cqHead // only this thread moves it
	if head == atomic.LoadUint32(r.cqTail) {
		return Completion{}, false
	}
	e := r.cqes[head&r.cqMask]
	atomic.StoreUint32(r.cqHead, head+1)
	return Completion{e.userData, e.res}, true
}

// Arrived is how many completions can be taken without entering the kernel.
func (r *Ring) Arrived() int { return int(atomic.LoadUint32(r.cqTail) - *r.cqHead) }

// Close frees the ring. Operations that the kernel still has are cancelled or
// finish by themselves; their buffers must outlive them.
func (r *Ring) Close() error {
	var errs []error
	for _, m := range [][]byte{r.entries, r.rings} {
		if m != nil {
			errs = append(errs, unix.Munmap(m))
		}
	}
	return errors.Join(append(errs, unix.Close(r.fd))...)
}

// Memory maps zeroed pages for buffers, outside Go's heap, touched already.
func Memory(size int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes for buffers: %w", size, err)
	}
	return b, nil
}

// Free returns what Memory mapped.
func Free(b []byte) error { return unix.Munmap(b) }
