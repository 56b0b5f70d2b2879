package snapshot

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// secret is one thing that identifies a host, in every form in which a host prints it, and
// the pieces of it that may be nowhere in a recording.
type secret struct {
	what   string
	forms  []string
	pieces []string
}

// secrets are planted anywhere.
func secrets() []secret {
	return []secret{
		{"a MAC", []string{"ac:1f:6b:d1:e2:f3", "AC:1F:6B:D1:E2:F3", "ac-1f-6b-d1-e2-f3", "ac1f.6bd1.e2f3", "enxac1f6bd1e2f3", "ac1f6bd1e2f3", "AC1F6BD1E2F3", "ac_1f_6b_d1_e2_f3", `ac\x2d1f\x2d6b\x2dd1\x2de2\x2df3`, "AC1F.6BD1.E2F3", "0xac1f6bd1e2f3", "ac1f6b-d1e2f3", "AC1F6B-D1E2F3"},
			[]string{"ac1f6b", "1f_6b", "6b_d1", `d1\x2de2`, "1F.6B", "6BD1", "1f:6b", "1F:6B", "1f-6b", "AC1F6B", "d1e2f3", "d1:e2:f3", "D1:E2:F3", "6bd1.e2f3", "d1-e2-f3"}},
		{"an IPv6 address made of a MAC", []string{"fe80::ae1f:6bff:fed1:e2f3", "FE80::AE1F:6BFF:FED1:E2F3", "fe80:0000:0000:0000:ae1f:6bff:fed1:e2f3", "fe80::ae1f:6bff:fed1:e2f3%eth0", "[fe80::ae1f:6bff:fed1:e2f3]:2049",
			"2a00:1450:4001:81b:ae1f:6bff:fed1:e2f3/64", "fd12:3456:789a:1:ae1f:6bff:fed1:e2f3", "fe80::ae1f:6bff:fed1:e2f3:", "ae1f6bfffed1e2f3", "fe80000000000000ae1f6bfffed1e2f3", "20010db8000000000000000000000001ae1f6bfffed1e2f3", "ae:1f:6b:ff:fe:d1:e2:f3", "ff02::1:ffd1:e2f3"},
			[]string{"6bff", "6BFF", "fed1", "FED1", "e2f3", "E2F3", "2a00:1450"}},
		{"an IPv6 address", []string{"2a00:1450:4001:81b:9c3e:77d2:1b4a:5f60", "2a00:1450:4001:81b:9c3e:77d2:1b4a:5f60/128", "2A00:1450:4001:81B:9C3E:77D2:1B4A:5F60", "fe80::9c3e:77d2:1b4a:5f60", "2a00:1450:4001:81b:9c3e:77d2:1b4a:5f60:"},
			[]string{"2a00:1450", "2A00:1450", "77d2", "77D2", "5f60", "5F60"}},
		{"a public IPv4 address", []string{"8.8.37.41", "8.8.37.41/24", "::ffff:8.8.37.41", "8.8.37.41:2049", "addr=8.8.37.41,", "::ffff:808:2529", "[::ffff:8.8.37.41]:2049"}, []string{"8.8.37", "808:2529"}},
		{"an InfiniBand address", []string{"80:00:02:08:fe:80:00:00:00:00:00:00:e4:1d:2d:03:00:a5:b6:c7", "e4:1d:2d:03:00:a5:b6:c7"}, []string{"e4:1d", "1d:2d", "a5:b6", "b6:c7"}},
		{"a UUID", []string{"7d3a91c4-5be0-4f21-9a6e-c0ffee123456", "7D3A91C4-5BE0-4F21-9A6E-C0FFEE123456", "dm-uuid-LVM-7d3a91c4-5be0-4f21-9a6e-c0ffee123456", "pod7d3a91c4_5be0_4f21_9a6e_c0ffee123456.slice", "UUID=7d3a91c4-5be0-4f21-9a6e-c0ffee123456",
			"7d3a91c45be04f219a6ec0ffee123456", "7d3a91c4:5be04f21:9a6ec0ff:ee123456", "CRYPT-LUKS2-7d3a91c45be04f219a6ec0ffee123456-data", `dev-disk-by\x2duuid-7d3a91c4\x2d5be0\x2d4f21\x2d9a6e\x2dc0ffee123456.swap`, "7d3a91-c45b-e04f-219a-6ec0-ffee-123456", "LVM-7d3a91c45be04f219a6ec0ffee123456zQ3a91c45be04f219a6ec0ffee123456", "{7d3a91c4-5be0-4f21-9a6e-c0ffee123456}"},
			[]string{"7d3a91", "7D3A91", "c0ffee", "C0FFEE", "ee123456", "ffee-1234"}},
		{"a world wide name", []string{"0x5000c500a1b2c3d4", "5000c500a1b2c3d4", "naa.5000c500a1b2c3d4", "eui.0025385a1b2c3d4e", "wwn-0x5000c500a1b2c3d4-part1", "0x5000C500A1B2C3D4", "50:00:c5:00:a1:b2:c3:d4", "naa.5000C500A1B2C3D4", `wwn\x2d0x5000c500a1b2c3d4`, "0x5000c500a1b2c3d4:0x0000000000000000", "3600144f0a1b2c3d4e5f60718293a4b5c", "36001405a1b2c3d4e5f60718293a4b5c6"},
			[]string{"a1b2c3", "A1B2C3", "a1:b2", "5a1b2c"}},
		{"a serial number in a disk's name", []string{"ata-WDC_WD40EFRX-68N32N0_WD-WCC7K0XYZ123", "nvme-Samsung_SSD_970_EVO_S466NXYZ123", "scsi-SATA_ST4000_ZXYZ123-part2", "nvme.144d-5334363658595a313233-53616d73756e67-00000001", "t10.ATA_ST4000_ZXYZ123"},
			[]string{"XYZ123", "58595a"}},
		{"an iSCSI or NVMe name", []string{"iqn.2019-05.corp.secretfirm:lun0", "nqn.2014-08.org.nvmexpress:uuid:7d3a91c4-5be0-4f21-9a6e-c0ffee123456", "nqn.2019-05.corp.secretfirm:sub1"}, []string{"secretfirm", "7d3a91"}},
		{"a container", []string{"docker-4f2aa1b2c3d4e5f60718293a4b5c6d7e8f901234567890abcdef0123456789ab.scope"}, []string{"4f2aa1", "89ab"}},
	}
}

