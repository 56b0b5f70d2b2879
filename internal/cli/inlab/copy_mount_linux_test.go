package inlab

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/app/copy"
	"linerate/internal/lab/labtest"
	"linerate/internal/lab/uml"
)

// mountSource makes /tmp/source: what file systems have, and a file that the journal knows.
const mountSource = `set -e
mkdir -p /tmp/source/d/empty
cd /tmp/source
head -c 67109000 /dev/urandom >large
head -c 3000000 /dev/urandom >d/middle
for i in 1 2 3 4 5 6 7 8 9; do head -c $((i * 777)) /dev/urandom >d/f$i; done
chown 12:34 d/f1
chmod 640 d/f2
ln d/f3 d/also
ln -s f4 d/link
find . -not -type l -exec touch -d '2001-02-03 04:05:06.123456789' {} +
touch -h -d '2002-02-03 04:05:06' d/link
`

// mountBoth mounts the server's directory by NFS and by SMB; $0 has the login for SMB.
const mountBoth = `mkdir -p /mnt/nfs /mnt/smb && mount -i -t nfs -o vers=4.2,addr=10.60.0.100 10.60.0.100:/share /mnt/nfs &&
mount -t cifs -o credentials="$0" //10.60.0.100/share /mnt/smb`

// sameTree fails where the tree $1 has other names or data than $0.
const sameTree = `set -e
cd "$0"; find . -not -type l | sort >/tmp/names
cd "$1"; find . -not -type l | sort | diff /tmp/names -
cd "$0"; find . -type f | while read -r f; do cmp "$f" "$1/$f" || exit 1; done
`

// A kernel's clients of NFS and SMB take what is copied to a mount, and give it back: the data are
// the source's, what was not kept is counted, and nothing else is left.
func TestACopyToAndFromMounts(t *testing.T) {
	labtest.Long(t)
	t.Parallel()
	labtest.Needs(t, labtest.Root, labtest.Namespaces, "linux.uml", "modprobe", "mount", "umount", "mount.cifs", "ganesha.nfsd", "ganesha-vfs", "rpcbind", "smbd")
	if _, err := uml.Find("/"); err != nil {
		t.Skip(err)
	}
	u := newLabUser(t, 0)
	u.exe = built.Program(t, "linerate", "linerate/cmd/linerate")
	u.run(t, "lab", "up", "nas", "--kernel", "client1,client2", "--serve", "nas1=nfs,smb")
	in := func(t testing.TB, script string, args ...string) {
		t.Helper()
		u.run(t, append([]string{"lab", "exec", "client1", "--", "sh", "-c", script}, args...)...)
	}
	login, err := filepath.Glob(filepath.Join(u.dir, "linerate", "lab-*", "nas1", "server-smb", "login"))
	if err != nil || len(login) != 1 {
		t.Fatalf("%q, %v", login, err)
	}
	in(t, mountBoth, login[0])
	in(t, mountSource)
	for _, m := range []struct {
		kind string
		to   map[string]int64 // what is not kept; on the way back all is
	}{
		{"nfs", map[string]int64{"mtime": 1}},                                      // of the symlink
		{"smb", map[string]int64{"mode": 11, "mtime": 14, "owner": 1, "entry": 1}}, // the symlink
	} {
		t.Run(m.kind, func(t *testing.T) {
			there, back := "/mnt/"+m.kind+"/"+m.kind, "/tmp/back-"+m.kind
			for _, c := range []struct {
				from, to string
				lost     map[string]int64
			}{{"/tmp/source", there, m.to}, {there, back, nil}} {
				if r := copiedAtClient(t, u, c.from+"/", c.to); !maps.Equal(r.Lost, c.lost) {
					t.Errorf("to %s: not kept %v, want %v: %+v", c.to, r.Lost, c.lost, r.Losses)
				}
				// What the client sent is read from the server.
				in(t, `sync && echo 3 >/proc/sys/vm/drop_caches`)
				in(t, sameTree, "/tmp/source", c.to)
			}
			in(t, `test -z "$(find "$0" -name '*linerate*')"`, there)
			if r := copiedAtClient(t, u, "/tmp/source/", there); r.Moved.Files != 0 {
				t.Errorf("the same command copied %d files again", r.Moved.Files)
			}
		})
	}
	t.Run("two clients", func(t *testing.T) { sharedByClients(t, u, login[0]) })
}

// sharedByClients copies between two kernels' mounts of one server: a copy into itself is refused, another
// is not.
func sharedByClients(t *testing.T, u labUser, login string) {
	u.run(t, "lab", "exec", "client2", "--", "sh", "-c", mountBoth, login)
	for _, kind := range []string{"nfs", "smb"} {
		at := ":/mnt/" + kind + "/" + kind
		for _, args := range [][]string{
			{"lab:client1" + at, "lab:client2" + at + "/d/"},
			{"lab:client1" + at + "/", "lab:client2" + at},
			{"lab:client1" + at + "/d/", "lab:client2" + at, "--delete"},
		} {
			_, err := u.try(append([]string{"copy"}, args...)...)
			if err == nil || !strings.Contains(err.Error(), " lies in the ") {
				t.Errorf("%q: %v", args, err)
			}
		}
		if out, err := u.try("copy", "--json", "lab:client1"+at+"/d/", "lab:client2:/mnt/"+kind+"/beside-"+kind, "--delete"); !strings.Contains(out, `"losses"`) {
			t.Errorf("beside: %v", err)
		}
	}
	u.run(t, "lab", "exec", "client1", "--", "sh", "-c", "test -e /mnt/nfs/nfs/large && test -e /mnt/smb/smb/large")
}

// copiedAtClient copies between paths of client1.
func copiedAtClient(t testing.TB, u labUser, from, to string) (r copy.Result) {
	t.Helper()
	out, err := u.try("copy", "--json", "lab:client1:"+from, "lab:client1:"+to)
	if jerr := json.Unmarshal([]byte(out), &r); jerr != nil {
		t.Fatal(jerr, err)
	}
	if r.State != "done" && r.State != "lossy" {
		t.Fatalf("%s: %v", r.State, err)
	}
	return r
}
