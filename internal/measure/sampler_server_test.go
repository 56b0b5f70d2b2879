package measure

import (
	"testing"

	"linerate/internal/kernel/kerneltest"
)

const serverStat = "cpu0 1 2 3 4 5 6 7 8 9 10\nprocs_blocked 2\n"

// serverHost serves a file system of /dev/sdb over the kernel's NFS.
func serverHost(t *testing.T, more map[string]string) *kerneltest.Host {
	t.Helper()
	h := nfsHost(t)
	h.Files["proc/stat"] = serverStat
	for name, text := range more {
		h.Files[name[1:]] = text
	}
	return h
}

func TestSamplerOfAServer(t *testing.T) {
	nfsd := map[string]string{
		"/proc/thread-self/net/rpc/nfsd": "th 8 0 0.000\n",
		"/proc/fs/nfsd/pool_stats":       "# pool\n0 100 100 60 0\n",
		"/proc/diskstats":                "   8      16 sdb 10 0 2048 30 0 0 0 0 0 25 30\n",
	}
	s := sampler(t, serverHost(t, nfsd), Watch{Serves: &Serving{Disk: "8:16"}})
	c := read(t, s).Server
	if c == nil || c.Blocked != 2 || c.NFSD == nil || c.NFSD.Threads != 8 || c.NFSD.Arrived != 100 || c.Disk == nil || c.Disk.Name != "sdb" || c.Disk.Read.Bytes != 1<<20 {
		t.Fatalf("%+v", c)
	}
	// A server in user space on ZFS shows neither, and that is no failure.
	s = sampler(t, serverHost(t, nil), Watch{Serves: &Serving{}})
	if c := read(t, s).Server; c == nil || c.NFSD != nil || c.Disk != nil || c.Blocked != 2 {
		t.Errorf("%+v", c)
	}
	for _, b := range s.Blind() {
		t.Errorf("blind to %+v", b)
	}
	if c := read(t, sampler(t, serverHost(t, nfsd), Watch{})).Server; c != nil {
		t.Errorf("unasked: %+v", c)
	}
	// A file that is not what it should be is a view missed, and told.
	s = sampler(t, serverHost(t, map[string]string{"/proc/thread-self/net/rpc/nfsd": "th many\n"}), Watch{Serves: &Serving{}})
	if read(t, s); len(s.Blind()) != 1 {
		t.Errorf("blind to %+v", s.Blind())
	}
}
