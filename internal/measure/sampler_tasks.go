package measure

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"syscall"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// taskReader samples the threads of the watched processes. The owner of a connection is looked up
// only once, because that means reading every open file of the host.
type taskReader struct {
	src  kernel.Source
	find bool
	had  bool             // some thread was read before
	pids map[int][]uint32 // watched processes and the watched sockets they hold
	seen map[uint32]bool  // connections whose owner was looked up
	nfsd bool             // the threads of the kernel's NFS server were looked up
}

func newTaskReader(src kernel.Source, w Watch) *taskReader {
	r := &taskReader{src: src, find: w.FindOwners, pids: map[int][]uint32{}, seen: map[uint32]bool{}}
	for _, pid := range w.PIDs {
		r.pids[pid] = nil
	}
	return r
}

// read returns every thread of the watched processes. It forgets processes that ended; that is an
// error only if there never was any thread to read.
func (r *taskReader) read(conns []model.Conn) ([]model.Task, error) {
	findErr := r.assign(conns)
	var tasks []model.Task
	var errs []error
	for pid, inodes := range r.pids {
		t, err := r.process(pid, inodes)
		if gone(err) {
			delete(r.pids, pid)
		}
		if err != nil {
			errs = append(errs, err)
		}
		tasks = append(tasks, t...)
	}
	slices.SortFunc(tasks, func(a, b model.Task) int { return a.TID - b.TID })
	if len(tasks) == 0 && len(errs) > 0 && !r.had {
		return nil, errors.Join(errs...)
	}
	r.had = r.had || len(tasks) > 0
	return tasks, findErr
}

// assign finds the owners of new connections.
func (r *taskReader) assign(conns []model.Conn) error {
	fresh := map[uint32]bool{}
	for _, c := range conns {
		if c.Inode != 0 && !r.seen[c.Inode] {
			r.seen[c.Inode], fresh[c.Inode] = true, true
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	candidates := make([]int, 0, len(r.pids))
	for pid := range r.pids {
		candidates = append(candidates, pid)
	}
	if r.find {
		all, err := r.processes()
		if err != nil {
			return err
		}
		candidates = all
	}
	return r.scan(candidates, fresh)
}

// mostNFSD bounds how many threads of the kernel's NFS server are sampled: more would be a load
// of its own.
const mostNFSD = 256

// addNFSD adds the threads of the kernel's NFS server, once. No process holds their sockets.
func (r *taskReader) addNFSD() error {
	if r.nfsd {
		return nil
	}
	r.nfsd = true
	pids, err := r.processes()
	if err != nil {
		return err
	}
	found := 0
	for _, pid := range pids {
		b, err := r.src.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil {
			continue // it ended
		}
		st, err := kernel.ParseTaskStat(b)
		if err != nil || !st.Kernel || st.Name != "nfsd" || found == mostNFSD {
			continue
		}
		if _, ok := r.pids[pid]; !ok {
			r.pids[pid] = nil
		}
		found++
	}
	return nil
}

func (r *taskReader) processes() ([]int, error) {
	names, err := r.src.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// scan reads the open files of the candidates. Several processes may share one socket: each
// becomes an owner. It is an error only if a connection has no visible owner while some process's
// files could not be read: the kernel's own sockets (NFS) have none.
func (r *taskReader) scan(pids []int, fresh map[uint32]bool) error {
	var denied error
	owned := map[uint32]bool{}
	for _, pid := range pids {
		dir := "/proc/" + strconv.Itoa(pid) + "/fd"
		fds, err := r.src.ReadDir(dir)
		if errors.Is(err, fs.ErrPermission) {
			denied = err
		}
		if err != nil {
			continue // it ended, or its files may not be read
		}
		for _, fd := range fds {
			target, err := r.src.Readlink(path.Join(dir, fd))
			if err != nil {
				continue // closed meanwhile
			}
			inode, ok := kernel.ParseSocketLink(target)
			if ok && fresh[inode] && !slices.Contains(r.pids[pid], inode) {
				r.pids[pid] = append(r.pids[pid], inode)
				owned[inode] = true
			}
		}
	}
	if denied != nil && r.find && len(owned) < len(fresh) {
		return fmt.Errorf("find the owner of a connection: %w", denied)
	}
	return nil
}

func (r *taskReader) process(pid int, inodes []uint32) ([]model.Task, error) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	tids, err := r.src.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	tasks := make([]model.Task, 0, len(tids))
	for _, name := range tids {
		tid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		t, err := r.thread(dir + "/" + name)
		if gone(err) {
			continue
		}
		if err != nil {
			return tasks, err
		}
		t.PID, t.TID, t.Conns = pid, tid, inodes
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// thread reads one thread; without schedstat the kernel gives its CPU time in ticks and no
// waiting time.
func (r *taskReader) thread(dir string) (model.Task, error) {
	b, err := r.src.ReadFile(dir + "/stat")
	if err != nil {
		return model.Task{}, err
	}
	st, err := kernel.ParseTaskStat(b)
	if err != nil {
		return model.Task{}, err
	}
	t := model.Task{Name: st.Name, Core: st.Core, CPU: st.CPU, State: st.State}
	b, err = r.src.ReadFile(dir + "/schedstat")
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err == nil {
		var cpu, wait time.Duration
		cpu, wait, err = kernel.ParseSchedstat(b)
		t.CPU, t.Wait = cpu, wait
	}
	return t, err
}

// gone tells that a thread ended between two reads: its directory is missing, or reading it gives
// ESRCH.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}
