package systems

import (
	"os"
	"strings"
	"testing"

	"linerate/internal/model"
	"linerate/internal/systems/fake"
	"linerate/internal/unit"
)

// The imitations answer now as they did when the recordings were made of them.
func TestRecordingsOfTheFakeAreItsAnswers(t *testing.T) {
	for _, system := range []string{"illumos", "freebsd", "macos", "onefs"} {
		answer, file := askFor(t, system, []string{"sh"}), "testdata/"+system+"-fake.frames"
		if *update {
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
