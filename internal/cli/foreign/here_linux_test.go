package foreign

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"linerate/internal/cli"
	"linerate/internal/lab/labtest"
	"linerate/internal/reach"
	"linerate/internal/systems/fake"
	"linerate/internal/systems/fake/winhost"
)

// runOn runs a command on a host of another system, whose shell is a fake's.
func runOn(local reach.ThisHost, args ...string) (code int, out, errs string) {
	var stdout, stderr bytes.Buffer
	code = cli.RunOn(context.Background(), local, args, strings.NewReader(""), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// said is what a command that ends so says there, in one line.
func said(t *testing.T, local reach.ThisHost, want int, args ...string) string {
	t.Helper()
	code, out, errs := runOn(local, args...)
	if code != want {
		t.Fatalf("%v: exit code %d, want %d: %s%s", args, code, want, out, errs)
	}
	return strings.Join(strings.Fields(out+errs), " ")
}

// windowsHere is this host where it runs Windows: PowerShell is the fake's, in this process.
func windowsHere(t *testing.T, how string) reach.ThisHost {
	t.Helper()
	variables := map[string]string{winhost.State: t.TempDir(), winhost.How: how}
	return reach.ThisHost{GOOS: "windows", Run: func(_ context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) error {
		if code := winhost.Main(append([]string{"powershell"}, argv[1:]...), func(name string) string { return variables[name] }, stdin, stdout, stderr); code != 0 {
			return fmt.Errorf("exit status %d", code)
		}
		return nil
	}}
}

// unixHere is this host where it runs another Unix: its sh finds a fake's programs first.
func unixHere(t *testing.T, goos, system, set string) reach.ThisHost {
	t.Helper()
	return unixHowHere(t, goos, system, set, "")
}

// unixHowHere is one of which something is wrong, as fake.How has it.
func unixHowHere(t *testing.T, goos, system, set, how string) reach.ThisHost {
	t.Helper()
	bin, state := t.TempDir(), t.TempDir()
	mount, notFound := exec.LookPath("mount") // the real one
	exe := fakehost(t)
	if err := errors.Join(fake.Install(bin, exe), os.Symlink(exe, filepath.Join(bin, "sync"))); err != nil {
		t.Fatal(err)
	}
	return reach.ThisHost{GOOS: goos, Run: func(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) error {
		if os.Geteuid() == 0 && notFound == nil { // plans keep their records below /var/lib: not in this machine's
			argv = append([]string{"unshare", "-m", "sh", "-c", `"$0" --bind "$1" /var/lib && shift && exec "$@"`, mount, state}, argv...)
		}
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Env = []string{"PATH=" + bin + ":/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR=" + state, fake.OS + "=" + system, fake.Set + "=" + set, fake.State + "=" + state, fake.How + "=" + how}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
		return cmd.Run()
	}}
}

// linerate.exe on Windows itself reads and changes its own host, by the same scripts as over ssh.
func TestAWindowsHostReadsAndChangesItself(t *testing.T) {
	here := windowsHere(t, "")
	hasAll(t, said(t, here, 0, "check", "--line-rate", "10Gbit", "--rtt", "1ms"), "Windows 10.0.20348, 16 CPUs", "SAN1 10 Gbit/s MTU 1500", "never on a real Windows host")
	hasAll(t, said(t, here, 0, "guide", "audit"), "system windows, kernel 10.0.20348 stale windows.tcp.delayed_ack = 1 (SAN 2 (Büro))", "set by the running system", "windows.mpio.policy = None (The default", "not read: whether all of this was read right")
	set := []string{"--set", "windows.adapter.jumbo@SAN1=9014", "--set", "windows.tcp.delayed_ack@SAN1=1"}
	hasAll(t, said(t, here, 0, append([]string{"tune", "plan"}, set...)...), "1514 → 9014", "absent → 1")
	hasAll(t, said(t, here, 0, append([]string{"tune", "script"}, set...)...), "-File change.ps1 apply", "From = '1514'")
	hasAll(t, said(t, here, 0, append([]string{"tune", "apply", "--confirm-within", "2m"}, set...)...), "applied: yes", "undone by itself in 2 minutes", "tune confirm localhost")
	hasAll(t, said(t, here, 0, "tune", "confirm"), "2 of its changes are in force")
	hasAll(t, said(t, here, 0, "tune", "history"), "9014 (original 1514, wanted 9014): changed by this plan")
	hasAll(t, said(t, here, 2, "leave"), `%ProgramData%\linerate\plans`)
	hasAll(t, said(t, here, 0, "tune", "undo"), "9014 -> 1514 again", "1 -> absent again")
	hasAll(t, said(t, here, 0, "check", "localhost"), "MTU 1500")
	dir := filepath.Join(t.TempDir(), "recorded")
	hasAll(t, said(t, here, 0, "check", "--snapshot", dir), "windows-host.frames", "look")
	hasAll(t, said(t, here, 0, "check", "--from", dir), "Windows 10.0.20348", "SAN1 10 Gbit/s MTU 1500")
	// The same, recorded by hand: PowerShell 5.1 makes UTF-16 of what it redirects to a file.
	b, err := os.ReadFile(filepath.Join(dir, "windows-host.frames"))
	if err != nil {
		t.Fatal(err)
	}
	redirected := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(strings.ReplaceAll(string(b), "\n", "\r\n"))) {
		redirected = binary.LittleEndian.AppendUint16(redirected, u)
	}
	file := filepath.Join(t.TempDir(), "windows-filer.frames")
	if err := os.WriteFile(file, redirected, 0o644); err != nil {
		t.Fatal(err)
	}
	hasAll(t, said(t, here, 0, "check", "--from", file), "Windows 10.0.20348", "SAN1 10 Gbit/s MTU 1500")
}

func TestAWindowsHostThatCannotReadItselfSaysWhy(t *testing.T) {
	for how, want := range map[string]string{
		"nothing":                       "printed nothing and reported success",
		"version:2.0":                   "version 2.0, and 5.1 is needed",
		"language:ConstrainedLanguage":  "language mode is ConstrainedLanguage",
		"cut:3000":                      "cut off",
		"empty:get-netadapter":          "gave nothing and reported success",
		"denied:get-netadapter,noadmin": "log in as an administrator",
	} {
		t.Run(how, func(t *testing.T) {
			_, out, errs := runOn(windowsHere(t, how), "check")
			hasAll(t, strings.Join(strings.Fields(out+errs), " "), want)
		})
	}
	hasAll(t, said(t, windowsHere(t, "noadmin"), 1, "tune", "apply", "--set", "windows.smb.multichannel@client=false"), `opened with "Run as administrator"`)
	hasAll(t, said(t, windowsHere(t, "nothing"), 4, "tune", "undo"), "printed nothing and reported success", "not known")
	hasAll(t, said(t, windowsHere(t, ""), 1, "explain", `Z:\films`), "on Linux alone", "Windows and macOS (explain --attach ADDRESS:PORT)", "linerate check")
}

// So does linerate on FreeBSD and macOS, by sh.
func TestAnotherUnixReadsItself(t *testing.T) {
	for goos, want := range map[string][]string{
		"freebsd": {"FreeBSD 14.1-RELEASE-p5, 8 CPUs", "ix0 10 Gbit/s MTU 1500"},
		"darwin":  {"(macOS 15.1), 12 CPUs", "en0 10 Gbit/s MTU 1500"},
		"illumos": {"omnios-r151054-0", "ixgbe0 10 Gbit/s"},
	} {
		t.Run(goos, func(t *testing.T) {
			here := unixHere(t, goos, strings.Replace(goos, "darwin", "macos", 1), "uid=501")
			hasAll(t, said(t, here, 0, "check"), want...)
			dir := filepath.Join(t.TempDir(), "recorded")
			said(t, here, 0, "check", "--snapshot", dir)
			hasAll(t, said(t, here, 0, "check", "--from", dir), want[len(want)-1])
			said(t, here, 0, "check", "--snapshot", dir+".tar.zst")
			hasAll(t, said(t, here, 0, "check", "--from", dir+".tar.zst"), want[len(want)-1])
			said(t, here, 2, "check", "--hide-names", "--snapshot", dir+"2")
		})
	}
	hasAll(t, said(t, unixHere(t, "freebsd", "freebsd", "uid=501"), 1, "tune", "apply", "--set", "freebsd.sysctl.net.inet.tcp.delayed_ack=0"), "we are user 501: use sudo")
}

func TestAnotherUnixChangesItself(t *testing.T) {
	labtest.Needs(t, labtest.Root, labtest.Namespaces, "unshare", "mount")
	here := unixHere(t, "freebsd", "freebsd", "")
	hasAll(t, said(t, here, 0, "tune", "apply", "--set", "freebsd.sysctl.net.inet.tcp.delayed_ack=0", "--confirm-within", "2m"), "1 → 0", "applied: yes")
	hasAll(t, said(t, here, 0, "tune", "confirm"), "1 of its changes are in force")
	hasAll(t, said(t, here, 0, "tune", "undo"), "0 -> 1 again")
}

// Each line of the tables of docs/systems.md, and what is refused: over ssh the same script does it.
func TestEachSettingOfAnotherUnix(t *testing.T) {
	t.Parallel()
	labtest.Needs(t, labtest.Root, labtest.Namespaces, "unshare", "mount")
	t.Run("freebsd", func(t *testing.T) { freeBSDSettings(t, unixHere(t, "freebsd", "freebsd", "")) })
	t.Run("macos", func(t *testing.T) { macOSSettings(t, unixHere(t, "darwin", "macos", "net.inet.tcp.doautorcvbuf=0")) })
	t.Run("illumos", func(t *testing.T) { illumosSettings(t, unixHere(t, "illumos", "illumos", "")) })
}

func freeBSDSettings(t *testing.T, here reach.ThisHost) {
	t.Helper()
	set := func(want int, value string, say ...string) {
		t.Helper()
		hasAll(t, said(t, here, want, "tune", "apply", "--set", value), say...)
	}
	// Each line of the table of docs/systems.md, in one plan.
	hasAll(t, said(t, here, 0, append([]string{"tune", "apply", "--confirm-within", "0"}, sets("freebsd.sysctl.net.inet.tcp.cc.algorithm=newreno", "freebsd.sysctl.net.inet.tcp.delayed_ack=0", "freebsd.nfsd.threads=128",
		"freebsd.ifconfig.mtu@ix0=9000", "freebsd.ifconfig.offload@ix0=lro=off,tso4=on,tso6=on", "freebsd.sysctl.dev.ix.N.fc@ix0=0", "any.zfs.atime@tank/media=off")...)...), "applied: yes")
	hasAll(t, said(t, here, 0, "tune", "undo"), "newreno -> cubic again", "0 -> 1 again", "128 -> 64 again", "9000 -> 1500 again", "lro=off,tso4=on,tso6=on -> lro=on,tso4=on,tso6=on again", "0 -> 3 again")
	set(1, "freebsd.sysctl.net.inet.tcp.cc.algorithm=bbr", "No such process", "put back")
	set(2, "freebsd.sysctl.dev.ix.N.fc@ix1=0", "dev.ix.1.fc is 3, and the system lets nobody write it while it runs")
	set(2, "freebsd.sysctl.net.inet.tcp.recvbuf_inc=1", "linerate does not set")
	set(2, "freebsd.nfsd.threads=1;reboot", "want a number")
	for _, how := range []string{"empty", "missing"} { // that it was not read does not mean that nobody may write it
		broken := unixHowHere(t, "freebsd", "freebsd", "", how+":sysctl")
		text := said(t, broken, 2, "tune", "plan", "--set", "freebsd.sysctl.net.inet.tcp.delayed_ack=0")
		if hasAll(t, text, "sysctl shows no net.inet.tcp.delayed_ack"); strings.Contains(text, "nobody write") {
			t.Error(text)
		}
		if text := said(t, broken, 0, "check"); strings.Contains(text, "0 CPU") {
			t.Error(text)
		}
	}
	hasAll(t, said(t, here, 1, "tune", "apply", "--set", "freebsd.ifconfig.mtu@ix0=9000", "--persist"), "/etc/rc.conf has no ifconfig_ix0= of its own", "give it a line there first")
	hasAll(t, said(t, here, 2, "tune", "apply", "--set", "freebsd.nfsd.threads=128", "--persist"), "there by hand")
	hasAll(t, said(t, here, 0, "tune", "script", "--set", "freebsd.sysctl.net.inet.tcp.delayed_ack=0", "--persist"), "/etc/sysctl.conf", "from='unset'")
}

func macOSSettings(t *testing.T, here reach.ThisHost) {
	t.Helper()
	hasAll(t, said(t, here, 0, append([]string{"tune", "apply", "--confirm-within", "0"}, sets("macos.sysctl.net.inet.tcp.delayed_ack=0", "macos.sysctl.net.inet.tcp.win_scale_factor=4",
		"macos.sysctl.net.inet.tcp.doautorcvbuf=1", "macos.sysctl.net.inet.tcp.sendspace=262144", "macos.sysctl.net.inet.tcp.recvspace=262144", "macos.link.mtu@en0=9000")...)...), "applied: yes")
	hasAll(t, said(t, here, 0, "tune", "undo"), "0 -> 3 again", "4 -> 3 again", "1 -> 0 again", "9000 -> 1500 again")
	hasAll(t, said(t, here, 1, "tune", "apply", "--set", "macos.link.mtu@en0=16000"), "not a valid MTU", "put back")
	hasAll(t, said(t, here, 2, "tune", "apply", "--set", "macos.sysctl.net.inet.tcp.rfc1323=1"), "rfc1323: linerate does not set macos.sysctl.net.inet.tcp.rfc1323: macOS has not had it since 10.11")
	hasAll(t, said(t, here, 2, "tune", "apply", "--set", "macos.file.sysctl_conf=x"), "no release of today reads that file", "--persist")
	hasAll(t, said(t, here, 2, "tune", "apply", "--set", "macos.file.nsmb_conf=x"), "name one of dir_cache_max, mc_on,")
	hasAll(t, said(t, here, 2, "tune", "apply", "--set", "macos.file.nsmb_conf@signing_required=maybe"), "want what matches ^(yes|no)$")
	hasAll(t, said(t, here, 2, "tune", "apply", "--set", "macos.sysctl.net.inet.tcp.delayed_ack=0", "--persist", "--confirm-within", "2m"), "before you confirm")
	hasAll(t, said(t, here, 0, "tune", "script", "--set", "macos.sysctl.net.inet.tcp.delayed_ack=0", "--persist"), "/etc/linerate.sysctl.sh", "org.linerate.sysctl")
}

func illumosSettings(t *testing.T, here reach.ThisHost) {
	t.Helper()
	hasAll(t, said(t, here, 1, "tune", "apply", "--set", "illumos.ipadm.tcp.send_buf=2000000"), "is out of range", "put back")
	hasAll(t, said(t, here, 2, "tune", "apply", "--set", "illumos.ipadm.tcp.send_buf=1;reboot"), "want a number")
	hasAll(t, said(t, here, 2, "tune", "plan", "--set", "linux.sysctl.net.ipv4.tcp_mtu_probing=1"), "this host runs illumos")
	hasAll(t, said(t, here, 0, "tune", "apply", "--set", "illumos.ipadm.tcp.send_buf=65536", "--persist"), "illumos.ipadm.tcp.send_buf@ipadm: unset -> 65536")
	hasAll(t, said(t, here, 0, "tune", "undo"), "65536 -> unset again", "65536 -> 49152 again")
	hasAll(t, said(t, here, 0, append([]string{"tune", "apply", "--confirm-within", "0"}, sets("illumos.dladm.mtu@igb0=9000", "illumos.sharectl.nfs.servers=2048", "illumos.sharectl.nfs.lockd_servers=512",
		"illumos.ipadm.tcp._naglim_def=1", "illumos.ipadm.tcp._deferred_acks_max=8")...)...), "applied: yes")
	hasAll(t, said(t, here, 0, "tune", "undo"), "9000 -> 1500 again", "2048 -> 1024 again", "512 -> 256 again", "1 -> 4095 again")
	hasAll(t, said(t, here, 1, "tune", "apply", "--set", "illumos.dladm.mtu@ixgbe0=9000"), "link busy", "put back")
	hasAll(t, said(t, here, 0, "tune", "script", "--set", "illumos.system.zfs.l2arc_noprefetch=0", "--set", "illumos.driver.ixgbe.intr_throttling=0"), "/etc/system", "/kernel/drv/ixgbe.conf")
	hasAll(t, said(t, here, 2, "tune", "plan", "--set", "illumos.system.sd.sd_io_time=8;9"), "want a number")
	hasAll(t, said(t, here, 2, "tune", "plan", "--set", "any.zfs.slog@tank=c1t1d0"), "--set any.zfs.slog@tank: a device that is added to a pool loses what it held")
}
