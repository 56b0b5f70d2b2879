package fake

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func freebsdOIDs() map[string]oid {
	const most = 1 << 40
	return map[string]oid{
		"hw.ncpu": {fresh: "8", fixed: true}, "hw.physmem": {fresh: "68719476736", fixed: true}, "kern.ostype": {fresh: "FreeBSD", fixed: true},
		"kern.boottime":          {fresh: "{ sec = 1763971201, usec = 1234 } Mon Nov 24 08:00:01 2025", fixed: true},
		"kern.ipc.maxsockbuf":    {fresh: "2097152", loader: true, least: 2304, max: most},
		"net.inet.tcp.recvspace": {fresh: "65536", least: 1, max: most}, "net.inet.tcp.sendspace": {fresh: "32768", least: 1, max: most},
		"net.inet.tcp.recvbuf_max": {fresh: "2097152", least: 1, max: most}, "net.inet.tcp.sendbuf_max": {fresh: "2097152", least: 1, max: most},
		"net.inet.tcp.recvbuf_auto": {fresh: "1", max: 1}, "net.inet.tcp.sendbuf_auto": {fresh: "1", max: 1},
		"net.inet.tcp.delayed_ack": {fresh: "1", max: 1}, "net.inet.tcp.rfc1323": {fresh: "1", max: 1}, "net.inet.tcp.sack.enable": {fresh: "1", max: 1},
		"net.inet.tcp.cc.algorithm": {fresh: "cubic", words: []string{"newreno", "cubic"}},
		"net.inet.tcp.cc.available": {fresh: "\nCCmod           D PCB count\nnewreno                 0\ncubic           *      17", fixed: true},
		"kern.ipc.nmbclusters":      {fresh: "4042134", loader: true, grows: true, least: 1, max: most},
		"kern.ipc.nmbjumbop":        {fresh: "2021067", loader: true, grows: true, max: most}, "kern.ipc.nmbjumbo9": {fresh: "598834", loader: true, grows: true, max: most},
		"vfs.nfsd.minthreads": {fresh: "64", least: 1, max: 256}, "vfs.nfsd.maxthreads": {fresh: "64", least: 1, max: 256},
		"dev.ix.0.fc": {fresh: "3", max: 3}, "dev.ix.1.fc": {fresh: "3", fixed: true},
	}
}

func (h host) freebsd(name string, args []string) (string, int) {
	switch name {
	case "sysctl":
		if strings.Join(args, " ") == "-n -x kern.boot_id" {
			return "Format: Length:16 Dump:0x" + h.value("boot", "4c8609698ad1a11cdc00cf6eb7d954e1") + "\n", 0
		}
		return h.sysctl(freebsdOIDs(), "bdeFhiNnoqTtWx", args)
	case "ifconfig":
		return h.freebsdIfconfig(args)
	case "zfs":
		return h.illumos(name, args)
	case "nfsstat":
		if strings.Join(args, " ") == "-m" && h.value("uid", "0") != "0" {
			return "nfsstat: Only priviledged users can use the -m option\n", 1
		}
	case "at":
		if len(args) != 4 || strings.Join(args[:2], " ") != "now +" || args[3] != "minutes" {
			return "at: garbled time\n", 1
		}
		return "Job 5 will be executed using /bin/sh\n", 0
	}
	return exactly(name, args, map[string]string{
		"uname -s": "FreeBSD\n", "uname -m": "amd64\n", "uname -n": "freenas\n", "uname -r": "14.1-RELEASE-p5\n", "id -u": h.value("uid", "0") + "\n", "pgrep -x cron": "1234\n",
		"cat /boot/loader.conf": "zfs_load=\"YES\"\nkern.ipc.nmbclusters=\"2000000\"\n", "cat /etc/sysctl.conf": "# none\nnet.inet.tcp.recvbuf_inc=65536\n",
		"fails: cat /etc/exports": "cat: /etc/exports: No such file or directory\n",
		"mount -p":                "zroot/ROOT/default\t/\t\t\tzfs\trw,noatime,nfsv4acls\t0 0\ndevfs\t\t\t/dev\t\tdevfs\trw\t\t0 0\n10.0.0.9:/tank/media\t/mnt/media\tnfs\trw,noatime\t0 0\n",
		"netstat -i -b -d -n": `Name    Mtu Network       Address              Ipkts Ierrs Idrop     Ibytes    Opkts Oerrs     Obytes  Coll  Drop
ix0    1500 <Link#1>      a0:36:9f:00:00:01 74821398    12     3 8839283823 10829381     0 7283928372     0     0
ix0       - 10.0.0.0/24   10.0.0.8         74821000     -     - 8839280000 10829000     -  728392000     -     -
ix1*   1500 <Link#2>      a0:36:9f:00:00:02        0     0     0          0        0     0          0     0     0
lo0   16384 <Link#3>      lo0                   4219     0     0     349023     4219     0     349023     0     0
lagg0  1500 <Link#4>                               9     1     0        100       10     0        200     0     0
`,
		"nfsstat -m": "10.0.0.9:/tank/media on /mnt/media\nnfsv4,minorversion=2,tcp,resvport,nconnect=1,hard,cto,sec=sys,acdirmin=3,acdirmax=60,acregmin=5,acregmax=60,nametimeo=60,negnametimeo=60,rsize=65536,wsize=65536,readdirsize=65536,readahead=1,wcommitsize=8388608,timeout=120,retrans=2147483647\n",
		"netstat -s -p tcp": `tcp:
	10829381 packets sent
		9829381 data packets (7283928372 bytes)
		1290 data packets (1864930 bytes) retransmitted
		12 data packets unnecessarily retransmitted
	74821398 packets received
`,
	})
}

