package kernel

import (
	"bytes"
	"fmt"
	"strings"

	"linerate/internal/model"
)

// ParseBlocked reads how many tasks wait for a disk from /proc/stat
// (procs_blocked, fs/proc/stat.c).
func ParseBlocked(b []byte) (int64, error) {
	for line := range bytes.Lines(b) {
		f := strings.Fields(string(line))
		if len(f) != 2 || f[0] != "procs_blocked" {
			continue
		}
		n, err := number(f[1])
		if err != nil {
			return 0, fmt.Errorf("parse /proc/stat: procs_blocked: %w", err)
		}
		return n, nil
	}
	return 0, fmt.Errorf("parse /proc/stat: no line procs_blocked")
}

// ParseNFSD reads the number of threads from /proc/net/rpc/nfsd (line th, fs/nfsd/stats.c) and,
// summed over the pools of /proc/fs/nfsd/pool_stats, how often requests arrived and how often an
// idle thread was there for them (net/sunrpc/svc_xprt.c;
// Documentation/filesystems/nfs/knfsd-stats.rst).
func ParseNFSD(stats, pools []byte) (*model.NFSDCount, error) {
	out := &model.NFSDCount{Threads: -1}
	for line := range bytes.Lines(stats) {
		f := strings.Fields(string(line))
		if len(f) < 2 || f[0] != "th" {
			continue
		}
		n, err := number(f[1])
		if err != nil {
			return nil, fmt.Errorf("parse statistics of nfsd: th: %w", err)
		}
		out.Threads = n
	}
	if out.Threads < 0 {
		return nil, fmt.Errorf("parse statistics of nfsd: no line th")
	}
	for line := range bytes.Lines(pools) {
		f := strings.Fields(string(line))
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		if len(f) < 4 {
			return nil, fmt.Errorf("parse pool_stats: %d columns, want at least 4", len(f))
		}
		arrived, aerr := number(f[1])
		woken, werr := number(f[3])
		if aerr != nil || werr != nil || arrived > 1<<62-out.Arrived || woken > 1<<62-out.Woken {
			return nil, fmt.Errorf("parse pool_stats: %q: want counts", strings.TrimSpace(string(line)))
		}
		out.Arrived, out.Woken = out.Arrived+arrived, out.Woken+woken
	}
	return out, nil
}
