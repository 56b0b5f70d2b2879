package snapshot

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"linerate/internal/model"
)

func TestRedact(t *testing.T) {
	got := Redact(map[string][]byte{
		"proc/sys/kernel/hostname":       []byte("secretbox\n"),
		"proc/sys/kernel/osrelease":      []byte("5.15.0.105\n"),
		"proc/sys/kernel/random/boot_id": []byte("3f6c2e1a-1111-4222-8333-444455556666\n"),
		"netlink/addrs.json":             []byte(`{"2":["8.8.8.8/24","10.0.0.1/24","2a00:1450:4001::5/64","fd00::1/64"],"3":["8.8.8.9/24","192.0.2.4/24"]}`),
		"netlink/links.json":             []byte(`{"perm_mac":"AC:1F:6B:01:02:03","bus_id":"0000:3b:00.0","name":"secretbox0"}`),
		"netlink/ports.json":             []byte(`{"firmware":"9.20.1.7"}`),
		"proc/self/mountinfo": []byte("90 22 0:60 / /mnt/nas rw - nfs4 corp-filer:/export rw,addr=8.8.8.8\n" +
			"91 22 0:61 / /mnt/smb rw - cifs //corp-filer/share rw,username=alice,domain=CORP,addr=10.0.0.9\n" +
			"92 22 0:62 / /run/user rw - tmpfs tmpfs rw\n"),
		"proc/17/comm": []byte("secretd\n"),
		"proc/18/comm": []byte("irqbalance\n"),
		"sys/class/iscsi_session/session1/targetname": []byte("iqn.2019-05.corp.secret:lun0\n"),
		"proc/net/bonding/bond0":                      []byte("Permanent HW addr: ac:1f:6b:01:02:03\n"),
	}, KeepNames)
	all := ""
	for name, b := range got {
		all += name + "\n" + string(b) + "\n"
	}
	for _, bad := range []string{"secretbox\n", "3f6c2e1a", "8.8.8", "2a00", "ac:1f", "AC:1F", "corp", "alice", "CORP", "secretd", "tmpfs"} {
		if strings.Contains(all, bad) {
			t.Errorf("%q is still there:\n%s", bad, all)
		}
	}
	for _, good := range []string{"5.15.0.105", "10.0.0.1/24", "fd00::1/64", "192.0.2.4/24", "0000:3b:00.0", "9.20.1.7", "/mnt/nas", ":/export", "irqbalance", "198.18.0.8/24", "198.18.0.9/24", "addr=198.18.0.8"} {
		if !strings.Contains(all, good) {
			t.Errorf("%q is gone:\n%s", good, all)
		}
	}
	if links, bond := string(got["netlink/links.json"]), string(got["proc/net/bonding/bond0"]); !strings.Contains(links, "02:00:5e:00:00:01") || !strings.Contains(bond, "02:00:5e:00:00:01") {
		t.Errorf("one MAC has two names: %s %s", links, bond)
	}
}

// A host may be named like a file of /proc or a file system.
func TestRedactOddHostNames(t *testing.T) {
	for _, name := range []string{"vm", "net", "nfs4", "rw", "true", "eth0", "x"} {
		got := Redact(map[string][]byte{
			"proc/sys/kernel/hostname": []byte(name + "\n"), "proc/sys/vm/zone_reclaim_mode": []byte("0\n"), "proc/net/snmp": []byte("net vm\n"),
			"netlink/links.json": []byte(`{"name":"eth0","up":true}`), "proc/self/mountinfo": []byte("90 22 0:60 / /mnt rw - nfs4 a:/b rw,vers=4.2\n"),
		}, KeepNames)
		if string(got["proc/sys/vm/zone_reclaim_mode"]) != "0\n" || string(got["proc/net/snmp"]) != "net vm\n" || string(got["netlink/links.json"]) != `{"name":"eth0","up":true}` || !strings.Contains(string(got["proc/self/mountinfo"]), " - nfs4 server:/b rw,vers=4.2\n") {
			t.Errorf("host %q: %q", name, got)
		}
	}
}