// freebsdIfconfig has ix0, ix1 that is down, and the loopback.
func (h host) freebsdIfconfig(args []string) (string, int) {
	if len(args) == 1 && args[0] == "-a" {
		return h.freebsdLink("ix0") + h.freebsdLink("ix1") + h.freebsdLink("lo0"), 0
	}
	if len(args) == 0 || h.freebsdLink(args[0]) == "" {
		return fmt.Sprintf("ifconfig: interface %s does not exist\n", strings.Join(args, " ")), 1
	}
	if len(args) == 1 {
		return h.freebsdLink(args[0]), 0
	}
	key := args[0] + ":"
	switch {
	case !slices.ContainsFunc(args[1:], func(a string) bool {
		return !slices.Contains([]string{"lro", "tso4", "tso6"}, strings.TrimPrefix(a, "-"))
	}):
		for _, a := range args[1:] {
			word := strings.TrimPrefix(a, "-")
			if err := h.write(key+word, map[bool]string{true: "on", false: "off"}[a == word]); err != nil {
				return fmt.Sprintf("ifconfig: %s: %v\n", a, err), 1
			}
		}
		return "", 0
	case len(args) == 3 && args[1] == "mtu":
		n, err := strconv.Atoi(args[2])
		if err == nil && (n < 72 || n > 9706) {
			err = errors.New("invalid argument")
		}
		if err == nil {
			err = h.write(key+"mtu", args[2])
		}
		if err != nil {
			return fmt.Sprintf("ifconfig: ioctl SIOCSIFMTU (set mtu): %v\n", err), 1
		}
		return "", 0
	}
	return fmt.Sprintf("ifconfig: %s: bad value\n", args[1]), 1
}

func (h host) freebsdLink(name string) string {
	flags := []string{"RXCSUM", "TXCSUM", "VLAN_MTU", "JUMBO_MTU"}
	for _, f := range []string{"tso4", "tso6", "lro"} {
		if h.value(name+":"+f, "on") == "on" {
			flags = append(flags, strings.ToUpper(f))
		}
	}
	head := func(state string) string {
		return fmt.Sprintf("%s: flags=1008843<%sBROADCAST,RUNNING,SIMPLEX,MULTICAST,LOWER_UP> metric 0 mtu %s\n\toptions=4e53fbb<%s>\n\tether a0:36:9f:00:00:01\n",
			name, state, h.value(name+":mtu", "1500"), strings.Join(flags, ","))
	}
	switch name {
	case "ix0":
		return head("UP,") + "\tinet 10.0.0.8 netmask 0xffffff00 broadcast 10.0.0.255\n\tinet6 fe80::a236:9fff:fe00:1%ix0 prefixlen 64 scopeid 0x1\n" +
			"\tmedia: Ethernet autoselect (10Gbase-SR <full-duplex,rxpause,txpause>)\n\tstatus: active\n\tnd6 options=21<PERFORMNUD,AUTO_LINKLOCAL>\n"
	case "ix1":
		return head("") + "\tmedia: Ethernet autoselect\n\tstatus: no carrier\n\tnd6 options=29<PERFORMNUD,IFDISABLED,AUTO_LINKLOCAL>\n"
	case "lo0":
		return "lo0: flags=1008049<UP,LOOPBACK,RUNNING,MULTICAST,LOWER_UP> metric 0 mtu 16384\n\toptions=680003<RXCSUM,TXCSUM,LINKSTATE,RXCSUM_IPV6,TXCSUM_IPV6>\n" +
			"\tinet6 ::1 prefixlen 128\n\tinet 127.0.0.1 netmask 0xff000000\n\tgroups: lo\n"
	}
	return ""
}
