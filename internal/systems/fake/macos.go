package fake

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func macosOIDs() map[string]oid {
	const most = 1 << 30
	return map[string]oid{
		"hw.ncpu": {fresh: "12", fixed: true}, "hw.memsize": {fresh: "34359738368", fixed: true}, "kern.ostype": {fresh: "Darwin", fixed: true},
		"kern.bootsessionuuid":   {fresh: "6E2A3B0C-5B5D-4C9B-9F0E-0A1B2C3D4E5F", fixed: true},
		"kern.ipc.maxsockbuf":    {fresh: "8388608", least: 4096, max: most},
		"net.inet.tcp.sendspace": {fresh: "131072", least: 1, max: most}, "net.inet.tcp.recvspace": {fresh: "131072", least: 1, max: most},
		"net.inet.tcp.autorcvbufmax": {fresh: "4194304", least: 1, max: most}, "net.inet.tcp.autosndbufmax": {fresh: "4194304", least: 1, max: most},
		"net.inet.tcp.doautorcvbuf": {fresh: "1", max: 1}, "net.inet.tcp.doautosndbuf": {fresh: "1", max: 1},
		"net.inet.tcp.delayed_ack": {fresh: "3", max: 3}, "net.inet.tcp.win_scale_factor": {fresh: "3", max: 14},
		"net.inet.tcp.mssdflt": {fresh: "512", max: 1460}, "net.inet.tcp.use_newreno": {fresh: "0", max: 1}, "net.inet.tcp.cubic_tcp_friendliness": {fresh: "0", fixed: true},
	}
}

// nettop is one connection of the kernel's, over which so much moves that each look sees 10 MB more a second.
func nettop(idle string) string {
	out := int64(0)
	if idle == "0" {
		out = time.Now().UnixMilli() * 10_000
	}
	return "time,,interface,state,bytes_in,bytes_out,rx_dupe,rx_ooo,re-tx,rtt_avg,rcvsize,tx_win,tc_class,tc_mgt,cc_algo,P,C,R,W,arch,\n" +
		fmt.Sprintf("12:00:00.100000,kernel_task.0,,,4096,%d,0,0,0,,,,,,,,,,,,\n", out) +
		fmt.Sprintf("12:00:00.100001,tcp4 10.0.0.7:50100<->10.0.0.9:445,en0,Established,4096,%d,0,0,%d,20.00 ms,131072,262144,BE,-,cubic,-,-,-,-,so,\n", out, out/1000)
}

func (h host) macos(name string, args []string) (string, int) {
	switch name {
	case "sysctl":
		return h.sysctl(macosOIDs(), "bdehiNnoqx", args)
	case "networksetup":
		return h.networksetup(args)
	case "launchctl":
		return h.launchctl(args)
	case "nettop":
		if strings.Join(args, " ") != "-L 1 -n -x -m tcp" {
			return "nettop: usage\n", 64
		}
		return nettop(h.value("nettop", "0")), 0
	}
	en0 := fmt.Sprintf("en0: flags=8863<UP,BROADCAST,SMART,RUNNING,SIMPLEX,MULTICAST> mtu %s\n", h.value("mtu", "1500")) +
		"\toptions=567<RXCSUM,TXCSUM,VLAN_MTU,TSO4,TSO6,AV>\n\tether 00:3e:e1:00:00:01\n\tinet6 fe80::1c5b:22ff:fe00:1%en0 prefixlen 64 secured scopeid 0x4\n" +
		"\tinet 10.0.0.7 netmask 0xffffff00 broadcast 10.0.0.255\n\tnd6 options=201<PERFORMNUD,DAD>\n\tmedia: autoselect (10Gbase-T <full-duplex,flow-control>)\n\tstatus: active\n"
	return exactly(name, args, map[string]string{
		"uname -s": "Darwin\n", "uname -m": "arm64\n", "uname -n": "macmini.local\n", "uname -r": "24.1.0\n", "id -u": h.value("uid", "0") + "\n", "sw_vers -productVersion": "15.1\n",
		"ifconfig en0": en0,
		"ifconfig -a": "lo0: flags=8049<UP,LOOPBACK,RUNNING,MULTICAST> mtu 16384\n\toptions=1203<RXCSUM,TXCSUM,TXSTATUS,SW_TIMESTAMP>\n\tinet 127.0.0.1 netmask 0xff000000\n" +
			en0 + "en1: flags=8863<UP,BROADCAST,SMART,RUNNING,SIMPLEX,MULTICAST> mtu 1500\n\tether 00:3e:e1:00:00:02\n\tmedia: autoselect (<unknown type>)\n\tstatus: inactive\n" +
			"utun0: flags=8051<UP,POINTOPOINT,RUNNING,MULTICAST> mtu 1380\n\tinet6 fe80::42:1%utun0 prefixlen 64 scopeid 0x12\n",
		"netstat -i -b -d -n": `Name       Mtu   Network       Address            Ipkts Ierrs     Ibytes    Opkts Oerrs     Obytes  Coll Drop
lo0        16384 <Link#1>                         80211     0   12899221    80211     0   12899221     0    0
en0        1500  <Link#4>    00:3e:e1:00:00:01 74821398     5 8839283823 10829381     0 7283928372     0    0
en0        1500  10.0.0/24     10.0.0.7        74821398     - 8839283823 10829381     - 7283928372     -    -
`,
		"netstat -s -p tcp": `tcp:
	10829381 packets sent
		9829381 data packets (7283928372 bytes)
		1290 data packets (1864930 bytes) retransmitted
	74821398 packets received
`,
		"mount": "/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)\ndevfs on /dev (devfs, local, nobrowse)\nmap auto_home on /System/Volumes/Data/home (autofs, automounted, nobrowse)\n" +
			"10.0.0.9:/tank/media on /Volumes/media (nfs, nodev, nosuid, mounted by anna)\n//anna@nas.local/my%20projects on /Volumes/my projects (smbfs, nodev, nosuid, mounted by anna)\n",
		"nfsstat -m": `/Volumes/media from 10.0.0.9:/tank/media
  -- Original mount options:
     General mount flags: 0x0
     NFS parameters: vers=3,tcp,rsize=1048576
     File system locations:
       /tank/media @ 10.0.0.9 (10.0.0.9)
  -- Current mount parameters:
     General mount flags: 0x4000018 nodev,nosuid,multilabel
     NFS parameters: vers=3,tcp,port=2049,nomntudp,hard,nointr,noresvport,negnamecache,callumnt,locks,quota,rsize=131072,wsize=32768,readahead=16,dsize=32768,rdirplus,nodumbtimer,timeo=10,maxgroups=16,acregmin=5,acregmax=60,acdirmin=5,acdirmax=60,nomutejukebox,sec=sys
     File system locations:
       /tank/media @ 10.0.0.9 (10.0.0.9)
     Current location: 0x1 0 0 1:
       /tank/media @ 10.0.0.9 (10.0.0.9)
     Status flags: 0x0
`,
		"smbutil statshares -a": `
==================================================================================================
SHARE                         ATTRIBUTE TYPE                VALUE
==================================================================================================
my projects                   
                              SERVER_NAME                   nas.local
                              USER_ID                       501
                              SMB_NEGOTIATE                 SMBV_NEG_SMB1_ENABLED
                              SMB_NEGOTIATE                 SMBV_NEG_SMB2_ENABLED
                              SMB_NEGOTIATE                 SMBV_NEG_SMB3_ENABLED
                              SMB_VERSION                   SMB_3.1.1
                              SMB_SHARE_TYPE                DISK
                              SIGNING_SUPPORTED             TRUE
                              SIGNING_ON                    TRUE

--------------------------------------------------------------------------------------------------
`,
		"fails: cat /etc/sysctl.conf": "cat: /etc/sysctl.conf: No such file or directory\n",
		"cat /etc/nsmb.conf":          "[default]\nsigning_required=no\n",
	})
}

