package winhost

import (
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"linerate/internal/systems/fake/powershell"
)

// reader is a cmdlet that takes no parameters here.
func reader(all func() []any) powershell.Cmdlet {
	return powershell.Cmdlet{Run: func(map[string]any) ([]any, error) { return all(), nil }}
}

func (h *Host) cmdlets() map[string]powershell.Cmdlet {
	all := map[string]powershell.Cmdlet{
		"get-netadapter":                          reader(h.netAdapter),
		"get-netadapteradvancedproperty":          reader(h.advanced),
		"get-netadapterrss":                       reader(h.rss),
		"get-netadapterrsc":                       reader(h.rsc),
		"get-netipinterface":                      reader(h.ipInterface),
		"get-netipaddress":                        reader(h.ipAddress),
		"get-nettcpsetting":                       reader(h.tcpSetting),
		"get-netoffloadglobalsetting":             reader(h.offload),
		"get-smbclientconfiguration":              reader(func() []any { return h.smb("client") }),
		"get-smbserverconfiguration":              reader(func() []any { return h.smb("server") }),
		"get-smbconnection":                       reader(smbConnections),
		"get-netadapterbinding":                   reader(h.bindings),
		"get-msdsmglobaldefaultloadbalancepolicy": reader(func() []any { return []any{h.data.MPIO} }),
		"get-netadapterstatistics":                reader(h.statistics),
		"get-executionpolicy":                     {Params: []string{"Scope"}, Run: h.executionPolicy},
		"get-ciminstance":                         {Params: []string{"Namespace", "ClassName"}, Run: h.cimInstance},
	}
	maps.Copy(all, h.writers())
	maps.Copy(all, h.files())
	return all
}

func (h *Host) netAdapter() (out []any) {
	for _, a := range h.data.Adapters {
		state, media := int64(2), int64(2)
		if a.Up {
			state, media = 1, 1
		}
		said, wire, speed := h.looks(a)
		out = append(out, cim("MSFT_NetAdapter", "Name", a.Name, "InterfaceDescription", a.Description, "InterfaceGuid", a.GUID,
			"InterfaceIndex", a.Index, "InterfaceType", int64(6), "HardwareInterface", a.Hardware, "Virtual", !a.Hardware, "PermanentAddress", a.MAC,
			"DriverName", a.Driver, "DriverVersionString", "4.1.199.0", "FullDuplex", true, "ReceiveLinkSpeed", a.Speed, "TransmitLinkSpeed", a.Speed,
			"InterfaceOperationalStatus", state, "MediaConnectState", media, "Status", said, "MediaConnectionState", wire, "LinkSpeed", speed, "MtuSize", a.mtu()))
	}
	return out
}

func (h *Host) advanced() (out []any) {
	for _, a := range h.data.Adapters {
		for _, name := range slices.Sorted(maps.Keys(a.Keywords)) {
			k := a.Keywords[name]
			if h.told("without", name) {
				continue
			}
			out = append(out, cim("MSFT_NetAdapterAdvancedPropertySettingData", "Name", a.Name, "DisplayName", h.shown(name, k), "DisplayValue", h.value(name, k), "RegistryKeyword", name, "RegistryValue", []any{k.Value},
				"DefaultRegistryValue", k.Default, "ValidRegistryValues", list(k.Valid), "NumericParameterMinValue", orNull(k.Min),
				"NumericParameterMaxValue", orNull(k.Max), "NumericParameterStepValue", orNull(k.Step)))
		}
	}
	return out
}

func (h *Host) rss() (out []any) {
	for _, a := range h.data.Adapters {
		if k, ok := a.Keywords["*RSS"]; ok {
			out = append(out, cim("MSFT_NetAdapterRssSettingData", "Name", a.Name, "Enabled", k.Value == "1", "NumberOfReceiveQueues", int64(8), "MaxProcessors", int64(16), "Profile", int64(4)))
		}
	}
	return out
}

func (h *Host) rsc() (out []any) {
	for _, a := range h.data.Adapters {
		if k, ok := a.Keywords["*RscIPv4"]; ok {
			out = append(out, cim("MSFT_NetAdapterRscSettingData", "Name", a.Name, "IPv4Enabled", k.Value == "1", "IPv4OperationalState", k.Value == "1", "IPv6Enabled", true, "IPv6OperationalState", true))
		}
	}
	return out
}