func TestShareableAndLoad(t *testing.T) {
	h := Parse([]byte("-- proc/stat --\none\n-- proc/meminfo! --\n-- sys/class/block/c@ --\n../d\n"))
	r := NewRecorder(h)
	for _, p := range []string{"/proc/stat", "/proc/meminfo", "/proc/none"} {
		_, _ = r.ReadFile(p) // the recorder keeps what it gets
	}
	_, _ = r.Readlink("/sys/class/block/c")
	b, err := r.Shareable(time.Unix(0, 0), KeepNames)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), FileName)
	write := func(b []byte) {
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(b)
	again, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := again.ReadFile("/proc/stat"); err != nil || string(text) != "one\n" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := again.ReadFile("/proc/meminfo"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("denied file: %v", err)
	}
	if to, err := again.Readlink("/sys/class/block/c"); err != nil || to != "../d" {
		t.Errorf("%q, %v", to, err)
	}
	if _, err := again.ReadFile("/proc/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("absent file: %v", err)
	}
	write(b[:len(b)-6])
	if h, err := Load(file); !errors.Is(err, ErrDamaged) || h == nil {
		t.Errorf("cut short: %v, %v", h, err)
	}
	write([]byte("\xff\x00 no archive"))
	if h, err := Load(file); !errors.Is(err, ErrDamaged) || h != nil {
		t.Errorf("no archive: %v, %v", h, err)
	}
}

func TestLargeMember(t *testing.T) {
	h := Parse([]byte("-- proc/a --\n" + strings.Repeat("x", 2<<20) + "\n"))
	if _, err := h.ReadFile("/proc/a"); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("error %v", err)
	}
}

// A name is bytes: one that is no UTF-8 is hidden like any other.
func TestNamesThatAreNoUTF8AreHidden(t *testing.T) {
	out := Redact(map[string][]byte{"proc/self/mountinfo": []byte("90 22 0:60 / /mnt/caf\xe9 rw - ext4 /dev/sda1 rw\n91 22 0:60 / /mnt/caf\xe8 rw - ext4 /dev/sda1 rw\n")}, HideNames)
	text := string(out["proc/self/mountinfo"])
	if strings.Contains(text, "caf") || strings.Count(text, "/mnt/name") != 2 {
		t.Errorf("%q", text)
	}
}

func FuzzRedact(f *testing.F) {
	forms := newForms()
	f.Add("proc/self/mountinfo", "90 22 0:60 / /mnt rw - cifs //a/b rw,user=x\n", "h")
	f.Add("netlink/addrs.json", `["2a00:1450::5/64","::ffff:8.8.8.8"]`, "(((")
	f.Fuzz(func(t *testing.T, name, text, host string) {
		out := redactBy(forms, map[string][]byte{name: []byte(text), "proc/sys/kernel/hostname": []byte(host)}, HideNames)
		if len(out) > 2 {
			t.Errorf("%d files of two", len(out))
		}
		_, _ = Parse(format(out)).ReadFile(name) // must not panic
	})
}

// The files of settings come back as they went in, but for what names somebody.
func TestHostFiles(t *testing.T) {
	r := NewRecorder(&Host{GOOS: "linux", Files: map[string]string{}})
	kept := model.HostFiles{OS: "linux", Kernel: "6.18.44", Files: map[string]string{
		"/etc/rc.local": "ip link set eth0 mtu 9000\nping 8.8.4.4\nx 3c:ec:ef:01:02:03\n",
	}, Running: []model.Running{{Setting: "linux.link.mtu", Name: "mtu", Device: "eth0", Value: "9000"}}}
	if err := r.KeepHostFiles(kept); err != nil {
		t.Fatal(err)
	}
	b, err := r.Shareable(time.Unix(0, 0), KeepNames)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(b).HostFiles()
	if err != nil {
		t.Fatal(err)
	}
	kept.Files["/etc/rc.local"] = "ip link set eth0 mtu 9000\nping 198.18.0.4\nx 02:00:5e:00:00:01\n"
	if d := cmp.Diff(kept, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if _, err := (&Host{}).HostFiles(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a recording without files: %v", err)
	}
	if _, err := (&Host{Files: map[string]string{hostFilesFile: "{"}}).HostFiles(); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a damaged one: %v", err)
	}
}

// A recorded interface whose name is no UTF-8 still has its files: names in JSON
// and names of files are replaced alike.
func TestNamesThatAreNoUTF8(t *testing.T) {
	name := "e\xff\xfe\x80th"
	var asJSON string
	if b, err := json.Marshal(name); err != nil || json.Unmarshal(b, &asJSON) != nil || asJSON == name {
		t.Fatalf("%q, %v", asJSON, err)
	}
	live := &Host{GOOS: "linux", Files: map[string]string{}, Fail: map[string]error{}}
	dir := "/proc/sys/net/ipv4/conf/"
	live.Files[strings.TrimPrefix(dir, "/")+string([]rune(name))+"/rp_filter"] = "2\n"
	r := NewRecorder(live)
	if b, err := r.ReadFile(dir + name + "/rp_filter"); err != nil || string(b) != "2\n" {
		t.Fatalf("%q, %v", b, err)
	}
	b, err := r.Archive()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Parse(b).ReadFile(dir + asJSON + "/rp_filter"); err != nil || string(got) != "2\n" {
		t.Errorf("%q, %v", got, err)
	}
}
