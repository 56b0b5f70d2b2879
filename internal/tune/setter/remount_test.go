package setter_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/tune/setter"
	"linerate/internal/tune/setter/settertest"
)

// fakeMounts is a host with an NFS and an SMB mount, which answers a remount as Linux 6.1 does:
// flags are replaced by those of the call; NFS refuses options that differ; SMB takes what it is
// given and has defaults for the rest, and refuses another login.
type fakeMounts struct {
	t            *testing.T
	tree         *settertest.Tree
	own, shared  map[string]string // by mount point, as the table has them
	refuse       error
	vanish, gone bool
	forgets      string // an option that the kernel drops of its own accord
}

const (
	nfsPoint = "/mnt/nas"
	smbPoint = "/mnt/two words"
	nfsFixed = "vers=4.2,rsize=262144,wsize=262144,hard,proto=tcp,addr=10.0.0.2"
	smbFixed = "vers=3.1.1,cache=strict,username=joe,uid=7,forceuid,addr=10.0.0.2,file_mode=0640,soft,nounix,rsize=65536,bsize=1048576"
)

func newMounts(t *testing.T) *fakeMounts {
	f := &fakeMounts{
		t: t, tree: settertest.NewTree(t, map[string]string{"/proc/self/mountinfo": ""}),
		own:    map[string]string{nfsPoint: "rw,nosuid,relatime", smbPoint: "rw,nodev,noatime"},
		shared: map[string]string{nfsPoint: "rw,sync," + nfsFixed, smbPoint: "rw,seclabel," + smbFixed + ",actimeo=1"},
	}
	f.show()
	return f
}

// show writes the mount table.
func (f *fakeMounts) show() {
	f.t.Helper()
	text := "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"
	if !f.gone {
		text += fmt.Sprintf("30 22 0:52 / %s %s shared:9 - nfs4 10.0.0.2:/my\\040pool %s\n31 22 0:53 / /mnt/two\\040words %s - cifs //nas/b %s\n",
			nfsPoint, f.own[nfsPoint], f.shared[nfsPoint], f.own[smbPoint], f.shared[smbPoint])
	}
	if err := f.tree.WriteFile("/proc/self/mountinfo", []byte(text)); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fakeMounts) remount(point string, flags []string, options string) error {
	if f.refuse != nil {
		return f.refuse
	}
	own, shared := []string{"rw"}, []string{"rw"}
	for _, flag := range flags {
		switch flag {
		case "ro":
			own[0], shared[0] = "ro", "ro"
		case "sync", "dirsync":
			shared = append(shared, flag)
		case "nosuid", "nodev", "noexec", "noatime", "relatime":
			own = append(own, flag)
		default:
			return fmt.Errorf("flag %s: %w", flag, syscall.EINVAL)
		}
	}
	switch point {
	case nfsPoint:
		if options != "" && options != nfsFixed {
			return syscall.EINVAL
		}
		shared = append(shared, nfsFixed)
	case smbPoint:
		for _, login := range []string{"username=joe", "vers=3.1.1"} {
			if !strings.Contains(options, login) {
				return syscall.EINVAL
			}
		}
		if strings.Contains(options, "seclabel") {
			return syscall.EINVAL
		}
		given := strings.Split(options, ",")
		given = slices.DeleteFunc(given, func(o string) bool { return f.forgets != "" && o == f.forgets })
		if !slices.ContainsFunc(given, func(o string) bool { return strings.HasPrefix(o, "actimeo=") }) {
			given = append(given, "actimeo=1")
		}
		shared = append(append(shared, "seclabel"), given...)
	default:
		return syscall.EINVAL
	}
	f.own[point], f.shared[point] = strings.Join(own, ","), strings.Join(shared, ",")
	f.gone = f.vanish
	f.show()
	return nil
}

func mountPlace(option, point string) setter.Place {
	return setter.Place{Setting: "linux.mount." + option, Target: "mount:" + point}
}

func TestRemountConforms(t *testing.T) {
	for option, c := range map[string]settertest.Case{
		"nfs.sync":     {At: mountPlace("nfs.sync", nfsPoint), A: "on", B: "off", Messy: " on\n", Bad: []string{"1", "yes", "on,exec", "async"}},
		"cifs.sync":    {At: mountPlace("cifs.sync", smbPoint), A: "off", B: "on", Messy: "off ", Bad: []string{"ON", "on off"}},
		"cifs.actimeo": {At: mountPlace("cifs.actimeo", smbPoint), A: "1", B: "30", Messy: " 1", Bad: []string{"-1", "1s", "30,uid=0", "99999999999", "0x1"}},
	} {
		t.Run(option, func(t *testing.T) {
			f := newMounts(t)
			c.Setter = setter.Remount{Tree: f.tree, Remount: f.remount}
			c.BadAt = []setter.Place{{Setting: c.At.Setting}, {Setting: c.At.Setting, Target: "/mnt/nas"}, mountPlace("nfs.rsize", nfsPoint)}
			c.Absent = []setter.Place{{Setting: c.At.Setting, Target: "mount:/"}, {Setting: c.At.Setting, Target: "mount:/mnt/none"}}
			c.Rest = func() string { // the kernel may order options anew
				var rest []string
				for _, list := range []string{f.own[nfsPoint], f.shared[nfsPoint], f.own[smbPoint], f.shared[smbPoint]} {
					rest = append(rest, strings.Join(slices.Sorted(slices.Values(strings.Split(list, ","))), ","))
				}
				return strings.Join(rest, "\n")
			}
			c.Refuse = func(err error) { f.refuse = err }
			c.Vanish = func() { f.vanish = true }
			settertest.Conform(t, c)
		})
	}
}

