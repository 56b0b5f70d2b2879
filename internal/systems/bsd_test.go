package systems

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/kernel/golden"
	"linerate/internal/model"
	"linerate/internal/rules"
	"linerate/internal/systems/fake"
	"linerate/internal/unit"
)

// The imitations answer now as they did when the recordings were made of them.
func TestRecordingsOfTheFakeAreItsAnswers(t *testing.T) {
	for _, system := range []string{"illumos", "freebsd", "macos", "onefs"} {
		answer, file := askFor(t, system, []string{"sh"}), "testdata/"+system+"-fake.frames"
		if golden.Update() {
			if err := os.WriteFile(file, answer, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(file); err != nil || string(want) != string(answer) {
			t.Errorf("%s: the fake answers otherwise than %s has it (%v)", system, file, err)
		}
	}
}

func settings(t *testing.T, of string, f *model.Facts, want map[string]model.Fact[string]) {
	t.Helper()
	for id, v := range want {
		if f.Settings[id] != v {
			t.Errorf("%s: %s is %v, want %v", of, id, f.Settings[id], v)
		}
	}
}

func TestFreeBSDIsRead(t *testing.T) {
	for _, shell := range shells(t) {
		f := readAs(t, "freebsd", askFor(t, "freebsd", shell))
		if f.Hostname != "freenas" || f.Kernel != "14.1-RELEASE-p5" || f.UID != 0 || len(f.CPUs) != 8 || f.Memory.Or(0) != 64*unit.GiB || f.BootID != "kern.boot_id 0x4c8609698ad1a11cdc00cf6eb7d954e1" {
			t.Errorf("%v: host %q kernel %q uid %d cpus %v memory %v boot %q", shell, f.Hostname, f.Kernel, f.UID, f.CPUs, f.Memory, f.BootID)
		}
		settings(t, strings.Join(shell, " "), f, map[string]model.Fact[string]{
			"freebsd.sysctl.kern.ipc.maxsockbuf":       model.Known("2097152"),
			"freebsd.sysctl.net.inet.tcp.cc.algorithm": model.Known("cubic"),
			"freebsd.sysctl.net.inet.tcp.cc.available": model.Known("newreno,cubic"),
			"freebsd.sysctl.net.inet.tcp.recvbuf_inc":  model.Unknown[string](model.Unsupported, "this release has no such sysctl"),
			"freebsd.nfsd.threads":                     model.Known("64"),
			"freebsd.changed.by.kern.ipc.maxsockbuf":   model.Known("runtime,loader"),
			"freebsd.changed.by.dev.ix.1.fc":           model.Known("fixed"),
			"freebsd.ifconfig.offload":                 model.Known("lro=on,tso4=on,tso6=on"),
			"freebsd.loader.kern.ipc.nmbclusters":      model.Known("2000000"),
			"freebsd.boot.net.inet.tcp.recvbuf_inc":    model.Known("65536"),
			"any.zfs.sync":                             model.Known("standard"),
		})
		if len(f.NICs) != 2 || f.NICs[0].Speed.Or(0) != 10*unit.Gbit || f.NICs[0].MTU != 1500 || len(f.NICs[0].Addrs) != 2 || f.NICs[0].Counters.Value["rx_errors"] != 12 ||
			f.NICs[0].Counters.Value["rx_dropped"] != 3 || f.NICs[0].Pause != model.Known(model.Pause{Rx: true, Tx: true}) || f.NICs[1].Up || f.NICs[1].Speed.State != model.Absent {
			t.Errorf("%v: links %+v", shell, f.NICs)
		}
		if n := f.NetCounters.Value; n["Tcp.RetransSegs"] != 1290 || n["Tcp.OutSegs"] != 10829381 {
			t.Errorf("%v: %v", shell, n)
		}
		if len(f.CouldNotSee) != 1 {
			t.Errorf("%v: not seen %+v", shell, f.CouldNotSee)
		}
	}
}

func TestMacOSIsRead(t *testing.T) {
	for _, shell := range shells(t) {
		f := readAs(t, "macos", askFor(t, "macos", shell))
		if f.Hostname != "macmini.local" || f.Kernel != "24.1.0 (macOS 15.1)" || f.UID != 0 || len(f.CPUs) != 12 || f.Memory.Or(0) != 32*unit.GiB || f.OS != "macos" {
			t.Errorf("%v: host %q kernel %q uid %d cpus %v memory %v", shell, f.Hostname, f.Kernel, f.UID, f.CPUs, f.Memory)
		}
		settings(t, strings.Join(shell, " "), f, map[string]model.Fact[string]{
			"macos.sysctl.net.inet.tcp.delayed_ack":      model.Known("3"),
			"macos.sysctl.net.inet.tcp.rfc1323":          model.Unknown[string](model.Unsupported, "this release has no such sysctl"),
			"macos.sysctl.net.inet.tcp.win_scale_factor": model.Known("3"),
			"macos.nsmb.default.signing_required":        model.Known("no"),
		})
		if len(f.NICs) != 3 || f.NICs[0].Name != "en0" || f.NICs[0].Speed.Or(0) != 10*unit.Gbit || f.NICs[0].Driver.Or("") != "Ethernet" || f.NICs[0].Counters.Value["rx_errors"] != 5 ||
			f.NICs[1].Up || f.NICs[2].Kind != "tun" {
			t.Errorf("%v: links %+v", shell, f.NICs)
		}
		if len(f.CouldNotSee) != 1 {
			t.Errorf("%v: not seen %+v", shell, f.CouldNotSee)
		}
	}
}

// A command that fails, is missing, is silent or is cut off leaves the rest readable and is told;
// and no setting of it has a value, or is said not to be there.
func TestWhatACommandOfABSDDoesNotSayIsTold(t *testing.T) {
	for _, system := range []string{"freebsd", "macos"} {
		for how, want := range map[string]string{
			"empty:sysctl": "printed nothing and reported success", "denied:sysctl": "log in as root", "missing:sysctl": "no such program",
			"empty:ifconfig": "printed nothing and reported success", "missing:netstat": "no such program", "half:ifconfig": "", "half:netstat": "not both there",
		} {
			f := readAs(t, system, askFor(t, system, []string{"sh"}, fake.How+"="+how))
			told := want == ""
			for _, b := range f.CouldNotSee {
				told = told || strings.Contains(b.How, want)
			}
			if !told {
				t.Errorf("%s, %s: not told: %+v", system, how, f.CouldNotSee)
			}
			if f.UID != 0 || f.Hostname == "" {
				t.Errorf("%s, %s: the rest is lost", system, how)
			}
			if v, ok := f.Settings[system+".sysctl.kern.ipc.maxsockbuf"]; strings.HasSuffix(how, ":sysctl") && ok {
				t.Errorf("%s, %s: a value all the same: %v", system, how, v)
			}
		}
	}
}

// What is known of a mount, in one line.
func mountLines(f *model.Facts) (out []string) {
	for _, s := range f.Storage {
		i := slices.IndexFunc(f.Mounts, func(m model.Mount) bool { return m.Point == s.Point && m.Type == s.Type })
		if i < 0 {
			out = append(out, s.Point+" is not mounted")
			continue
		}
		o := f.Mounts[i].Options
		line := fmt.Sprintf("%s %s %v:%d %s by %q", s.Point, s.Type, s.Server, s.Port, s.Proto, s.Dev)
		for _, name := range []string{"vers", "rsize", "wsize", "readahead", "nconnect", "acregmax", "sec", "xprtsec"} {
			if v, ok := o[name]; ok {
				line += " " + name + "=" + v
			}
		}
		for _, name := range []string{"soft", "hard", "sync", "ro", "sign", "seal"} {
			if _, ok := o[name]; ok {
				line += " " + name
			}
		}
		out = append(out, line)
	}
	return out
}

// Mounts of NFS and SMB have the values that they have on Linux, from files that were written after
// documentation; the rules then say what they say there.
func TestMountsOfABSDAreReadAndJudged(t *testing.T) {
	for system, want := range map[string]struct{ mounts, rules []string }{
		"freebsd": {[]string{
			`/mnt/media nfs 10.0.0.9:2049 tcp by "ix0" vers=3 rsize=65536 wsize=65536 readahead=1 nconnect=1 acregmax=60 sec=sys hard`,
			`/mnt/by name nfs invalid IP:2049 udp by "" vers=3 rsize=16384 wsize=16384 readahead=1 acregmax=0 sec=sys soft sync`,
			`/mnt/fast nfs4 10.0.1.9:2049 tcp by "ix1" vers=4.2 rsize=1048576 wsize=1048576 readahead=8 nconnect=4 acregmax=60 sec=sys xprtsec=tls hard`,
			`/mnt/six nfs4 2001:db8::9:2049 tcp by "" vers=4.0 rsize=131072 wsize=131072 readahead=1 acregmax=60 sec=krb5p soft ro`,
			`/mnt/old smbfs invalid IP:445 tcp by "" vers=1.0`,
		}, []string{
			"medium nfs-over-udp", "medium nfs-readahead-blocks /mnt/media: readahead=1, blocks of 64 KiB: at most 2 × 64 KiB in flight for one reader, 128 KiB / 1ms",
			"medium nfs-readahead-blocks /mnt/by name", "medium nfs-readahead-blocks /mnt/six", "medium nfs-sync", "medium nfs-transfer-small /mnt/by name", "low nfs-transfer-small /mnt/media", "low nfs-transfer-small /mnt/six",
			"low nfs-attributes-uncached", "info nfs-soft /mnt/by name", "info nfs-encrypted /mnt/fast", "info nfs-old-version /mnt/six", "medium smb-old-dialect /mnt/old",
		}},
		"illumos": {[]string{
			`/mnt/media nfs 10.0.0.8:2049 tcp by "ixgbe0" vers=3 rsize=32768 wsize=32768 acregmax=60 sec=sys hard`,
			`/mnt/by name nfs invalid IP:20049 udp by "" vers=3 rsize=32768 wsize=32768 acregmax=60 sec=sys soft ro`,
			`/mnt/fast nfs4 10.0.1.8:2049 tcp by "ixgbe1" vers=4 rsize=1048576 wsize=1048576 acregmax=60 sec=sys hard`,
			`/mnt/either nfs 10.0.1.8:2049 tcp by "ixgbe1" vers=3 rsize=1048576 wsize=1048576 acregmax=60 sec=sys hard ro`,
			`/mnt/six nfs4 2001:db8::9:2049 tcp by "" vers=4 rsize=131072 wsize=131072 acregmax=0 sec=krb5p hard`,
			`/mnt/gone nfs invalid IP:2049  by ""`,
			`/mnt/smb smbfs invalid IP:445 tcp by ""`,
		}, []string{
			"medium nfs-over-udp", "medium nfs-transfer-small /mnt/media", "medium nfs-transfer-small /mnt/by name", "low nfs-transfer-small /mnt/six", "medium nfs-attributes-uncached /mnt/six: mount option noac",
		}},
		"macos": {[]string{
			`/Volumes/media nfs 10.0.0.9:2049 tcp by "en0" vers=3 rsize=131072 wsize=32768 readahead=16 acregmax=60 sec=sys hard`,
			`/Volumes/Scratch 2 nfs4 10.0.0.9:2049 tcp by "en0" vers=4.0 rsize=1048576 wsize=1048576 readahead=16 acregmax=0 sec=sys soft sync`,
			`/Volumes/my projects smbfs invalid IP:445 tcp by "" vers=3.1.1 sign`,
			`/Volumes/data smbfs invalid IP:445 tcp by "" vers=1.0`,
			`/Volumes/data-1 smbfs 10.0.0.9:445 tcp by "en0" vers=3.0.2 seal`,
		}, []string{
			"medium nfs-transfer-small /Volumes/media", "medium nfs-sync /Volumes/Scratch 2", "low nfs-attributes-uncached /Volumes/Scratch 2", "info nfs-old-version", "info nfs-soft",
			"info smb-signed /Volumes/my projects: signing is on", "medium smb-old-dialect /Volumes/data", "info smb-encrypted /Volumes/data-1",
		}},
	} {
		answer, err := os.ReadFile("testdata/" + system + "-mounts.frames")
		if err != nil {
			t.Fatal(err)
		}
		f := readAs(t, system, answer)
		if got := mountLines(f); !slices.Equal(got, want.mounts) {
			t.Errorf("%s:\n%s\nwant\n%s", system, strings.Join(got, "\n"), strings.Join(want.mounts, "\n"))
		}
		var got []string
		for _, found := range rules.Check(f, rules.Context{LineRate: 10 * unit.Gbit, RTT: time.Millisecond}) {
			if strings.HasPrefix(found.Rule, "nfs-") || strings.HasPrefix(found.Rule, "smb-") || found.Rule == "nconnect-not-in-effect" {
				got = append(got, found.Severity+" "+found.Rule+" "+found.Observed)
				if strings.Contains(found.Source, "nfs(5)") || strings.Contains(found.Source, "cifs") {
					t.Errorf("%s: %s cites a manual of Linux: %s", system, found.Rule, found.Source)
				}
			}
		}
		for _, w := range want.rules {
			i := slices.IndexFunc(got, func(s string) bool { return strings.HasPrefix(s, w) })
			if i < 0 {
				t.Errorf("%s: no %q in\n%s", system, w, strings.Join(got, "\n"))
				continue
			}
			got = slices.Delete(got, i, i+1)
		}
		if len(got) > 0 {
			t.Errorf("%s: and also %s", system, strings.Join(got, "\n"))
		}
	}
}

// A mount of which a command does not tell is told, and nothing of it is guessed.
func TestAMountThatIsHalfReadIsTold(t *testing.T) {
	for _, c := range []struct{ system, env, want string }{
		{"freebsd", fake.Set + "=uid=501", "Only priviledged users"},
		{"freebsd", fake.How + "=half:nfsstat", "the line"},
		{"macos", fake.How + "=half:nfsstat", "what is in effect at /Volumes/media"},
		{"macos", fake.How + "=missing:smbutil", "names no share of it"},
		{"freebsd", fake.How + "=empty:mount", "printed nothing and reported success"},
		{"illumos", fake.How + "=half:nfsstat", "nfsstat -m does not tell of it"},
		{"illumos", fake.How + "=empty:nfsstat", "nfsstat -m does not tell of it"},
		{"illumos", fake.How + "=missing:nfsstat", "no such program"},
	} {
		f := readAs(t, c.system, askFor(t, c.system, []string{"sh"}, c.env))
		if !slices.ContainsFunc(f.CouldNotSee, func(b model.Blind) bool { return strings.Contains(b.How, c.want) }) {
			t.Errorf("%s, %s: %+v", c.system, c.env, f.CouldNotSee)
		}
		for _, s := range f.Storage {
			if s.Conns.State == model.Present || s.MinRTT.State == model.Present {
				t.Errorf("%s, %s: %+v", c.system, c.env, s)
			}
		}
	}
}

// printing is an answer in which one command ended with a code and printed another text.
func printing(answer []byte, name string, code int, text string) []byte {
	lines, skip := []string{}, false
	for line := range strings.SplitSeq(string(answer), "\n") {
		if strings.HasPrefix(line, "begin ") || strings.HasPrefix(line, "linerate-frames end") {
			if skip = strings.HasPrefix(line, "begin "+name+" "); skip {
				lines = append(lines, fmt.Sprintf("begin %s %d %d\n%s", name, code, len(text), text))
			}
		}
		if !skip {
			lines = append(lines, line)
		}
	}
	return []byte(strings.Join(lines, "\n"))
}

// What isi prints is from its documentation: an answer that is empty, or another than that, is told, and
// nothing is taken from it.
func TestWhatIsiPrintsOtherwiseIsTold(t *testing.T) {
	answer, err := os.ReadFile("testdata/onefs-fake.frames")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, want, setting string }{
		{"subnets", "", "onefs.network.mtu@groupnet0.subnet0"},
		{"subnets", `{"subnets": []}`, "onefs.network.mtu@groupnet0.subnet0"},
		{"pools", "ID   Mode", "onefs.network.aggregation@groupnet0.subnet0.pool0"},
		{"pattern", "POLICY PERFORMANCE\ndefault", "onefs.file.protection@/ifs"},
		{"pattern", "one line", "onefs.file.access_pattern@/ifs"},
	} {
		f := readAs(t, "onefs", printing(answer, c.name, 0, c.want))
		told := slices.ContainsFunc(f.CouldNotSee, func(b model.Blind) bool { return b.What == "onefs: "+c.name })
		if v, ok := f.Settings[c.setting]; ok || !told {
			t.Errorf("%s printed %q: %s is %v, told %v", c.name, c.want, c.setting, v, told)
		}
	}
}

// What isi_sysctl_cluster prints is published nowhere. The lines that sysctl would print are taken, also with
// a node's name before them; of all else nothing is, and it is told, as is what contradicts sysctl.
func TestOtherNodesOfOneFSAreReadOrTold(t *testing.T) {
	const streaming = "onefs.sysctl.efs.bam.fnprefetch.enable_streaming"
	for form, want := range map[string]struct {
		told   string
		values map[string]string // by node
	}{
		"named":  {"", map[string]string{"isilon-1": "1", "isilon-2": "0"}},
		"equals": {"", map[string]string{"cluster": "1"}},
		"table":  {`the line "Node Value" was not understood`, nil},
		"down":   {`the line "isilon-2: unreachable" was not understood`, nil},
		"twice":  {"two lines of cluster", nil},
		"mixed":  {"some of its lines name a node", nil},
		"others": {"no line of it is of this node (isilon-1)", nil},
		"stale":  {"it has 77 for this node, and sysctl has 1", nil},
	} {
		f := readAs(t, "onefs", askFor(t, "onefs", []string{"sh"}, fake.Set+"=cluster:form="+form+";efs.bam.fnprefetch.enable_streaming=1"))
		got := map[string]string{}
		for id, v := range f.Settings {
			if node, ok := strings.CutPrefix(id, streaming+"@"); ok {
				got[node] = v.Or("?")
			}
		}
		told := slices.ContainsFunc(f.CouldNotSee, func(b model.Blind) bool { return want.told != "" && strings.Contains(b.How, want.told) })
		if fmt.Sprint(got) != fmt.Sprint(want.values) || told != (want.told != "") || f.Settings[streaming] != model.Known("1") {
			t.Errorf("%s: %v, want %v; not seen %+v", form, got, want.values, f.CouldNotSee)
		}
	}
}

// What isi_sysctl_cluster prints is taken only where this node's own sysctl shows the same: where it shows
// nothing, there is nothing to compare with.
func TestOtherNodesOfOneFSAreNotTakenUncompared(t *testing.T) {
	answer, err := os.ReadFile("testdata/onefs-fake.frames")
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range map[string]struct {
		code int
		text string
	}{"unread": {1, "sysctl: Permission denied"}, "nothing": {0, ""}, "absent": {0, "efs.bam.fnprefetch.enable_concurrent=0"}, "empty": {0, "efs.bam.fnprefetch.enable_streaming="}} {
		f := readAs(t, "onefs", printing(answer, "values", values.code, values.text))
		for id, v := range f.Settings {
			if strings.HasPrefix(id, "onefs.sysctl.efs.bam.fnprefetch.enable_streaming@") {
				t.Errorf("%s: %s is %v, which was compared with nothing", name, id, v)
			}
		}
		if !slices.ContainsFunc(f.CouldNotSee, func(b model.Blind) bool { return strings.Contains(b.How, "sysctl shows none here to compare with") }) {
			t.Errorf("%s: not told: %+v", name, f.CouldNotSee)
		}
	}
}

// What could not be read of units and pools is told as what it would have shown; that a host has no
// COMSTAR is no loss.
func TestUnreadUnitsAndPoolsOfIllumosAreToldAsSuch(t *testing.T) {
	for program, want := range map[string]string{"stmfadm": "the write caches of logical units", "zpool": "which pools have a log device"} {
		f := readAs(t, "illumos", askFor(t, "illumos", []string{"sh"}, fake.How+"=denied:"+program))
		if !slices.ContainsFunc(f.CouldNotSee, func(b model.Blind) bool { return b.WouldShow == want }) {
			t.Errorf("%s: not seen %+v", program, f.CouldNotSee)
		}
	}
	f := readAs(t, "illumos", askFor(t, "illumos", []string{"sh"}, fake.How+"=missing:stmfadm"))
	if slices.ContainsFunc(f.CouldNotSee, func(b model.Blind) bool { return strings.HasSuffix(b.What, "lus") }) {
		t.Errorf("a host without COMSTAR: not seen %+v", f.CouldNotSee)
	}
}

// A node without the program, or whose program prints nothing and reports success, tells it once.
func TestAClusterThatDoesNotAnswerIsToldOnce(t *testing.T) {
	for how, want := range map[string]string{"missing": "no such program", "empty": "no answer", "denied": "Permission denied"} {
		f := readAs(t, "onefs", askFor(t, "onefs", []string{"sh"}, fake.How+"="+how+":isi_sysctl_cluster"))
		told := 0
		for _, b := range f.CouldNotSee {
			if strings.Contains(b.What, "isi_sysctl_cluster") && strings.Contains(b.How, want) {
				told++
			}
		}
		if told != 1 {
			t.Errorf("%s: told %d times: %+v", how, told, f.CouldNotSee)
		}
	}
}