func (h host) networksetup(args []string) (string, int) {
	switch {
	case len(args) == 2 && args[0] == "-getMTU" && args[1] == "en0":
		mtu := h.value("mtu", "1500")
		return "Active MTU: " + mtu + " (Current Setting: " + mtu + ")\n", 0
	case len(args) == 3 && args[0] == "-setMTU" && args[1] == "en0":
		n, err := strconv.Atoi(args[2])
		if err != nil || n < 1280 || n > 9000 {
			return "** Error: " + args[2] + " is not a valid MTU.\n", 4
		}
		if err := h.write("mtu", args[2]); err != nil {
			return "** Error: " + err.Error() + "\n", 14
		}
		return "", 0
	case len(args) == 1 && args[0] == "-listallhardwareports":
		return "\nHardware Port: Ethernet\nDevice: en0\nEthernet Address: 00:3e:e1:00:00:01\n\nHardware Port: Thunderbolt Ethernet Slot 1\nDevice: en1\nEthernet Address: 00:3e:e1:00:00:02\n", 0
	}
	return "** Error: The parameters were not valid.\n", 4
}

// launchctl keeps jobs by their labels, which stand in their files.
func (h host) launchctl(args []string) (string, int) {
	label := ""
	if len(args) == 3 && args[0] == "bootstrap" && args[1] == "system" {
		b, err := os.ReadFile(args[2])
		if err != nil {
			return "Bootstrap failed: 5: Input/output error\n", 5
		}
		_, rest, _ := strings.Cut(string(b), "<key>Label</key>")
		_, rest, _ = strings.Cut(rest, "<string>")
		label, _, _ = strings.Cut(rest, "</string>")
		if label == "" || !strings.Contains(string(b), "<key>ProgramArguments</key>") {
			return "Bootstrap failed: 5: Input/output error\n", 5
		}
		if err := h.write("job:"+label, args[2]); err != nil {
			return "Bootstrap failed: 1: Operation not permitted\n", 1
		}
		return "", 0
	}
	if len(args) == 2 {
		label, _ = strings.CutPrefix(args[1], "system/")
	}
	have := label != "" && h.value("job:"+label, "") != ""
	switch {
	case len(args) == 2 && args[0] == "print" && have:
		return "system/" + label + " = {\n\tstate = not running\n}\n", 0
	case len(args) == 2 && args[0] == "bootout" && have:
		if err := os.Remove(filepath.Join(h.state, "job:"+label)); err != nil {
			return "Boot-out failed: 1: " + err.Error() + "\n", 1
		}
		return "", 0
	case len(args) == 2 && (args[0] == "print" || args[0] == "bootout"):
		return "Could not find service \"" + label + "\" in domain for system\n", 113
	}
	return "Unrecognized subcommand: " + strings.Join(args, " ") + "\n", 64
}