func (h *Host) ipInterface() (out []any) {
	out = append(out, cim("MSFT_NetIPInterface", "InterfaceIndex", int64(1), "AddressFamily", int64(2), "NlMtu", int64(4294967295)))
	for _, a := range h.data.Adapters {
		for _, family := range []int64{2, 23} {
			out = append(out, cim("MSFT_NetIPInterface", "InterfaceIndex", a.Index, "AddressFamily", family, "NlMtu", a.mtu()))
		}
	}
	return out
}

func (h *Host) ipAddress() (out []any) {
	out = append(out, cim("MSFT_NetIPAddress", "InterfaceIndex", int64(1), "IPv4Address", "127.0.0.1", "IPv6Address", nil, "PrefixLength", int64(8)))
	for _, a := range h.data.Adapters {
		if a.Address != "" {
			out = append(out, cim("MSFT_NetIPAddress", "InterfaceIndex", a.Index, "IPv4Address", a.Address, "IPv6Address", nil, "PrefixLength", a.Bits),
				cim("MSFT_NetIPAddress", "InterfaceIndex", a.Index, "IPv4Address", nil, "IPv6Address", "fe80::1%5", "PrefixLength", int64(64)))
		}
	}
	return out
}

func (h *Host) tcpSetting() (out []any) {
	for _, name := range slices.Sorted(maps.Keys(h.data.Templates)) {
		pairs := []any{"SettingName", name}
		for _, p := range slices.Sorted(maps.Keys(h.data.Templates[name])) {
			if h.told("null", p) {
				pairs = append(pairs, p, nil)
				continue
			}
			pairs = append(pairs, p, h.data.Templates[name][p])
		}
		if len(pairs) == 2 {
			pairs = append(pairs, "AutoTuningLevelLocal", nil, "CongestionProvider", nil)
		}
		out = append(out, cim("MSFT_NetTCPSetting", pairs...))
	}
	return out
}

func (h *Host) offload() []any {
	pairs := []any{"ReceiveSideScaling", int64(1), "ReceiveSegmentCoalescing", int64(1), "TaskOffload", int64(1), "NetworkDirect", int64(1)}
	if h.data.Chimney {
		pairs = append(pairs, "Chimney", int64(0))
	}
	return []any{cim("MSFT_NetOffloadGlobalSetting", pairs...)}
}

func (h *Host) smb(end string) []any {
	var pairs []any
	for _, name := range slices.Sorted(maps.Keys(h.data.SMB[end])) {
		v := h.data.SMB[end][name]
		if f, ok := v.(float64); ok { // as JSON brings it back
			v = int64(f)
		}
		pairs = append(pairs, name, v)
	}
	return []any{cim("MSFT_Smb", pairs...)}
}

// smbConnections are two users' of one share, and one of an old server.
func smbConnections() (out []any) {
	for _, c := range []struct {
		server, share, user, dialect string
		signed                       bool
	}{{"nas1", "media", `FIRMA\Müller`, "3.1.1", true}, {"nas1", "media", `FIRMA\anna`, "3.1.1", true}, {"192.0.2.44", "alt", `FIRMA\anna`, "2.0.2", false}} {
		out = append(out, cim("MSFT_SmbConnection", "ServerName", c.server, "ShareName", c.share, "UserName", c.user, "Dialect", c.dialect, "NumOpens", int64(2), "Encrypted", false, "Signed", c.signed))
	}
	return out
}

func (h *Host) bindings() (out []any) {
	for _, a := range h.data.Adapters {
		for _, c := range []string{"ms_implat", "ms_msclient", "ms_pacer", "ms_server", "ms_tcpip", "ms_tcpip6"} {
			var on any = c != "ms_implat" && !h.told("unbound", c) && !h.data.Unbound[a.Name+"|"+c]
			if h.told("unsaid", c) {
				on = nil
			}
			out = append(out, cim("MSFT_NetAdapterBindingSettingData", "Name", a.Name, "ComponentID", c, "DisplayName", h.in("Protokoll "+c, "Protocol "+c), "Enabled", on))
		}
	}
	return out
}