// What a remount would change besides is refused before it, or taken back after it.
func TestRemountKeepsTheRest(t *testing.T) {
	ctx, actimeo := context.Background(), mountPlace("cifs.actimeo", smbPoint)
	f := newMounts(t)
	f.forgets = "nounix"
	before := f.shared[smbPoint]
	s := setter.Remount{Tree: f.tree, Remount: func(point string, flags []string, options string) error {
		err := f.remount(point, flags, options)
		f.forgets = "" // only the first one drops it
		return err
	}}
	if err := s.Write(ctx, actimeo, "30"); !errors.Is(err, setter.ErrSideEffect) || !strings.Contains(err.Error(), "nounix") {
		t.Errorf("an option was lost: %v", err)
	}
	if len(f.shared[smbPoint]) != len(before) || !strings.Contains(f.shared[smbPoint], "nounix") || !strings.Contains(f.shared[smbPoint], "actimeo=1") {
		t.Errorf("not taken back: %s, before %s", f.shared[smbPoint], before)
	}
	for name, spoil := range map[string]func(f *fakeMounts){
		"a read-only bind mount": func(f *fakeMounts) { f.own[smbPoint] = "ro,nodev" },
		"an odd option":          func(f *fakeMounts) { f.shared[smbPoint] += `,domain=a\054b` },
	} {
		f := newMounts(t)
		spoil(f)
		f.show()
		f.refuse = errors.New("asked")
		if err := (setter.Remount{Tree: f.tree, Remount: f.remount}).Write(ctx, actimeo, "30"); !errors.Is(err, setter.ErrSideEffect) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f = newMounts(t)
	f.shared[smbPoint] = strings.Replace(f.shared[smbPoint], "actimeo=1", "acdirmax=5,acregmax=1", 1)
	f.show()
	if v, err := s.Read(ctx, actimeo, ""); err != nil || v != "1" {
		t.Errorf("%q, %v", v, err) // s reads the first host
	}
	if v, err := (setter.Remount{Tree: f.tree}).Read(ctx, actimeo, ""); !errors.Is(err, setter.ErrUnsupported) {
		t.Errorf("two times of their own: %q, %v", v, err)
	}
	if v, err := s.Read(ctx, mountPlace("nfs.sync", smbPoint), ""); !errors.Is(err, setter.ErrUnsupported) {
		t.Errorf("NFS on SMB: %q, %v", v, err)
	}
	if v, err := s.Read(ctx, mountPlace("nfs.sync", "/mnt/none"), ""); !errors.Is(err, kernel.ErrNoDevice) {
		t.Errorf("no mount: %q, %v", v, err)
	}
}

// The commands of undo.sh read the table as Go does, and hand mount(8) all that it has to keep.
func TestRemountShell(t *testing.T) {
	for _, c := range []struct {
		at                 setter.Place
		now, value, called string
	}{
		{mountPlace("nfs.sync", nfsPoint), "on", "off", "-i -t nfs4 -o remount,rw,nosuid,relatime 10.0.0.2:/my pool " + nfsPoint},
		{mountPlace("nfs.sync", nfsPoint), "on", "on", "-i -t nfs4 -o remount,rw,nosuid,relatime,sync 10.0.0.2:/my pool " + nfsPoint},
		{mountPlace("cifs.sync", smbPoint), "off", "on", "-i -t cifs -o remount,rw,nodev,noatime," + smbFixed + ",actimeo=1,sync //nas/b " + smbPoint},
		{mountPlace("cifs.actimeo", smbPoint), "1", "30", "-i -t cifs -o remount,rw,nodev,noatime," + smbFixed + ",actimeo=30 //nas/b " + smbPoint},
	} {
		f := newMounts(t)
		bin, record := fakeProgram(t, "mount", "")
		sh, err := setter.Remount{Tree: f.tree}.Shell(c.at, c.value)
		if err != nil {
			t.Fatal(err)
		}
		if got := runShell(t, bin, "set -fu; "+sh.Read); got != c.now {
			t.Errorf("%s: read %q, want %q", c.at, got, c.now)
		}
		runShell(t, bin, "set -fu; value="+c.value+"; "+sh.Write)
		if got, err := os.ReadFile(record); err != nil || strings.TrimSpace(string(got)) != c.called {
			t.Errorf("%s: mount was called with\n%q, want\n%q, %v", c.at, got, c.called, err)
		}
		f.own[c.at.Target[len("mount:"):]] = "ro,nosuid"
		f.show()
		if err := os.Remove(record); err != nil {
			t.Fatal(err)
		}
		if out := runShell(t, bin, "set -fu; value="+c.value+"; { "+sh.Write+"; } 2>&1 || echo refused"); !strings.HasSuffix(out, "who may write\nrefused") {
			t.Errorf("%s: a bind mount that is read-only: %s", c.at, out)
		}
		if _, err := os.Stat(record); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a bind mount that is read-only was remounted", c.at)
		}
	}
}