// places are files of every line of Kept that hold text from the host, by name.
func places() []string {
	return []string{
		"proc/net/bonding/bond0", "proc/net/stat/nf_conntrack", "proc/18/cgroup", "proc/fs/cifs/DebugData", "proc/modules",
		"sys/class/net/eth0/address", "sys/class/block/sda/device/model", "sys/class/iscsi_session/session1/targetname", "sys/bus/pci/devices/0000:3b:00.0/label",
		"sys/module/zfs/version", "netlink/links.json", "netlink/addrs.json", "netlink/routes.json", "netlink/conns.json", "tools/zpool-list", "tools/zfs-get", firewallFile,
		"dev/disk/by-label/x@", "sys/class/block/dm-0@", "proc/sys/net/ipv4/conf/eth0/rp_filter",
	}
}

// Wherever one secret stands, in whatever form, alone or with words around it, neither names
// nor texts of the recording hold it.
func TestNoSecretStays(t *testing.T) {
	for _, x := range secrets() {
		for _, form := range x.forms {
			files := map[string][]byte{"sys/class/net/eth9/address": []byte("ac:1f:6b:d1:e2:f3\n")}
			for i, place := range places() {
				files[place] = fmt.Appendf(nil, []string{"%s\n", "x: %s, y\n", "\"%s\"\n", "key=%s key\n", "one\ttwo %s\nthree\n"}[i%5], form)
			}
			if !strings.ContainsAny(form, "/\n") {
				files["dev/disk/by-label/"+form+linkMark] = []byte("../../sda\n")
				files["sys/fs/cgroup/"+form+"/cpu.stat"] = []byte("usage_usec 1\n")
			}
			for _, names := range []Names{KeepNames, HideNames} {
				for name, text := range Redact(files, names) {
					if name == portsFile {
						continue
					}
					for _, piece := range x.pieces {
						switch {
						case strings.Contains(name, piece) && !strings.Contains(form, ":") && strings.Count(form, ".") != 3:
							t.Errorf("%s, %s: the name %s", x.what, form, name)
						case strings.Contains(string(text), piece):
							t.Errorf("%s, %s: %s holds %q", x.what, form, name, text)
						}
					}
				}
			}
		}
	}
}

// A number of a device is replaced in its file and wherever else it stands.
func TestSerialNumbers(t *testing.T) {
	for _, file := range []string{"sys/class/block/sda/device/serial", "sys/block/sda/wwid", "sys/block/sda/device/vpd_pg80", "sys/devices/virtual/dmi/id/product_serial", "sys/block/dm-0/dm/uuid", "sys/block/md0/md/uuid", "sys/class/net/eth0/phys_switch_id"} {
		got := Redact(map[string][]byte{file: []byte("QX  77R  ABCD\n"), "tools/zpool-list": []byte("tank\n\tdisk_QX_77R_ABCD\n"), "sys/class/block/x/name": []byte("QX  77R  ABCD\n")}, KeepNames)
		for name, text := range got {
			if strings.Contains(string(text), "77R") || strings.Contains(string(text), "ABCD") {
				t.Errorf("%s: %s holds %q", file, name, text)
			}
		}
		if len(got) != 3 {
			t.Errorf("%s: %d files", file, len(got))
		}
	}
}

