package facts

import (
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"slices"
	"testing"

	"linerate/internal/kernel/kerneltest"
)

// storageHost is the recorded client of iSCSI disks and SMB shares.
func storageHost(t *testing.T) *kerneltest.Host {
	t.Helper()
	return load(t, "iscsi-client")
}

func TestStorageBehindAPath(t *testing.T) {
	for _, c := range []struct {
		path, device string
		servers      []string
		proto        string
		kind         error
	}{
		{"/dev/sdb", "sdb", []string{"192.0.2.30:3260"}, "tcp", nil},
		{"/dev/sdb1", "sdb1", []string{"192.0.2.30:3260"}, "tcp", nil},
		{"/dev/disk/by-label/data", "sdb1", []string{"192.0.2.30:3260"}, "tcp", nil},
		{"/mnt/disk/film", "sdb1", []string{"192.0.2.30:3260"}, "tcp", nil},
		{"/dev/mapper/mpatha", "dm-0", []string{"192.0.2.31:3260", "198.51.100.31:3261"}, "tcp", nil},
		{"/mnt/lv", "dm-1", []string{"192.0.2.31:3260", "198.51.100.31:3261"}, "tcp", nil},
		{"/dev/sde", "sde", []string{"[2001:db8::30]:3260"}, "tcp", nil},
		{"/dev/sdf", "sdf", []string{"192.0.2.33:3260"}, "iscsi_iser", nil},
		{"/dev/sdg", "", nil, "", ErrLocal}, // a session whose portal is only a name
		{"/dev/sda1", "", nil, "", ErrLocal},
		{"/dev/null", "", nil, "", ErrLocal},
		{"/", "", nil, "", ErrLocal},
		{"/mnt/smb", "", []string{"192.0.2.20:445", "198.51.100.20:445"}, "tcp", nil},
		{"/mnt/smb6", "", []string{"[2001:db8::21]:445"}, "tcp", nil},
		{"/mnt/smbd", "", []string{"192.0.2.22:445"}, "rdma", nil},
	} {
		got, err := MountOf(context.Background(), storageHost(t), c.path)
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
		var servers []string
		for _, s := range got.Servers() {
			servers = append(servers, s.String())
		}
		if got.Device != c.device || !slices.Equal(servers, c.servers) || got.Proto != c.proto {
			t.Errorf("%s: device %q servers %v over %s, want %q %v over %s", c.path, got.Device, servers, got.Proto, c.device, c.servers, c.proto)
		}
	}
}

// A disk whose connection is down has no address of its own: the portal's is
// taken.
func TestPortalOfADiskThatIsDown(t *testing.T) {
	h := storageHost(t)
	h.Fail["/sys/class/iscsi_connection/connection1:0/address"] = errors.New("transport endpoint is not connected")
	got, err := MountOf(context.Background(), h, "/dev/sdb")
	if err != nil || got.Addr != netip.MustParseAddr("192.0.2.130") {
		t.Errorf("%+v, %v", got, err)
	}
	h.Fail["/sys/class/iscsi_connection"] = fs.ErrPermission
	if _, err := MountOf(context.Background(), h, "/dev/sdb"); !errors.Is(err, ErrLocal) {
		t.Errorf("nothing told of its session: %v", err)
	}
}

// Links of a tree that leads in circles end.
func TestBlockDevicesInCircles(t *testing.T) {
	h := kerneltest.Parse([]byte(`-- proc/self/mountinfo --
27 1 254:0 / / rw - ext4 /dev/a rw
-- dev/a@ --
b
-- dev/b@ --
a
-- dev/dm-9 --
-- sys/class/block/dm-9@ --
../../devices/virtual/block/dm-9
-- sys/class/block/dm-9/slaves/dm-9 --
`))
	for _, p := range []string{"/", "/dev/dm-9"} {
		if got, err := MountOf(context.Background(), h, p); !errors.Is(err, ErrLocal) {
			t.Errorf("%s: %+v, %v", p, got, err)
		}
	}
}

func FuzzParsePortal(f *testing.F) {
	f.Add("192.0.2.1\n", "3260\n")
	f.Add("[fd00::1]", "")
	f.Add("fe80::1%eth0", "99999")
	f.Fuzz(func(t *testing.T, addr, port string) {
		p, err := parsePortal(addr, port)
		if err == nil && (!p.IsValid() || p.Port() == 0 || p.Addr().IsUnspecified()) {
			t.Errorf("%q %q: %v", addr, port, p)
		}
	})
}
