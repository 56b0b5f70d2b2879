package server

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/kernel/golden"
)

func testServer(spec Spec) *Server {
	return &Server{spec: spec, addr: netip.MustParseAddr("10.0.0.2"), dir: "/lab/server1/server"}
}

// The configuration of each server is a golden.
func TestConfigurations(t *testing.T) {
	nfs := testServer(Spec{Kind: NFS, Share: "/srv/s"})
	smb := testServer(Spec{Kind: SMB, Share: "/srv/s"})
	iscsi := testServer(Spec{Kind: ISCSI, Share: "/srv/u"})
	ssh := testServer(Spec{Kind: SSH, Share: "/srv/s"})
	var tgt strings.Builder
	for _, argv := range iscsi.tgtCommands() {
		tgt.WriteString(strings.Join(argv, " ") + "\n")
	}
	for name, got := range map[string]string{
		"ganesha.conf": nfs.ganeshaConf("/usr/lib/ganesha"), "smb.conf": smb.smbConf(), "tgt": tgt.String(),
		"sshd_config": ssh.sshdConf(), "ssh_config": ssh.sshConf(),
	} {
		path := filepath.Join("testdata", name)
		golden.Same(t, path, got)
	}
}

func TestClients(t *testing.T) {
	for _, c := range []struct {
		spec            Spec
		url, put, mount string
	}{
		{Spec{Kind: NFS}, "nfs://10.0.0.2/share?version=4", "nfs-cp a nfs://10.0.0.2/share/b?version=3&uid=0&gid=0", "mount -i -t nfs -o vers=4.2,clientaddr=0.0.0.0,proto=tcp,addr=10.0.0.2 10.0.0.2:/share /mnt"},
		{Spec{Kind: SMB}, "smb://10.0.0.2/share", `smbclient --configfile=/dev/null -A /lab/server1/server/login -c put "a" "b" //10.0.0.2/share`, "mount -t cifs -o credentials=/lab/server1/server/login //10.0.0.2/share /mnt"},
		{Spec{Kind: ISCSI}, "iscsi://10.0.0.2:3260/iqn.2026-01.lab.linerate:share/1", "", ""},
		{Spec{Kind: SSH, Share: "/s"}, "ssh://root@10.0.0.2", "scp -q -F /lab/server1/server/ssh_config a 10.0.0.2:/s/b", ""},
	} {
		s := testServer(c.spec)
		if got := s.URL(); got != c.url {
			t.Errorf("%s: %s", c.spec.Kind, got)
		}
		if got := strings.Join(s.Put("a", "b"), " "); got != c.put {
			t.Errorf("%s: %s", c.spec.Kind, got)
		}
		if got := strings.Join(s.Mount("/mnt"), " "); got != c.mount {
			t.Errorf("%s: %s", c.spec.Kind, got)
		}
	}
}

// noHost is a host that fails the test when anything is done to it.
type noHost struct{ t *testing.T }

func (noHost) Name() string     { return "server1" }
func (noHost) Addr() netip.Addr { return netip.MustParseAddr("10.0.0.2") }
func (noHost) Dir() string      { return "/nonexistent" }
func (h noHost) Start(context.Context, string, ...string) (Process, error) {
	h.t.Error("started something")
	return nil, errors.New("no")
}
func (h noHost) Run(context.Context, ...string) ([]byte, error) {
	h.t.Error("ran something")
	return nil, errors.New("no")
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want string
	}{
		{Spec{Kind: "ftp", Share: "/s"}, "no such kind"},
		{Spec{Kind: SMB, Share: "s"}, "absolute"},
		{Spec{Kind: SMB, Share: "/a\nb"}, "line break"},
		{Spec{Kind: NFS, Share: `/a"b`}, "quote"},
	} {
		_, err := Start(context.Background(), noHost{t}, c.spec)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "on server1") {
			t.Errorf("%+v: %v", c.spec, err)
		}
	}
	if err := findPrograms(plan{programs: []string{"no-such-program"}, packages: "some"}); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), "apt-get install --no-install-recommends some") {
		t.Errorf("%v", err)
	}
}

