package foreign

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"linerate/internal/lab/labtest"
)

func TestFreeBSDOverSSH(t *testing.T) {
	t.Parallel()
	h := foreignHostOf(t, "freebsd", "", "", ":")
	path := []string{"--rtt", "10ms", "--line-rate", "10Gbit"}
	hasAll(t, h.ran(t, 0, append([]string{"check", "freenas"}, path...)...),
		"recvbuf_max = 2097152: at most 1.68 Gbit/s at 10ms", "[buffer-ceiling]", "freebsd.boot.net.inet.tcp.recvbuf_inc", "never on a real FreeBSD host", "FreeBSD 14.1-RELEASE-p5, 8 CPUs, ix0 10 Gbit/s MTU 1500")
	recorded := t.TempDir() + "/recorded"
	hasAll(t, h.ran(t, 0, "check", "freenas", "--snapshot", recorded), "freebsd-host.frames")
	text, err := os.ReadFile(recorded + "/freebsd-host.frames")
	if err != nil || strings.Contains(string(text), "freenas") || strings.Contains(string(text), "a0:36:9f") || !strings.Contains(string(text), "kern.ipc.maxsockbuf=2097152") {
		t.Errorf("%v: %s", err, text)
	}
	profile := append([]string{"freenas", "--profile", "nfs-server"}, path...)
	plan := h.ran(t, 0, append([]string{"tune", "plan"}, profile...)...)
	hasAll(t, plan, "freebsd.sysctl.kern.ipc.maxsockbuf", "2097152 → 25000000", "freebsd.sysctl.net.inet.tcp.recvbuf_max")
	if strings.Contains(plan, "linux.") || strings.Contains(plan, "macos.") {
		t.Errorf("settings of other systems: %s", plan)
	}
	hasAll(t, h.ran(t, 0, append([]string{"tune", "script"}, profile...)...), "#!/bin/sh", `sysctl kern.ipc.maxsockbuf="$value"`, "kern.boot_id")
	out := t.TempDir() + "/apply.sh"
	hasAll(t, h.ran(t, 0, append([]string{"tune", "script", "-o", out}, profile...)...), out+": the plan; ", "undo.sh undoes it", "sh apply.sh apply sh undo.sh")
	h.ran(t, 2, append([]string{"tune", "script", "-o", out}, profile...)...) // they are there
	hasAll(t, h.ran(t, 0, append([]string{"tune", "apply"}, append(profile, "--confirm-within", "5m")...)...), "applied: yes", "undone by itself in 5 minutes")
	hasAll(t, h.ran(t, 0, "tune", "confirm", "freenas"), "are in force")
	hasAll(t, h.ran(t, 0, append([]string{"tune", "plan"}, profile...)...), "No change")
	hasAll(t, h.ran(t, 0, "tune", "undo", "freenas"), "freebsd.sysctl.kern.ipc.maxsockbuf: 25000000 -> 2097152 again")
	leftNothing(t, h.tmp)
}

func TestMacOSOverSSH(t *testing.T) {
	t.Parallel()
	h := foreignHostOf(t, "macos", "net.inet.tcp.doautorcvbuf=0", "", ":")
	path := []string{"--rtt", "10ms", "--line-rate", "10Gbit"}
	hasAll(t, h.ran(t, 0, append([]string{"check", "macmini"}, path...)...),
		"autorcvbufmax = 4194304: at most 3.36 Gbit/s at 10ms", "macos.sysctl.net.inet.tcp.doautorcvbuf = 0", "never on a real Mac", "macOS 24.1.0 (macOS 15.1), 12 CPUs, en0 10 Gbit/s MTU 1500")
	plan := h.ran(t, 0, append([]string{"tune", "plan", "macmini", "--profile", "media-client"}, path...)...)
	hasAll(t, plan, "8388608 → 25000000", "macos.sysctl.net.inet.tcp.autorcvbufmax")
	hasAll(t, h.ran(t, 0, append([]string{"tune", "apply", "macmini", "--profile", "media-client", "--confirm-within", "2m"}, path...)...), "applied: yes", "undone by itself in 2 minutes")
	hasAll(t, h.ran(t, 0, "tune", "confirm", "macmini"), "are in force")
	hasAll(t, h.ran(t, 0, "tune", "undo", "macmini"), "25000000 -> 8388608 again")
	leftNothing(t, h.tmp)
}

