package measure

import (
	"context"
	"errors"
	"io/fs"

	"linerate/internal/kernel"
	"linerate/internal/model"
)

// readServer reads how a storage server performs its own work. A disk without counters and a
// kernel without an NFS server are no errors; an unreadable file is.
func (s *Sampler) readServer(_ context.Context, out *model.Sample) error {
	b, err := s.src.ReadFile("/proc/stat")
	if err != nil {
		return err
	}
	c := &model.ServerCount{}
	if c.Blocked, err = kernel.ParseBlocked(b); err != nil {
		return err
	}
	out.Server = c
	if c.NFSD, err = s.readNFSD(); c.NFSD != nil && err == nil {
		err = s.tasks.addNFSD()
	}
	if s.watch.Serves.Disk == "" {
		return err
	}
	b, derr := s.src.ReadFile("/proc/diskstats")
	if derr != nil {
		return errors.Join(err, derr)
	}
	if d, perr := kernel.ParseDiskOf(b, s.watch.Serves.Disk); perr == nil {
		c.Disk = d
	}
	return err
}

// readNFSD is nil if the kernel serves no NFS: the files are missing, or there is no thread.
func (s *Sampler) readNFSD() (*model.NFSDCount, error) {
	stats, err := s.src.ReadFile("/proc/thread-self/net/rpc/nfsd")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pools, err := s.src.ReadFile("/proc/fs/nfsd/pool_stats")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	c, err := kernel.ParseNFSD(stats, pools)
	if err != nil || c.Threads == 0 {
		return nil, err
	}
	return c, nil
}
