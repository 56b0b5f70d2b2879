// Package windows reads Windows hosts (Server 2016, Windows 10 and later) by the cmdlets of their
// base system, in PowerShell 5.1 or 7: Get-NetAdapter and its kin, Get-NetTCPSetting, the registry,
// the configuration of SMB. It is pure: the script that it sends is fixed, and it judges texts. It
// goes by numbers, keywords and GUIDs, which no language of Windows changes, and never by what is
// shown to people. It refuses to guess: what it does not understand is told.
package windows

import (
	_ "embed" // the script
	"encoding/json"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"linerate/internal/model"
	"linerate/internal/systems/frame"
	"linerate/internal/unit"
)

//go:embed read.ps1
var script string

// System is Windows.
type System struct{}

// Name implements systems.System.
func (System) Name() string { return "windows" }

// Script implements systems.System. It is for PowerShell, not for sh.
func (System) Script() string { return script }

// Tried implements systems.System.
func (System) Tried() string {
	return "its scripts were run by an imitation of PowerShell and of its cmdlets only, which wrote to a real registry under wine, never on a real Windows host"
}

// row is one object of an answer.
type row map[string]any

// reading is facts in the making.
type reading struct {
	frames frame.Frames
	f      *model.Facts
	index  map[int64]int // of an adapter among f.NICs, by its InterfaceIndex
}

// Facts implements systems.System.
func (System) Facts(frames frame.Frames) *model.Facts {
	r := reading{frames, &model.Facts{UID: -1, Settings: map[string]model.Fact[string]{}}, map[int64]int{}}
	r.host()
	r.adapters()
	r.addresses()
	r.counters()
	r.keywords()
	r.interfaces()
	r.tcp()
	r.smb()
	r.shares()
	r.power()
	r.bindings()
	r.mpio()
	return r.f
}

func (r reading) blind(what, shows, how string) {
	r.f.CouldNotSee = append(r.f.CouldNotSee, model.Blind{What: "windows: " + what, WouldShow: shows, How: how})
}

func (r reading) odd(name, what string) {
	r.blind(name, "a value that was given", what+" was not understood")
}