// An option of the SMB client is a line of a file, which the host did not have and does not have again; what it
// costs beside performance is said.
func TestTheSMBClientOfAMacIsChanged(t *testing.T) {
	t.Parallel()
	h := foreignHostOf(t, "macos", "", "", "mkdir /var/lib/etc && cp -a /etc/. /var/lib/etc/ && rm -f /var/lib/etc/nsmb.conf && mount --bind /var/lib/etc /etc")
	set := sets("macos.file.nsmb_conf@signing_required=no", "macos.file.nsmb_conf@dir_cache_max=600")
	hasAll(t, h.ran(t, 0, append([]string{"tune", "plan", "macmini"}, set...)...), "2 changes", "unset → no", "TRADES security", "signing off lets messages be altered", "unset → 600")
	hasAll(t, h.ran(t, 0, append([]string{"tune", "script", "macmini"}, set...)...), "/etc/nsmb.conf", "'signing_required='")
	hasAll(t, h.ran(t, 0, append([]string{"tune", "apply", "macmini"}, set...)...), "applied: yes")
	hasAll(t, h.ran(t, 0, append([]string{"tune", "plan", "macmini"}, set...)...), "No change")
	hasAll(t, h.ran(t, 0, "tune", "undo", "macmini"), "no -> unset again", "600 -> unset again", "/etc/nsmb.conf is as it was")
	hasAll(t, h.ran(t, 0, append([]string{"tune", "plan", "macmini"}, set...)...), "unset → no")
	hasAll(t, h.ran(t, 0, "tune", "plan", "macmini", "--profile", "media-client"), "macos.sysctl.")
	leftNothing(t, h.tmp)
}

// Two hosts without a linerate of their own are compared, and nothing is sent between them.
func TestTwoHostsWithoutAnAgentAreCompared(t *testing.T) {
	t.Parallel()
	h := foreignHostOf(t, "macos", "", "", ":")
	dir, ssh := t.TempDir(), filepath.Join(t.TempDir(), "ssh")
	omnios := foreignHostOf(t, "illumos", "", "", ":")
	one, two := strings.Split(h.path, ":")[0], strings.Split(omnios.path, ":")[0]
	labtest.Program(t, ssh, strings.NewReader("#!/bin/sh\ncase \"$*\" in *' -- omnios '*) exec "+two+"/ssh \"$@\";; esac\nexec "+one+"/ssh \"$@\"\n"))
	both := sshHost{dir, t.TempDir(), filepath.Dir(ssh) + ":" + h.path}
	out := both.ran(t, 0, "check", "macmini", "omnios")
	hasAll(t, out, "en0 10.0.0.7 ↔ ixgbe0 10.0.0.9, not probed", "what probes would show", "a probe needs both ends", "illumos 5.11 omnios-r151054-0, 1 CPU,",
		"flow control is on at one of macmini and omnios", "at macmini by its media option flow-control", "at omnios by dladm set-linkprop -p flowctrl=bi (or no) ixgbe0", "knows this system as it is")
	for _, alien := range []string{"ethtool", "some UDP datagrams", "0 datagrams"} {
		if strings.Contains(out, alien) {
			t.Errorf("%q does not fit: %s", alien, out)
		}
	}
}

