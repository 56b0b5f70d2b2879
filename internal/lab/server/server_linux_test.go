package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/lab/labtest"
)

// payload is bytes that no protocol could make up.
func payload(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(b) // it has no error to give
	return b
}

// mustStart starts a server, or skips with the reason where it is not installed.
func mustStart(t *testing.T, h Host, spec Spec, clients ...string) *Server {
	t.Helper()
	if spec.Kind == SSH {
		clients = append(clients, "ssh") // scp and the server's probe call it
	}
	labtest.Needs(t, clients...)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	spec.Self = []string{"/proc/self/exe"}
	if exe, err := os.Executable(); err == nil {
		spec.Self = []string{exe}
	}
	s, err := Start(ctx, h, spec)
	if errors.Is(err, ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func mustRun(t *testing.T, h Host, argv ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	out, err := h.Run(ctx, argv...)
	if err != nil {
		t.Fatalf("%q: %v\n%s", argv, err, out)
	}
	return out
}

// machine lists what a server's start must leave as it is: all below the
// directories that Debian's packages would use.
func machine(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, dir := range []string{
		"/etc/samba", "/etc/ganesha", "/etc/tgt", "/etc/ssh", "/etc/passwd", "/etc/shadow", "/etc/group", "/etc/exports",
		"/var/lib/nfs", "/var/lib/samba", "/var/cache/samba", "/var/log/samba", "/var/log/ganesha", "/var/lib/tgt",
		"/run/rpcbind", "/run/rpcbind.sock", "/run/rpcbind.lock", "/run/samba", "/run/tgtd", "/run/sshd", "/run/ganesha",
	} {
		err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return err
			}
			info, err := d.Info()
			if err == nil {
				out = append(out, fmt.Sprintf("%s %v %d %v", p, info.Mode(), info.Size(), info.ModTime()))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// A file goes over the wire and comes back the same, through a real server and
// a real client; the machine's own configuration is as before.
func TestRealTraffic(t *testing.T) {
	for _, c := range []struct {
		name   string
		spec   Spec
		client string
	}{
		{"nfs4", Spec{Kind: NFS}, "nfs-cp"},
		{"smb", Spec{Kind: SMB}, "smbclient"},
		{"ssh", Spec{Kind: SSH}, "scp"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, srv := pair(t)
			before := machine(t)
			share, local := t.TempDir(), t.TempDir()
			c.spec.Share = share
			s := mustStart(t, srv, c.spec, c.client)
			want := payload(3<<20 + 17)
			in, out := filepath.Join(local, "in"), filepath.Join(local, "out")
			if err := os.WriteFile(in, want, 0o600); err != nil {
				t.Fatal(err)
			}
			mustRun(t, client, s.Put(in, "file")...)
			mustRun(t, client, s.Get("file", out)...)
			for _, path := range []string{filepath.Join(share, "file"), out} {
				got, err := os.ReadFile(path)
				if err != nil || sha256.Sum256(got) != sha256.Sum256(want) {
					t.Errorf("%s: %d bytes that differ from the %d sent (%v)", path, len(got), len(want), err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if after := machine(t); !slices.Equal(before, after) {
				t.Errorf("the machine's own files changed:\n%s\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
			}
		})
	}
}

func TestCommandsOverSSH(t *testing.T) {
	client, srv := pair(t)
	s := mustStart(t, srv, Spec{Kind: SSH}, "ssh")
	if got := mustRun(t, client, "ssh", "-F", s.path("ssh_config"), s.addr.String(), "id -un; pwd"); string(got) != "root\n"+s.path("home")+"\n" {
		t.Errorf("%q", got)
	}
}

func TestISCSIUnit(t *testing.T) {
	client, srv := pair(t)
	before := machine(t)
	file := filepath.Join(t.TempDir(), "unit")
	data := payload(1 << 20)
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	s := mustStart(t, srv, Spec{Kind: ISCSI, Share: file})
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	got := mustRun(t, client, exe, "lab-probe", "1s", "iscsi-test", s.at(iscsiPort), iscsiName, "512", "1048576")
	flipped := bytes.Clone(data)
	for i := range flipped {
		flipped[i] ^= 0xff
	}
	if sum := fmt.Sprintf("%x\n", sha256.Sum256(data)); string(got) != sum {
		t.Errorf("read %q, want %q", got, sum)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, flipped) {
		t.Errorf("%d bytes on the unit are not those written (%v)", len(now), err)
	}
	if after := machine(t); !slices.Equal(before, after) {
		t.Error("the machine's own files changed")
	}
}

func TestServersThatCannotStart(t *testing.T) {
	_, srv := pair(t)
	ctx := context.Background()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	self := []string{exe}
	_, err = Start(ctx, srv, Spec{Kind: ISCSI, Share: "/nonexistent/unit", Self: self})
	if err == nil || !errors.Is(err, ErrMissing) && !strings.Contains(err.Error(), "tgtadm") {
		t.Errorf("a unit that is not there: %v", err)
	}
	elsewhere := *srv
	elsewhere.addr = netip.MustParseAddr("10.99.0.1") // of no interface
	began := time.Now()
	_, err = Start(ctx, &elsewhere, Spec{Kind: SSH, Self: self})
	if err == nil || !errors.Is(err, ErrMissing) && (!strings.Contains(err.Error(), "ended at once") || !strings.Contains(err.Error(), "Cannot bind")) {
		t.Errorf("an address of nobody: %v", err)
	}
	if took := time.Since(began); took > answerWithin {
		t.Errorf("noticed only after %v", took)
	}
}
