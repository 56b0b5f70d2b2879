package snapshot

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strings"
)

// forms are the forms in which a host prints what identifies it.
type forms struct {
	mac, dashed, scored, cisco, enx, guid, iqn, uuid, lvm, wwn, disk, long, ip4, ip6 *regexp.Regexp
}

func newForms() forms {
	return forms{
		mac:    regexp.MustCompile(`(?i)\b(?:[0-9a-f]{2}:){5}[0-9a-f]{2}\b`),
		dashed: regexp.MustCompile(`(?i)\b(?:[0-9a-f]{2}-){5}[0-9a-f]{2}\b`),
		scored: regexp.MustCompile(`(?i)(?:[0-9a-f]{2}_){5}[0-9a-f]{2}`),
		cisco:  regexp.MustCompile(`(?i)\b[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}\b`),
		// An interface that udev(7) names after its MAC.
		enx: regexp.MustCompile(`(?i)enx([0-9a-f]{12})`),
		// Addresses of more than 6 bytes: InfiniBand's, FireWire's.
		guid: regexp.MustCompile(`(?i)\b(?:[0-9a-f]{2}:){6,}[0-9a-f]{2}\b`),
		iqn:  regexp.MustCompile(`(?:[ein]qn\.[0-9]{4}-[0-9]{2}\.|eui\.|naa\.|t10\.|nvme\.[0-9a-f]{4}-)[^\s,"/@]+`),
		uuid: regexp.MustCompile(`(?i)[0-9a-f]{8}[-_:][0-9a-f]{4}[-_:][0-9a-f]{4}[-_:][0-9a-f]{4}[-_:][0-9a-f]{12}|(?:[0-9a-f]{8}:){3}[0-9a-f]{8}`),
		// The ids of LVM, alone and as the device mapper prints a group's and a volume's together.
		lvm: regexp.MustCompile(`\b[A-Za-z0-9]{6}(?:-[A-Za-z0-9]{4}){5}-[A-Za-z0-9]{6}\b|LVM-[A-Za-z0-9]{32,}`),
		// World wide names (NAA 2, 3, 5, 6), as SCSI and multipath print them.
		wwn: regexp.MustCompile(`(?i)\b(?:0x|3)?(?:[25][0-9a-f]{15}|[36][0-9a-f]{31})\b`),
		// Names below /dev/disk/by-id, which end in a serial number.
		disk: regexp.MustCompile(`\b(?:ata|scsi|nvme|usb|virtio|wwn|mmc|dm-uuid|md-uuid|lvm-pv-uuid)-[^\s,"/@]{4,}`),
		// Containers, and UUIDs without marks, such as a machine's id and that of an encrypted disk.
		long: regexp.MustCompile(`(?i)[0-9a-f]{32,}`),
		ip4:  regexp.MustCompile(`\b[0-9]{1,3}(?:\.[0-9]{1,3}){3}\b`),
		ip6:  regexp.MustCompile(`(?:\b[0-9A-Fa-f]{1,4}|::[0-9A-Fa-f]{1,4})(?::[0-9A-Fa-f]{0,4}){1,7}`),
	}
}

// identityFile tells files by the ends of their names whose whole text is one thing's own number.
func identityFile(name string) bool {
	return slices.Contains([]string{"serial", "wwid", "uuid", "nguid", "eui", "unique_id", "vpd_pg80", "vpd_pg83", "machine-id",
		"product_serial", "product_uuid", "board_serial", "chassis_serial", "chassis_asset_tag", "board_asset_tag", "product_asset_tag",
		"subsysnqn", "hostnqn", "hostid", "phys_switch_id", "phys_port_id", "node_guid", "sys_image_guid"}, path.Base(name))
}

// gather learns what is to be replaced wherever it stands: numbers that a file holds, and
// the MACs that are printed without marks between their bytes elsewhere.
func (r *redactor) gather(name string, text []byte) {
	if serial := strings.TrimSpace(string(text)); identityFile(name) && len(serial) >= 4 {
		r.known[serial] = r.serial(serial)
		r.known[strings.Join(strings.Fields(serial), "_")] = r.serial(serial) // as udev(7) writes it
	}
	for _, s := range []string{unescaped(name), unescaped(string(text))} {
		for _, re := range []*regexp.Regexp{r.forms.mac, r.forms.dashed, r.forms.scored} {
			for _, m := range re.FindAllString(s, -1) {
				r.mac(strings.NewReplacer("-", ":", "_", ":").Replace(m))
			}
		}
		for _, m := range r.forms.enx.FindAllStringSubmatch(s, -1) {
			r.mac(colons(m[1]))
		}
		for _, a := range r.forms.ip6.FindAllString(s, -1) {
			if a, err := netip.ParseAddr(strings.TrimRight(a, ":")); err == nil {
				if m, ok := macOf(a.As16()); ok && a.Is6() {
					r.mac(m)
				}
			}
		}
	}
}