// Of OneFS a script is written, and none is run: nothing public has its names.
func TestOneFSOverSSH(t *testing.T) {
	t.Parallel()
	h := foreignHostOf(t, "onefs", "", "", ":")
	hasAll(t, h.ran(t, 0, "check", "isilon"), "names are from a paper", "never on a real cluster", "v9.5.0.0, 16 CPUs, 10gige-1 10 Gbit/s MTU 1500")
	recorded := t.TempDir() + "/recorded"
	h.ran(t, 0, "check", "isilon", "--snapshot", recorded)
	if text, err := os.ReadFile(recorded + "/onefs-host.frames"); err != nil || strings.Contains(string(text), "isilon") || !strings.Contains(string(text), "host-2: efs.bam.fnprefetch.enable_streaming: 0") {
		t.Errorf("%v: %s", err, text)
	}
	hasAll(t, h.ran(t, 0, "check", "--from", recorded, "--json"), `"onefs.sysctl.efs.bam.fnprefetch.enable_streaming@host-2"`)
	for _, audit := range [][]string{{"guide", "audit", "isilon"}, {"guide", "audit", "--from", recorded}} {
		hasAll(t, h.ran(t, 0, audit...), "valid onefs.network.aggregation = failover (groupnet0.subnet0.pool0) One port carries everything", "without it lacp (the default)",
			"onefs.file.access_pattern = concurrency (/ifs) (The default", "onefs.network.mtu = 1500 (groupnet0.subnet0)", "not read: whether all of this was read right")
	}
	hasAll(t, h.ran(t, 2, "guide", "audit", "isilon", "--kernel", "6.18"), "which Linux alone has: what OneFS has is judged as it is")
	all := sets("onefs.sysctl.efs.bam.fnprefetch.enable_streaming=1", "onefs.file.access_pattern@/ifs/data=streaming", "onefs.network.mtu@groupnet0.subnet0=9000", "onefs.network.aggregation@groupnet0.subnet0.pool0=lacp")
	hasAll(t, h.ran(t, 0, append([]string{"tune", "script", "isilon"}, all...)...), `sysctl efs.bam.fnprefetch.enable_streaming="$value"`, "isi set -l", "from='concurrency'; to='streaming'")
	hasAll(t, h.ran(t, 2, append([]string{"tune", "apply", "isilon"}, all...)...), "from a paper, not verified, and linerate does not run them")
	leftNothing(t, h.tmp)
}

// What a login may do to us: print before the answer, have csh, be no shell.
func TestLoginsThatAreNotPlain(t *testing.T) {
	t.Parallel()
	t.Run("greeting", func(t *testing.T) {
		h := foreignHostOf(t, "freebsd", "", "ForceCommand /bin/sh -c 'echo Welcome to TrueNAS; echo begin x 0 1; exec /bin/sh -c \"$SSH_ORIGINAL_COMMAND\"'\n", ":")
		hasAll(t, h.ran(t, 0, "check", "freenas"), "FreeBSD 14.1-RELEASE-p5")
		hasAll(t, h.ran(t, 0, "tune", "apply", "freenas", "--set", "freebsd.sysctl.net.inet.tcp.delayed_ack=0"), "applied: yes")
		hasAll(t, h.ran(t, 0, "tune", "undo", "freenas"), "0 -> 1 again")
	})
	t.Run("csh", func(t *testing.T) {
		labtest.Needs(t, "csh")
		h := foreignHostOf(t, "freebsd", "", "", `mkdir /var/lib/etc && sed 's|^\(root:.*:\)[^:]*$|\1/usr/bin/csh|' /etc/passwd >/var/lib/etc/passwd && mount --bind /var/lib/etc/passwd /etc/passwd`)
		hasAll(t, h.ran(t, 0, "check", "freenas"), "FreeBSD 14.1-RELEASE-p5")
		hasAll(t, h.ran(t, 0, "tune", "apply", "freenas", "--set", "freebsd.sysctl.net.inet.tcp.delayed_ack=0"), "applied: yes")
		hasAll(t, h.ran(t, 0, "tune", "undo", "freenas"), "0 -> 1 again")
	})
	t.Run("appliance", func(t *testing.T) {
		h := foreignHostOf(t, "freebsd", "", "ForceCommand /bin/sh -c 'echo \"%% Unknown command: $SSH_ORIGINAL_COMMAND\"'\n", ":")
		code, out, errs := h.run(t, "check", "appliance")
		if text := out + errs; code == 0 || strings.Contains(text, "FreeBSD 14") {
			t.Errorf("exit code %d: %s", code, text)
		}
		code, out, errs = h.run(t, "tune", "apply", "appliance", "--set", "freebsd.sysctl.net.inet.tcp.delayed_ack=0")
		if code == 0 {
			t.Errorf("applied: %s%s", out, errs)
		}
	})
	t.Run("no atrun", func(t *testing.T) {
		h := foreignHostOf(t, "freebsd", "atrun=off", "", ":")
		hasAll(t, h.ran(t, 1, "tune", "apply", "freenas", "--set", "freebsd.sysctl.net.inet.tcp.delayed_ack=0", "--confirm-within", "5m"), "does not take a job for later", "nothing was changed")
	})
}
