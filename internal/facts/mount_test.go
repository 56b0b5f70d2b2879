package facts

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"linerate/internal/kernel/kerneltest"
)

func mountHost() *kerneltest.Host {
	return kerneltest.Parse([]byte(`-- proc/self/mountinfo --
27 1 254:0 / / rw - ext4 /dev/vda rw
30 27 0:30 / /auto rw - autofs systemd-1 rw,fd=40
31 27 0:31 / /auto2 rw - autofs systemd-1 rw,fd=41
32 31 0:32 / /auto2 rw - nfs 10.0.0.9:/x rw,proto=tcp,port=20490,mountport=2048,addr=10.0.0.9
36 27 0:40 / /mnt/nas rw - nfs4 nas1:/export rw,vers=4.2,proto=tcp6,addr=fd00::2
37 36 8:1 / /mnt/nas/local rw - ext4 /dev/sdb1 rw
38 27 0:41 / /mnt/smb rw - cifs //srv/share rw,vers=3.1.1,addr=10.0.0.3,uid=0
39 27 0:42 / /mnt/rdma rw - nfs 10.0.0.4:/x rw,proto=rdma,port=20049,addr=10.0.0.4
40 27 0:43 / /mnt/ssh rw - fuse.sshfs me@srv:/ rw
41 27 0:44 / /mnt/9v rw - 9p tag rw,trans=virtio
42 27 0:45 / /mnt/9t rw - 9p 10.0.0.5 rw,trans=tcp,port=5640
43 27 0:46 / /mnt/two rw - nfs 10.0.0.6:/x rw,addr=10.0.0.6
44 27 0:47 / /mnt/two rw - tmpfs none rw
-- home/me/nas@ --
/mnt/nas/movies
-- home/me/up@ --
../../mnt/smb/./a
-- home/me/loop@ --
loop
-- home/me/file --
text
-- mnt/nasty/file --
text
`))
}

func TestMountOf(t *testing.T) {
	for _, c := range []struct {
		path, server, proto string
		assumed             bool
		kind                error
	}{
		{"/mnt/nas", "[fd00::2]:2049", "tcp", true, nil},
		{"/mnt/nas/deep/below/../x", "[fd00::2]:2049", "tcp", true, nil},
		{"/mnt/nas/local/x", "", "", false, ErrLocal},
		{"/mnt/nasty/file", "", "", false, ErrLocal},
		{"/home/me/nas/film", "[fd00::2]:2049", "tcp", true, nil},
		{"/home/me/up", "10.0.0.3:445", "tcp", true, nil},
		{"/home/me/file", "", "", false, ErrLocal},
		{"/", "", "", false, ErrLocal},
		{"/auto", "", "", false, ErrNotMounted},
		{"/auto2/x", "10.0.0.9:20490", "tcp", false, nil},
		{"/mnt/rdma", "10.0.0.4:20049", "rdma", false, nil},
		{"/mnt/ssh/x", "", "", false, ErrNoPeer},
		{"/mnt/9v", "", "", false, ErrLocal},
		{"/mnt/9t/x", "10.0.0.5:5640", "tcp", false, nil},
		{"/mnt/two", "", "", false, ErrLocal},
		{"/home/me/none", "", "", false, fs.ErrNotExist},
	} {
		got, err := MountOf(context.Background(), mountHost(), c.path)
		if c.kind != nil {
			if !errors.Is(err, c.kind) {
				t.Errorf("%s: %+v, error %v, want %v", c.path, got, err, c.kind)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		if got.Server().String() != c.server || got.Proto != c.proto || got.PortAssumed != c.assumed {
			t.Errorf("%s: %+v, want %s over %s", c.path, got, c.server, c.proto)
		}
	}
}

func TestMountOfRefuses(t *testing.T) {
	for _, p := range []string{"", "mnt/nas", "/home/me/loop/x"} {
		if _, err := MountOf(context.Background(), mountHost(), p); err == nil {
			t.Errorf("%q: no error", p)
		}
	}
	h := mountHost()
	h.Fail["/proc"] = fs.ErrPermission
	if _, err := MountOf(context.Background(), h, "/mnt/nas"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("error %v, want a refused permission", err)
	}
	// A server that is dead must not matter: the mount is never touched.
	h = mountHost()
	h.Fail["/mnt/nas"] = errors.New("this would hang")
	if _, err := MountOf(context.Background(), h, "/mnt/nas/a/b"); err != nil {
		t.Error(err)
	}
}