func TestReplies(t *testing.T) {
	rpc := func(words ...uint32) []byte { return xdr(append([]uint32{rpcXID}, words...)...) }
	for _, c := range []struct {
		name  string
		reply []byte
		ok    bool
	}{
		{"accepted", rpc(1, 0, 0, 0, 0), true},
		{"accepted with a verifier", append(rpc(1, 0, 0, 4, 7), xdr(0)...), true},
		{"denied", rpc(1, 1, 0, 0, 0), false},
		{"no such program", rpc(1, 0, 0, 0, 1), false},
		{"verifier beyond the end", rpc(1, 0, 0, 0xffffffff, 0), false},
		{"a call", rpc(0, 0, 0, 0, 0), false},
		{"nothing", nil, false},
	} {
		if _, err := rpcResult(c.reply); (err == nil) != c.ok {
			t.Errorf("RPC %s: %v", c.name, err)
		}
	}
	smb := make([]byte, smb2Header+8)
	copy(smb, smb2Signature)
	smb[16] = smb2IsReply
	binary.LittleEndian.PutUint16(smb[smb2Header+4:], smb2Dialect)
	if err := checkNegotiated(smb); err != nil {
		t.Error(err)
	}
	smb[8] = 0x22
	if checkNegotiated(smb) == nil || checkNegotiated(smb[:70]) == nil {
		t.Error("a refusal or half a reply was taken for an agreement")
	}
	if checkVersion("SSH-2.0-OpenSSH_9.2\r\n") != nil || checkVersion("220 mail\r\n") == nil {
		t.Error("SSH version line")
	}
}

func FuzzReplies(f *testing.F) {
	f.Add(xdr(rpcXID, 1, 0, 0, 0, 0))
	f.Add([]byte(smb2Signature))
	f.Fuzz(func(_ *testing.T, b []byte) {
		_, _ = rpcResult(b)
		_ = checkNegotiated(b)
		_, _ = parseRules(string(b))
	})
}

// cgroupHost answers what its processes' groups are.
type cgroupHost struct {
	noHost
	text string
}

func (h cgroupHost) Run(context.Context, ...string) ([]byte, error) { return []byte(h.text), nil }

func TestWhereALimitGoes(t *testing.T) {
	const v1 = "30 20 0:27 / /cg/blkio rw - cgroup cgroup rw,blkio\n"
	const v2 = "31 20 0:28 / /cg/all rw - cgroup2 cgroup2 rw\n"
	for _, c := range []struct {
		name, mounts, groups string
		files                []string
		want                 string
	}{
		{"v1, root", v1 + v2, "7:blkio:/\n0::/\n", []string{"/cg/blkio/blkio.throttle.read_bps_device"}, "/cg/blkio/blkio.throttle.read_bps_device"},
		{"v1, a group", v1, "7:blkio:/h\n", []string{"/cg/blkio/blkio.throttle.write_bps_device", "/cg/blkio/h/blkio.throttle.write_bps_device"},
			"/cg/blkio/blkio.throttle.write_bps_device /cg/blkio/h/blkio.throttle.write_bps_device"},
		{"v2", v2, "0::/h\n", []string{"/cg/all/h/io.max"}, "/cg/all/h/io.max"},
		{"v2 without io", v2, "0::/h\n", nil, ""},
		{"none", "", "", nil, ""},
	} {
		root := t.TempDir()
		for _, f := range append(c.files, "/proc/self/mountinfo") {
			if err := os.MkdirAll(filepath.Join(root, filepath.Dir(f)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(root, f), []byte(c.mounts), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		d := Disk{host: cgroupHost{noHost{t}, c.groups}, root: kernel.Root(root)}
		files, err := d.limitFiles(context.Background())
		var got []string
		for _, f := range files {
			got = append(got, f.path)
		}
		if strings.Join(got, " ") != c.want || errors.Is(err, ErrNoSlowDisk) != (c.want == "") {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}