func (h *Host) statistics() (out []any) {
	for _, a := range h.data.Adapters {
		out = append(out, cim("MSFT_NetAdapterStatisticsSettingData", "Name", a.Name, "ReceivedBytes", int64(123456789), "SentBytes", int64(987654321),
			"ReceivedDiscardedPackets", int64(3), "ReceivedPacketErrors", int64(0), "OutboundDiscardedPackets", int64(0), "OutboundPacketErrors", int64(0)))
	}
	return out
}

func (h *Host) cimInstance(args map[string]any) ([]any, error) {
	switch class := powershell.Text(args["classname"]); {
	case class == "Win32_OperatingSystem" && args["namespace"] == nil:
		os := cim(class, "CSName", "WINFILER", "Version", "10.0.20348", "BuildNumber", "20348", "ProductType", int64(3))
		utc := powershell.Object("System.DateTime")
		utc.Methods["tostring"] = func(a []any) (any, error) {
			if len(a) != 2 || powershell.Text(a[1]) != "invariant" {
				return h.in("25.11.2026 09:00", "11/25/2026 9:00 AM"), nil
			}
			return "20261125080000", nil
		}
		at := powershell.Object("System.DateTime")
		at.Methods["touniversaltime"] = func([]any) (any, error) { return utc, nil }
		os.Set("LastBootUpTime", at)
		return []any{os}, nil
	case class == "Win32_ComputerSystem" && args["namespace"] == nil:
		return []any{cim(class, "NumberOfLogicalProcessors", int64(16), "TotalPhysicalMemory", int64(137_438_953_472))}, nil
	case class == "Win32_PowerPlan" && powershell.Text(args["namespace"]) == `root\cimv2\power`:
		return []any{
			cim(class, "InstanceID", `Microsoft:PowerPlan\{381b4222-f694-41f0-9685-ff5bb260df2e}`, "IsActive", true),
			cim(class, "InstanceID", `Microsoft:PowerPlan\{8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c}`, "IsActive", false),
		}, nil
	}
	return nil, none("Ungültige Klasse")
}

// real is where a path of the host lies here.
func (h *Host) real(path string) string {
	path = strings.ReplaceAll(strings.TrimPrefix(path, `C:\`), `\`, "/")
	return filepath.Join(h.dir, "c", filepath.FromSlash(strings.ToLower(path)))
}

func (h *Host) cast(typ string, v any) (any, error) {
	if typ == "security.principal.windowsprincipal" {
		p := powershell.Object("System.Security.Principal.WindowsPrincipal")
		p.Methods["isinrole"] = func([]any) (any, error) { return !slices.Contains(h.how, "noadmin"), nil }
		return p, nil
	}
	return nil, powershell.Errorf("Der Typ [%s] wurde nicht gefunden.", typ)
}

// static are the members of .NET's types that scripts use.
func (h *Host) static(out io.Writer) func(typ, member string, args []any) (any, error) {
	return func(typ, member string, args []any) (any, error) {
		switch typ + "::" + member {
		case "console::out":
			w := powershell.Object("System.IO.TextWriter")
			w.Methods["write"] = func(a []any) (any, error) {
				_, err := io.WriteString(out, powershell.Text(a[0]))
				return nil, err
			}
			return w, nil
		case "globalization.cultureinfo::invariantculture":
			return "invariant", nil
		case "security.principal.windowsidentity::getcurrent":
			return "me", nil
		case "security.principal.windowsbuiltinrole::administrator":
			return "Administrator", nil
		case "io.filemode::openorcreate", "io.fileaccess::readwrite", "io.fileshare::none":
			return member, nil
		case "io.path::getrandomfilename":
			return "abcdefgh.ijk", nil
		case "datetime::now":
			now := powershell.Object("System.DateTime")
			now.Methods["addminutes"] = func([]any) (any, error) { return "later", nil }
			return now, nil
		case "timespan::fromminutes":
			span := powershell.Object("System.TimeSpan")
			span.Text = powershell.Text(args[0]) + " minutes"
			return span, nil
		case "text.encoding::ascii":
			ascii := powershell.Object("System.Text.ASCIIEncoding")
			ascii.Methods["getbytes"] = func(a []any) (any, error) { return []byte(powershell.Text(a[0])), nil }
			return ascii, nil
		case "io.file::open", "io.file::create", "io.file::readalltext":
			return h.openFile(member, args)
		case "microsoft.win32.registry::getvalue":
			return h.getValue(args)
		}
		return nil, powershell.Errorf("Der Typ [%s] hat kein Element %q.", typ, member)
	}
}