// learned makes one replacement of all that was gathered: MACs without marks, also within
// the id that IPv6 makes of one, and numbers of devices. The longest comes first.
func (r *redactor) learned() {
	for mac, instead := range r.macs {
		for _, spelled := range []func(string) string{bare, halves, scored, eui} {
			r.known[spelled(mac)], r.known[strings.ToUpper(spelled(mac))] = spelled(instead), spelled(instead)
		}
	}
	var words []string
	for w := range r.known {
		words = append(words, w)
	}
	slices.SortFunc(words, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, w := range words {
		pairs = append(pairs, w, r.known[w])
	}
	r.words = strings.NewReplacer(pairs...)
}

// unescaped writes the marks within numbers as themselves: systemd.unit(5) escapes them in the
// names of units and control groups, and JSON what systemd wrote.
func unescaped(s string) string {
	if !strings.Contains(s, `\x`) {
		return s
	}
	return strings.NewReplacer(`\\x2d`, "-", `\x2d`, "-", `\\x3a`, ":", `\x3a`, ":").Replace(s)
}

// ids replaces what identifies hardware and volumes within a text.
func (r *redactor) ids(s string) string {
	f := r.forms
	s = unescaped(s)
	s = f.iqn.ReplaceAllStringFunc(s, r.iqn)
	s = f.disk.ReplaceAllStringFunc(s, r.disk)
	s = r.words.Replace(s)
	s = f.uuid.ReplaceAllStringFunc(s, r.uuid)
	s = f.lvm.ReplaceAllStringFunc(s, r.serial)
	s = f.guid.ReplaceAllStringFunc(s, r.guid)
	s = f.mac.ReplaceAllStringFunc(s, r.mac)
	s = f.dashed.ReplaceAllStringFunc(s, func(m string) string {
		return strings.ReplaceAll(r.mac(strings.ReplaceAll(m, "-", ":")), ":", "-")
	})
	s = f.cisco.ReplaceAllStringFunc(s, func(m string) string {
		mac := colons(strings.ReplaceAll(m, ".", ""))
		if instead, ok := r.macs[mac]; ok {
			b := bare(instead)
			return b[:4] + "." + b[4:8] + "." + b[8:]
		}
		return m
	})
	s = f.long.ReplaceAllStringFunc(s, r.serial)
	return f.wwn.ReplaceAllStringFunc(s, r.serial)
}

func (r *redactor) mac(s string) string {
	s = strings.ToLower(s)
	if s == "00:00:00:00:00:00" || s == "ff:ff:ff:ff:ff:ff" || strings.HasPrefix(s, "02:00:5e:") {
		return s // means none, or all, or is a substitute
	}
	if r.macs[s] == "" {
		n := len(r.macs) + 1
		r.macs[s] = fmt.Sprintf("02:00:5e:%02x:%02x:%02x", n>>16&255, n>>8&255, n&255)
	}
	return r.macs[s]
}

// guid keeps the length of a long address; of InfiniBand's the queue pair stays as well.
func (r *redactor) guid(s string) string {
	if strings.Trim(s, "0:") == "" || strings.Trim(strings.ToLower(s), "f:") == "" {
		return s
	}
	n := r.number("guid " + strings.ToLower(s))
	return strings.Repeat("00:", strings.Count(s, ":")-2) + fmt.Sprintf("%02x:%02x:%02x", n>>16&255, n>>8&255, n&255)
}

func (r *redactor) iqn(s string) string {
	if strings.HasPrefix(s, "iqn.2001-04.com.example:t") {
		return s
	}
	if r.iqns[s] == "" {
		r.iqns[s] = fmt.Sprintf("iqn.2001-04.com.example:t%d", len(r.iqns)+1)
	}
	return r.iqns[s]
}

func (r *redactor) uuid(s string) string {
	return fmt.Sprintf("00000000-0000-4000-8000-%012x", r.number("uuid "+strings.ToLower(s)))
}

func (r *redactor) serial(s string) string {
	return fmt.Sprintf("serial-%d", r.number("serial "+strings.ToLower(strings.TrimPrefix(s, "0x"))))
}

// disk keeps the kind of a disk's name and its partition.
func (r *redactor) disk(s string) string {
	kind, rest, _ := strings.Cut(s, "-")
	if !strings.ContainsAny(rest, "0123456789") {
		return s // such as virtio-ports
	}
	part := ""
	if i := strings.LastIndex(rest, "-part"); i >= 0 {
		rest, part = rest[:i], rest[i:]
	}
	return fmt.Sprintf("%s-disk%d%s", kind, r.number("disk "+rest), part)
}

// number counts things: the same has the same number.
func (r *redactor) number(thing string) int {
	if r.numbers[thing] == 0 {
		r.numbers[thing] = len(r.numbers) + 1
	}
	return r.numbers[thing]
}

// addr replaces what an address tells of its owner. Private and special networks are kept,
// others mapped to 198.18.0.0/15 (RFC 2544) and 2001:db8::/32 (RFC 3849). The interface id
// of an IPv6 address is replaced in every network, unless it is one of a person's choice,
// below ::1:0.
func (r *redactor) addr(s string) string {
	a, err := netip.ParseAddr(strings.TrimRight(s, ":"))
	end := s[len(strings.TrimRight(s, ":")):]
	if err != nil { // such as fe80::, whose end is its own
		a, err = netip.ParseAddr(s)
		end = ""
	}
	if err != nil || isExample(a) {
		return s
	}
	if a.Is4() || a.Is4In6() {
		if a = a.Unmap(); !a.IsGlobalUnicast() || a.IsPrivate() || isExample(a) {
			return s
		}
		n, b := r.net(a, 24), a.AsSlice()
		return netip.AddrFrom4([4]byte{198, 18 + byte(n>>8)&1, byte(n), b[3]}).String() + end
	}
	b := a.As16()
	if b[0] == 0xff {
		// The address of a solicited node ends as the node's own does (RFC 4291, 2.7.1).
		if b[11] == 1 && b[12] == 0xff {
			b[13], b[14], b[15] = 0, 0, 0
		}
		return shorter(b, a) + end
	}
	if a.IsGlobalUnicast() && !a.IsPrivate() {
		n := r.net(a, 64)
		copy(b[:8], []byte{0x20, 1, 0xd, 0xb8, 0, 0, byte(n >> 8), byte(n)})
	}
	if bits := b[8:14]; a.IsLoopback() || a.IsUnspecified() || strings.Trim(string(bits), "\x00") == "" {
		return shorter(b, a) + end
	}
	if mac, ok := macOf(b); ok {
		raw, err := hex.DecodeString(eui(r.mac(mac)))
		if err != nil {
			return s
		}
		copy(b[8:], raw)
		return netip.AddrFrom16(b).String() + end
	}
	n := r.number("interface id " + hex.EncodeToString(b[8:]))
	copy(b[8:], []byte{0, 0, 0, 0, 0, 1, byte(n >> 8), byte(n)})
	return netip.AddrFrom16(b).String() + end
}

// shorter is an address that may not have changed at all, which then stays as it was written.
func shorter(b [16]byte, was netip.Addr) string {
	return netip.AddrFrom16(b).WithZone(was.Zone()).String()
}

// net numbers the network of an address.
func (r *redactor) net(a netip.Addr, bits int) int {
	net, err := a.Prefix(bits)
	if err != nil {
		return 0
	}
	n, ok := r.nets[net]
	if !ok {
		n = len(r.nets)
		r.nets[net] = n
	}
	return n
}

func isExample(a netip.Addr) bool {
	for _, p := range []string{"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "198.18.0.0/15", "100.64.0.0/10", "2001:db8::/32"} {
		if netip.MustParsePrefix(p).Contains(a) {
			return true
		}
	}
	return false
}

// macOf is the MAC that an address's interface id was made of (RFC 4291, appendix A).
func macOf(b [16]byte) (string, bool) {
	if b[11] != 0xff || b[12] != 0xfe {
		return "", false
	}
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", b[8]^2, b[9], b[10], b[13], b[14], b[15]), true
}

// eui is the interface id of a MAC in hexadecimal digits.
func eui(mac string) string {
	b, err := hex.DecodeString(bare(mac))
	if err != nil || len(b) != 6 {
		return strings.Repeat("0", 16)
	}
	return hex.EncodeToString([]byte{b[0] ^ 2, b[1], b[2], 0xff, 0xfe, b[3], b[4], b[5]})
}

// Other spellings of a MAC.
func bare(mac string) string   { return strings.ReplaceAll(mac, ":", "") }
func halves(mac string) string { return bare(mac[:8]) + "-" + bare(mac[8:]) }
func scored(mac string) string { return strings.ReplaceAll(mac, ":", "_") }

// colons writes twelve hexadecimal digits as a MAC.
func colons(digits string) string {
	d := strings.ToLower(digits)
	if len(d) != 12 {
		return d
	}
	return d[:2] + ":" + d[2:4] + ":" + d[4:6] + ":" + d[6:8] + ":" + d[8:10] + ":" + d[10:]
}
