package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/lab"
	"linerate/internal/lab/labtest"
	"linerate/internal/lab/topology"
	"linerate/internal/lab/uml"
)

// onKernelHost runs shell scripts on a host of a topology that has a kernel of its own, which is
// restarted between two of them, $L being linerate, and returns what they printed. A line that
// begins with WRONG fails the test.
func onKernelHost(t *testing.T, topo, host string, scripts ...string) string {
	t.Helper()
	labtest.Long(t)
	t.Parallel()
	labtest.Needs(t, labtest.Root, "mkfs.ext4", "modprobe")
	if _, err := uml.Find("/"); errors.Is(err, uml.ErrMissing) || errors.Is(err, uml.ErrCPU) {
		t.Skip(err)
	}
	dir, err := os.MkdirTemp("", "kh-") // the paths of its sockets have to be short
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}()
	binary := built.Program(t, "linerate", "linerate/cmd/linerate")
	net, err := topology.Find(topo)
	if err == nil {
		net, err = net.WithKinds(map[string]topology.Kind{host: topology.Kernel})
	}
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	l, err := lab.Up(ctx, net.Scaled(false), lab.Options{Self: []string{binary}, StateDir: filepath.Join(dir, "state")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Down(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()
	var said strings.Builder
	for n, script := range scripts {
		if n > 0 {
			if err := l.Reboot(ctx, host); err != nil {
				t.Fatal(err)
			}
		}
		out, err := l.Run(ctx, host, "sh", "-c", kernelHostHead+script+"\necho WHOLE\n", binary)
		t.Logf("%s", out)
		if err != nil || !strings.Contains(string(out), "WHOLE") {
			t.Fatalf("script %d ended early: %v", n, err)
		}
		said.Write(out)
	}
	for line := range strings.Lines(said.String()) {
		if strings.HasPrefix(line, "WRONG") {
			t.Error(strings.TrimSpace(line))
		}
	}
	return said.String()
}

const kernelHostHead = `
L=$0
K=net.ipv4.tcp_mtu_probing
export PATH=$PATH:/usr/sbin:/sbin
is() { [ "$(sysctl -n $K)" = $1 ] || echo "WRONG $2: the value is $(sysctl -n $K), not $1"; }
`

// failingDisk has the disk below the journal fail from each moment of a change on: every write,
// or everything. apply does not say what is not so, undo restores from what was read, and once
// the disk is mended nothing is in force.
const failingDisk = `
export DM_DISABLE_UDEV=1
modprobe -a dm-mod dm-flakey && modprobe brd rd_nr=1 rd_size=8192 && command -v dmsetup >/dev/null || { echo LACKS; exit 0; }
V=/var/lib/linerate; D=/dev/ram0; S=$(blockdev --getsz $D); mkdir -p $V
good="0 $S linear $D 0"
swap() { dmsetup suspend --noflush --nolockfs f; dmsetup load f --table "$1"; dmsetup resume f; }
fresh() {
	umount $V 2>/dev/null; dmsetup remove f 2>/dev/null
	mkfs.$1 -q -F $D && dmsetup create f --table "$good" && mount -t $1 /dev/mapper/f $V && chmod 700 $V || echo "WRONG: no file system"
	sync; sysctl -qw $K=0
}
judge() { # case, exit code of apply, what it said
	case "$2 $(sysctl -n $K)" in
	'0 2' | [1-9]*' 0') ;;
	[1-9]*' 2') case $3 in *'still changed'*) ;; *) echo "WRONG $1: changed, and not said: $3" ;; esac ;;
	*) echo "WRONG $1: exit code $2, value $(sysctl -n $K): $3" ;;
	esac
	case "$(sysctl -n $K) $3" in '0 '*'still changed'*) echo "WRONG $1: nothing is changed: $3" ;; esac
	was=$(sysctl -n $K); said=$($L tune undo 2>&1); code=$?
	[ $code != 0 ] || is 0 "$1, undone on the bad disk: $said"
	case "$was $said" in '2 '*'nothing to undo'*) echo "WRONG $1: $said" ;; esac
	echo "$1: apply $2, value $was, undo $code, then $(sysctl -n $K)"
	swap "$good"; umount $V; e2fsck -fy /dev/mapper/f >/dev/null 2>&1; mount /dev/mapper/f $V; chmod 700 $V
	[ -z "$4" ] || return 0
	said=$($L tune undo 2>&1) || said="$said $($L tune undo --from-script 2>&1)"
	is 0 "$1, mended: $said"
	case $($L tune history 2>&1) in *'  applied  '*'tcp_mtu_probing'*) echo "WRONG $1: still in the journal as applied" ;; esac
}
apply() { said=$($L tune apply --set sysctl.$K=2 --confirm-within 0 2>&1); code=$?; }
for fs in ext2 ext4; do
	for bad in "0 $S flakey $D 0 0 600 1 error_writes" "0 $S error"; do
		kind=$(echo "$bad" | cut -d ' ' -f 3)
		fresh $fs; swap "$bad"; apply; judge "$fs $kind from before" $code "$said"
		fresh $fs; apply; swap "$bad"; judge "$fs $kind after" $code "$said"
		fresh $fs; $L tune apply --set sysctl.net.ipv4.tcp_sack=0 --confirm-within 0 >/dev/null 2>&1
		swap "$bad"; apply; judge "$fs $kind second change" $code "$said"; sysctl -qw net.ipv4.tcp_sack=1
		for part in 0.5 0.7 0.9 1.2; do
			fresh $fs; { sleep $part; swap "$bad"; } & apply; wait; judge "$fs $kind after $part s" $code "$said"
		done
		fresh $fs; $L tune apply --set sysctl.$K=2 --confirm-within 4s >/dev/null 2>&1; swap "$bad"
		for n in $(seq 60); do [ "$(sysctl -n $K)" = 0 ] && break; sleep 0.5; done
		is 0 "$fs $kind, not confirmed"; judge "$fs $kind, not confirmed" 1 "" watched
	done
done
umount $V; dmsetup remove f
`

func TestFailingDiskOnAKernelHost(t *testing.T) {
	out := onKernelHost(t, "back-to-back", "server1", failingDisk)
	if strings.Contains(out, "LACKS") {
		t.Skip("needs dmsetup, and the modules dm-flakey and brd for User-Mode Linux")
	}
	if n := strings.Count(out, ": apply "); n != 32 {
		t.Errorf("%d cases of 32", n)
	}
}

// realSystemd is the first process of a process namespace on that host; the changes are made
// beside it, as on a host that systemd booted.
const realSystemd = `
[ -x /lib/systemd/systemd ] || { echo LACKS; exit 0; }
cp $L /root/linerate || exit 1 # systemd gets a /tmp of its own, below which $L may lie
cat > /root/boot.sh <<'BOOT'
mount --make-rprivate /; mount -t proc proc /proc; mount -t tmpfs tmpfs /run; mount -t tmpfs tmpfs /tmp
mkdir -p /var/lib/linerate; mount -t tmpfs -o mode=700 none /var/lib/linerate
umount -l /sys/fs/cgroup 2>/dev/null; mount -t cgroup2 none /sys/fs/cgroup
printf '[Unit]\nDefaultDependencies=no\n' > /run/alone.target; mkdir -p /run/systemd/system; mv /run/alone.target /run/systemd/system
export container=lxc
exec /lib/systemd/systemd --system --unit=alone.target --log-target=null
BOOT
unshare --fork --pid --mount --cgroup sh /root/boot.sh &
for n in $(seq 100); do P=$(pgrep -x systemd | head -1); [ -n "$P" ] && [ -e /proc/$P/root/run/systemd/private ] && break; sleep 0.2; done
cat > /root/inside.sh <<'INSIDE'
L=$1; K=net.ipv4.tcp_mtu_probing
is() { [ "$(sysctl -n $K)" = $1 ] || echo "WRONG $2: the value is $(sysctl -n $K), not $1"; }
timers() { systemctl list-timers --all --no-pager --no-legend | grep -c linerate-watch; }
until_is() { for n in $(seq 120); do [ "$(sysctl -n $K)" = $1 ] && return; sleep 0.25; done; }
change() { $L tune apply --set sysctl.$K=2 --confirm-within $1 >/dev/null 2>&1; is 2 "$2, applied"; [ "$(timers)" = 1 ] || echo "WRONG $2: $(timers) timers"; }
sysctl -qw $K=0
change 8s unconfirmed; until_is 0; is 0 "unconfirmed, over"
case $($L tune confirm 2>&1) in *'too late'*) ;; *) echo "WRONG unconfirmed: confirmed all the same" ;; esac
echo "DID unconfirmed"
change 30s confirmed; $L tune confirm >/dev/null 2>&1 || echo "WRONG confirmed: $?"
[ "$(timers)" = 0 ] || echo "WRONG confirmed: the timer is left"; is 2 "confirmed"; $L tune undo >/dev/null 2>&1; is 0 "confirmed, undone"
echo "DID confirmed"
change 5s "timer stopped"; systemctl stop 'linerate-watch-*.timer'; sleep 6
case $($L tune confirm 2>&1) in *'too late'*) ;; *) echo "WRONG timer stopped: confirmed all the same" ;; esac
is 0 "timer stopped, the next linerate"; echo "DID timer stopped"
change 5s "watcher killed"; killed=0
for n in $(seq 600); do
	p=$(systemctl show -p MainPID --value 'linerate-watch-*.service' 2>/dev/null | grep -v '^0*$' | head -1)
	[ -n "$p" ] && kill -9 $p 2>/dev/null && killed=$((killed+1)); [ $killed -ge 3 ] && break; sleep 0.03
done
until_is 0; is 0 "watcher killed $killed times"; echo "DID killed $killed times"
INSIDE
nsenter -t $P -m -p -C -r -w sh /root/inside.sh /root/linerate
`

func TestSystemdTimerOnAKernelHost(t *testing.T) {
	out := onKernelHost(t, "back-to-back", "server1", realSystemd)
	if strings.Contains(out, "LACKS") {
		t.Skip("needs systemd")
	}
	if n := strings.Count(out, "DID "); n != 4 {
		t.Errorf("%d parts of 4", n)
	}
}

// startsSystem is what starts a host of the real world: it reads the files of sysctl, of udev and
// of systemd-networkd. The lab's own start reads none of them. state prints what is in force.
const startsSystem = `
command -v ethtool >/dev/null && [ -x /lib/systemd/systemd-networkd ] && [ -x /lib/systemd/systemd-udevd ] || { echo LACKS; exit 0; }
sysctl -q --system 2>/dev/null
/lib/systemd/systemd-udevd --daemon && udevadm trigger -c add -s net && udevadm settle
install -d -o systemd-network -g systemd-network /run/systemd/netif /run/systemd/netif/links /run/systemd/netif/leases
/lib/systemd/systemd-networkd >/dev/null 2>&1 &
for n in $(seq 100); do grep -qs NETWORK_FILE= /run/systemd/netif/links/* && break; sleep 0.2; done
state() { echo "$(sysctl -n $K) $(cat /sys/class/net/eth0/mtu) $(ethtool -k eth0 | grep ^generic-receive | cut -d ' ' -f 2)"; }
wants() { for n in $(seq 50); do [ "$(state)" = "$1" ] && break; sleep 0.2; done; [ "$(state)" = "$1" ] || echo "WRONG $2: $(state), not $1"; echo "DID $2: $(state)"; }
files() { cat /etc/sysctl.d/*linerate* /etc/udev/rules.d/*linerate* /etc/systemd/network/20-eth0.network.d/* 2>/dev/null; }
`

// keptFirst notes what the host is, and changes one setting for each program that reads files.
const keptFirst = `
mkdir -p /etc/systemd/network
printf '[Match]\nName=eth0\n[Network]\nAddress=10.10.0.2/24\nKeepConfiguration=yes\n' > /etc/systemd/network/20-eth0.network
` + startsSystem + `
state > /root/state; cat /root/state
sync # what this test keeps for itself outlasts the restart, too
$L tune apply --set sysctl.$K=2 --set link.mtu@eth0=1400 --set ethtool.features@eth0=rx-gro=off \
	--persist --confirm-within 0 2>&1 || echo "WRONG applied: $?"
wants "2 1400 off" applied; files
`

// keptAfter is the same host after a restart: what was kept is in force without linerate. Then
// everything is undone: no file is left, and what was read before the start is set again.
const keptAfter = startsSystem + `
wants "2 1400 off" "after a restart"
$L tune history; $L tune undo 2>&1 || echo "WRONG undone: $?"
[ -z "$(files)" ] || { echo "WRONG undone: files are left:"; files; }
case $($L tune undo 2>&1) in *'nothing to undo'*) ;; *) echo "WRONG undone: not all" ;; esac
echo "DID undo: $(state)"
`

// keptLast is the host after one more restart: as it was found.
const keptLast = startsSystem + `wants "$(cat /root/state)" "after the last restart"`

func TestPersistedKindsOnAKernelHost(t *testing.T) {
	out := onKernelHost(t, "back-to-back", "server1", keptFirst, keptAfter, keptLast)
	if strings.Contains(out, "LACKS") {
		t.Skip("needs ethtool, udev and systemd-networkd")
	}
	if n := strings.Count(out, "DID "); n != 4 {
		t.Errorf("%d parts of 4", n)
	}
}

// startsOther is the start of a host whose interfaces NetworkManager (eth0) and udev's .link files
// (eth1) set up, and whose modules take their parameters from files.
const startsOther = `
[ -x /lib/systemd/systemd-udevd ] && modprobe nfs || { echo LACKS; exit 0; }
C=/etc/NetworkManager/system-connections/data.nmconnection
ip addr flush dev eth0; ip link set eth0 down; ip link set eth1 down
mkdir -p /run/dbus; dbus-daemon --system --fork --nopidfile
/lib/systemd/systemd-udevd --daemon && udevadm trigger -c add -s net && udevadm settle
NetworkManager >/dev/null 2>&1
state() { echo "$(cat /sys/class/net/eth0/mtu) $(cat /sys/class/net/eth1/mtu) $(cat /sys/module/nfs/parameters/max_session_slots)"; }
wants() { for n in $(seq 50); do [ "$(state)" = "$1" ] && break; sleep 0.2; done; [ "$(state)" = "$1" ] || echo "WRONG $2: $(state), not $1"; echo "DID $2: $(state)"; }
files() { cat /etc/modprobe.d/*linerate* /etc/systemd/network/*linerate* 2>/dev/null; }
connected() { for n in $(seq 150); do nmcli -g GENERAL.CONNECTION device show eth0 2>/dev/null | grep -q data && return; sleep 0.2; done; echo "WRONG: NetworkManager does not set eth0 up"; nmcli device; }
`

const otherFirst = `
mkdir -p /etc/NetworkManager/system-connections
printf '[main]\nplugins=keyfile\n[keyfile]\nunmanaged-devices=interface-name:eth1\n' > /etc/NetworkManager/NetworkManager.conf
printf '[connection]\nid=data\nuuid=8f0c2a7e-1111-4c55-9c3c-0123456789ab\ntype=ethernet\ninterface-name=eth0\n\n[ipv4]\nmethod=manual\naddress1=10.30.2.20/24\n\n[ipv6]\nmethod=disabled\n' > /root/data
install -m 600 /root/data /etc/NetworkManager/system-connections/data.nmconnection
` + startsOther + `
connected; state > /root/state; cat /root/state
sync # what this test keeps for itself outlasts the restart, too
$L tune apply --set link.mtu@eth0=1400 --set link.mtu@eth1=1380 --set module.nfs.max_session_slots=32 \
	--persist --confirm-within 0 2>&1 || echo "WRONG applied: $?"
wants "1400 1380 32" applied; files; cat $C
`

const otherAfter = startsOther + `
connected; wants "1400 1380 32" "after a restart"
$L tune history; $L tune undo 2>&1 || echo "WRONG undone: $?"
[ -z "$(files)" ] || { echo "WRONG undone: files are left:"; files; }
cmp $C /root/data || echo "WRONG undone: the connection is another"
[ "$(stat -c %a $C)" = 600 ] || echo "WRONG undone: the connection's mode is another"
case $($L tune undo 2>&1) in *'nothing to undo'*) ;; *) echo "WRONG undone: not all" ;; esac
echo "DID undo: $(state)"
`

const otherLast = startsOther + `connected; wants "$(cat /root/state)" "after the last restart"`

func TestOtherPersistedKindsOnAKernelHost(t *testing.T) {
	labtest.Long(t)
	labtest.Needs(t, "NetworkManager", "dbus-daemon")
	out := onKernelHost(t, "dual-homed", "nas1", otherFirst, otherAfter, otherLast)
	if strings.Contains(out, "LACKS") {
		t.Skip("needs udev and the module nfs for User-Mode Linux")
	}
	if n := strings.Count(out, "DID "); n != 4 {
		t.Errorf("%d parts of 4", n)
	}
}