// rows are the objects of one frame. Without any the user is told what they would have shown,
// unless there may well be none.
func (r reading) rows(name, shows string, optional bool) []row {
	text, why := r.text(name)
	if why != "" {
		r.blind(name, shows, why)
		return nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var out []row
	if err := d.Decode(&out); err != nil {
		// Windows PowerShell may wrap a list into an object of its own.
		var wrapped struct {
			Value []row `json:"value"`
		}
		d = json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if d.Decode(&wrapped) != nil || wrapped.Value == nil {
			r.odd(name, fmt.Sprintf("the answer %.60q", text))
			return nil
		}
		out = wrapped.Value
	}
	if len(out) == 0 && !optional {
		r.blind(name, shows, "the cmdlet gave nothing and reported success, which is no answer")
	}
	return out
}

// Codes that the script gives a failure.
const (
	codeNone     = 3
	codeDenied   = 13
	codeUnloaded = 126
	codeMissing  = 127
)

// byPolicyType is the type of the error of an execution policy.
const byPolicyType = "System.Management.Automation.PSSecurityException"

// text is what a frame holds, or why it holds nothing.
func (r reading) text(name string) (text, why string) {
	f, asked := r.frames[name]
	said := Plain(f.Text)
	switch {
	case !asked:
		return "", "it was not asked"
	case f.Code != 0 && strings.HasPrefix(said, byPolicyType):
		return "", "an execution policy forbids PowerShell to load the cmdlet (Get-ExecutionPolicy -List shows which scope says so; MachinePolicy and UserPolicy are group policies): " + said
	case f.Code == codeUnloaded:
		return "", "the host has the cmdlet, and PowerShell did not load its module (Import-Module says there why; an execution policy or AppLocker may forbid it): " + said
	case f.Code == codeMissing:
		return "", "the host has no such cmdlet: " + said
	case f.Code == codeDenied:
		return "", "log in as an administrator: " + said
	case f.Code == codeNone:
		return "", "there is none: " + said
	case f.Code != 0:
		return "", fmt.Sprintf("code %d: %s", f.Code, said)
	case strings.TrimSpace(said) == "":
		return "", "it gave nothing and reported success, which is no answer"
	}
	return f.Text, ""
}

var escaped = regexp.MustCompile(`(\\u[0-9a-f]{4})+`)

// Plain undoes the scripts' way to write what is not ASCII, in a message; a character that could
// control a terminal becomes a space.
func Plain(s string) string {
	return escaped.ReplaceAllStringFunc(s, func(run string) string {
		var units []uint16
		for _, hex := range strings.Split(run, `\u`)[1:] {
			n, err := strconv.ParseUint(hex, 16, 16)
			if err != nil {
				return run
			}
			units = append(units, uint16(n))
		}
		return strings.Map(func(c rune) rune {
			if unicode.IsControl(c) || unicode.In(c, unicode.Bidi_Control, unicode.Zl, unicode.Zp) {
				return ' '
			}
			return c
		}, string(utf16.Decode(units)))
	})
}

func (r row) text(name string) string {
	s, _ := r[name].(string)
	return s
}

// number is an integer that is not negative; false: there is none.
func (r row) number(name string) (int64, bool) {
	n, ok := r[name].(json.Number)
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseInt(n.String(), 10, 64)
	return v, err == nil && v >= 0
}

func (r row) yes(name string) (yes, known bool) {
	yes, known = r[name].(bool)
	return yes, known
}

func (r reading) host() {
	for _, one := range r.rows("shell", "which PowerShell it is, and whose", false) {
		if admin, known := one.yes("Admin"); known && admin {
			r.f.UID = 0
		}
	}
	for _, one := range r.rows("os", "the version", false) {
		r.f.Hostname, r.f.Kernel = one.text("CSName"), one.text("Version")
	}
	if text, why := r.text("boot"); why == "" {
		var at []string
		if json.Unmarshal([]byte(text), &at) == nil && len(at) == 1 {
			r.f.BootID = "boot_time " + at[0]
		}
	}
	for _, one := range r.rows("computer", "how many CPUs and how much memory there are", false) {
		if n, ok := one.number("NumberOfLogicalProcessors"); ok && n < 1<<16 {
			for cpu := range int(n) {
				r.f.CPUs = append(r.f.CPUs, cpu)
			}
		}
		if n, ok := one.number("TotalPhysicalMemory"); ok && n > 0 {
			r.f.Memory = model.Known(unit.Bytes(n))
		}
	}
}

var guidPattern = regexp.MustCompile(`^\{[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\}$`)

// up is IfOperStatusUp, connected is MediaConnectStateConnected.
const up, connected = 1, 1

func (r reading) adapters() {
	for _, one := range r.rows("adapters", "the network adapters", false) {
		name, guid := one.text("Name"), one.text("InterfaceGuid")
		if name == "" || !guidPattern.MatchString(guid) {
			r.odd("adapters", fmt.Sprintf("an adapter %.60q with GUID %.60q", name, guid))
			continue
		}
		n := model.NIC{Name: name, Device: "guid:" + strings.ToLower(strings.Trim(guid, "{}")), Driver: driver(one.text("DriverName"))}
		state, _ := one.number("InterfaceOperationalStatus")
		media, _ := one.number("MediaConnectState")
		n.Up = state == up
		n.Speed = model.Unknown[unit.BitRate](model.Absent, "the link has no speed now")
		n.Duplex = model.Unknown[string](model.Absent, "the adapter does not say")
		if full, known := one.yes("FullDuplex"); known && media == connected {
			n.Duplex = model.Known(map[bool]string{true: "full", false: "half"}[full])
		}
		if speed, ok := one.number("ReceiveLinkSpeed"); ok && speed > 0 && media == connected {
			n.Speed = model.Known(unit.BitRate(speed))
		}
		if hardware, known := one.yes("HardwareInterface"); known && !hardware {
			n.Kind = "virtual"
			n.Speed = model.Unknown[unit.BitRate](model.Unsupported, "no hardware: what it states shapes nothing")
		}
		if mtu, ok := one.number("MtuSize"); ok && mtu < 1<<16 {
			n.MTU = int(mtu)
		}
		if i, ok := one.number("InterfaceIndex"); ok {
			r.index[i] = len(r.f.NICs)
		}
		r.f.NICs = append(r.f.NICs, n)
	}
}

// driver is the name of a driver's file, of "\SystemRoot\System32\drivers\ixn68x64.sys".
func driver(path string) model.Fact[string] {
	name := strings.TrimSuffix(strings.ToLower(path[strings.LastIndexAny(path, `\/`)+1:]), ".sys")
	if name == "" {
		return model.Unknown[string](model.Absent, "the adapter does not say")
	}
	return model.Known(name)
}

// ipv4 is AF_INET of Windows.
const ipv4 = 2

func (r reading) addresses() {
	for _, one := range r.rows("ip", "the MTU of each interface", false) {
		family, _ := one.number("AddressFamily")
		i, ok := one.number("InterfaceIndex")
		mtu, hasMTU := one.number("NlMtu")
		if at, is := r.index[i]; ok && is && hasMTU && family == ipv4 && mtu < 1<<16 {
			r.f.NICs[at].MTU = int(mtu)
		}
	}
	for _, one := range r.rows("addresses", "the addresses", false) {
		i, ok := one.number("InterfaceIndex")
		at, is := r.index[i]
		if !ok || !is {
			continue // of the loopback, or of an adapter that is hidden
		}
		text := one.text("IPAddress")
		for _, other := range []string{"IPv4Address", "IPv6Address"} {
			if text == "" {
				text = one.text(other)
			}
		}
		text, _, _ = strings.Cut(text, "%")
		bits, hasBits := one.number("PrefixLength")
		addr, err := netip.ParseAddr(text)
		if err != nil || !hasBits || bits > 128 || !netip.PrefixFrom(addr, int(bits)).IsValid() {
			r.odd("addresses", fmt.Sprintf("the address %.60q", text))
			continue
		}
		r.f.NICs[at].Addrs = append(r.f.NICs[at].Addrs, netip.PrefixFrom(addr, int(bits)))
	}
}

func (r reading) counters() {
	names := map[string]string{
		"ReceivedPacketErrors": "rx_errors", "OutboundPacketErrors": "tx_errors", "ReceivedDiscardedPackets": "rx_dropped",
		"OutboundDiscardedPackets": "tx_dropped", "ReceivedBytes": "rx_bytes", "SentBytes": "tx_bytes",
	}
	for _, one := range r.rows("counters", "errors of the links", false) {
		i := r.nic(one.text("Name"))
		if i < 0 {
			continue
		}
		seen := map[string]int64{}
		for from, to := range names {
			if n, ok := one.number(from); ok {
				seen[to] = n
			}
		}
		r.f.NICs[i].Counters = model.Known(seen)
	}
}

// nic is the place of an adapter; -1: none is called so.
func (r reading) nic(name string) int {
	return slices.IndexFunc(r.f.NICs, func(n model.NIC) bool { return n.Name == name })
}