// What names a server or its domain is taken out of what the SMB client tells.
func TestSessions(t *testing.T) {
	text := "Servers:\n1) ConnectionId: 0x1 Hostname: nas1.secretfirm.example\nClientGUID: 7D3A91C4\nNumber of credits: 512\n1) Address: 10.0.0.5 Uses: 1\n2) Name: nas1 Domain: SECRETFIRM Uses: 1 OS: Windows\n\tShares:\n\t1) \\\\nas1.secretfirm\\film Mounts: 1\n"
	got := string(Redact(map[string][]byte{"proc/fs/cifs/DebugData": []byte(text)}, KeepNames)["proc/fs/cifs/DebugData"])
	for _, no := range []string{"nas1", "secretfirm", "SECRETFIRM", "7D3A91C4"} {
		if strings.Contains(got, no) {
			t.Errorf("%q is in %s", no, got)
		}
	}
	for _, yes := range []string{"ConnectionId:", "Number of credits: 512", "1) Address: 10.0.0.5 ", "film"} {
		if !strings.Contains(got, yes) {
			t.Errorf("%q is gone from %s", yes, got)
		}
	}
}

// With HideNames no name that somebody gave is left; the names of the kernel are.
func TestHideNames(t *testing.T) {
	files := map[string][]byte{
		"netlink/links.json":                                    []byte(`[{"index":2,"name":"eth0","mtu":1500},{"index":3,"name":"payroll0","mtu":9000}]`),
		"netlink/ports.json":                                    []byte(`{"eth0":{},"payroll0":{}}`),
		"sys/class/net/payroll0/carrier_changes":                []byte("1\n"),
		"sys/class/net/eth0/carrier_changes":                    []byte("1\n"),
		"proc/sys/net/ipv4/conf/payroll0/rp_filter":             []byte("2\n"),
		"proc/self/mountinfo":                                   []byte("90 22 0:60 / /mnt/merger rw - nfs4 corp:/export/layoffs rw,vers=4.2,addr=10.0.0.5\n"),
		"etc/fstab":                                             []byte("corp:/export/layoffs /mnt/merger nfs nconnect=4 0 0\n"),
		"proc/spl/kstat/zfs/salaries/state":                     []byte("ONLINE\n"),
		"tools/zfs-get":                                         []byte("salaries/board-room\trecordsize\t131072\tdefault\n"),
		"tools/zpool-list":                                      []byte("salaries\n\tmirror-0\n\t\tsda\n"),
		"proc/18/cgroup":                                        []byte("0::/system.slice/blackmail.service\n"),
		"sys/fs/cgroup/system.slice/blackmail.service/cpu.stat": []byte("usage_usec 1\n"),
		hostFilesFile:                                           []byte(`{"os":"linux","files":{"/etc/rc.local":"ip link set payroll0 mtu 9000\n"}}`),
		firewallFile:                                            []byte(`[{"table":"merger"}]`),
	}
	got := Redact(files, HideNames)
	all := ""
	for _, name := range slices.Sorted(maps.Keys(got)) {
		all += name + "\n" + string(got[name])
	}
	for _, no := range []string{"payroll", "merger", "layoffs", "salaries", "board", "blackmail", "corp"} {
		if strings.Contains(all, no) {
			t.Errorf("%q is in\n%s", no, all)
		}
	}
	for _, yes := range []string{`"name":"eth0"`, "sys/class/net/eth0/carrier_changes", "system.slice", " - nfs4 server:/", "vers=4.2", "recordsize\t131072", "/mnt/name"} {
		if !strings.Contains(all, yes) {
			t.Errorf("%q is gone from\n%s", yes, all)
		}
	}
	if len(got) != len(files)-2 {
		t.Errorf("%d files of %d", len(got), len(files))
	}
}

// The list of what is kept has every file that a recording of a real host holds, and each
// of its lines stands in the manual.
func TestKeptIsComplete(t *testing.T) {
	hosts, err := filepath.Glob("../../../testdata/hosts/*/*.txtar")
	if err != nil || len(hosts) == 0 {
		t.Fatal(hosts, err)
	}
	for _, host := range hosts {
		a, err := txtar.ParseFile(host)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range a.Files {
			if !isKept(f.Name) && f.Name != "proc/self/mountstats" {
				t.Errorf("%s: %s is in no line of Kept", host, f.Name)
			}
		}
	}
	manual, err := os.ReadFile("../../../docs/check.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range Kept() {
		if line := fmt.Sprintf("| `%s` | %s | %s |\n", k.Files, k.What, k.Names); !strings.Contains(string(manual), line) {
			t.Errorf("docs/check.md lacks %s", line)
		}
	}
	for _, name := range []string{"etc/shadow", "proc/1/environ", "root/.ssh/id_ed25519", "proc/keys", "var/log/messages"} {
		if isKept(name) {
			t.Errorf("%s is kept", name)
		}
	}
}
