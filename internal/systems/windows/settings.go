package windows

import (
	"fmt"
	"strconv"
	"strings"

	"linerate/internal/model"
)

// Keywords are the settings that an adapter has under a keyword, which Microsoft has
// standardised, so that no driver and no language changes it.
func Keywords() map[string]string {
	return map[string]string{
		"windows.adapter.jumbo":                "*JumboPacket",
		"windows.adapter.flow_control":         "*FlowControl",
		"windows.adapter.receive_buffers":      "*ReceiveBuffers",
		"windows.adapter.transmit_buffers":     "*TransmitBuffers",
		"windows.adapter.interrupt_moderation": "*InterruptModeration",
		"windows.adapter.rss":                  "*RSS",
		"windows.adapter.rss_queues":           "*NumRssQueues",
		"windows.adapter.rss_profile":          "*RSSProfile",
		"windows.adapter.rsc":                  "*RscIPv4",
		"windows.adapter.lso":                  "*LsoV2IPv4",
		"windows.adapter.checksum":             "*TCPChecksumOffloadIPv4",
	}
}

// set keeps a value of one device as "ID@DEVICE", in the words of tune's --set.
func (r reading) set(id, of string, v model.Fact[string]) { r.f.Settings[id+"@"+of] = v }

// keywords are the properties of each adapter, each by its own. What RSS and RSC really do is told
// by cmdlets of their own, which overrule the keyword.
func (r reading) keywords() {
	ids := map[string]string{}
	for id, keyword := range Keywords() {
		ids[strings.ToLower(keyword)] = id
	}
	rows := r.rows("keywords", "the settings of each adapter", false)
	if len(rows) > 0 {
		r.lacking()
	}
	for _, one := range rows {
		id, name := ids[strings.ToLower(one.text("RegistryKeyword"))], one.text("Name")
		if id == "" || r.nic(name) < 0 {
			continue
		}
		values, _ := one["RegistryValue"].([]any)
		value, ok := "", false
		if len(values) == 1 {
			value, ok = values[0].(string)
		}
		if !ok || value == "" {
			r.set(id, name, model.Unknown[string](model.Absent, "the adapter gives no value"))
			continue
		}
		r.set(id, name, model.Known(value))
	}
	// Get-NetAdapterRss and its kin give only adapters that have it.
	for _, one := range r.rows("rss", "whether RSS is on", true) {
		r.inForce("windows.adapter.rss", one, "Enabled")
	}
	for _, one := range r.rows("rsc", "whether RSC is on", true) {
		r.inForce("windows.adapter.rsc", one, "IPv4Enabled")
	}
}

// lacking notes for each card what its driver may not have, until a keyword shows that it does: it
// may keep such a setting under a name of its own, of which nobody knows what its values mean.
func (r reading) lacking() {
	for _, n := range r.f.NICs {
		for id, keyword := range Keywords() {
			if n.Kind != "virtual" {
				r.set(id, n.Name, model.Unknown[string](model.Unsupported, "the driver of this adapter has no "+keyword))
			}
		}
	}
}

func (r reading) inForce(id string, one row, property string) {
	if on, known := one.yes(property); known && r.nic(one.text("Name")) >= 0 {
		r.set(id, one.text("Name"), model.Known(map[bool]string{true: "enabled", false: "disabled"}[on]))
	}
}

// interfaces are the values of the registry for each adapter. One that is absent is not 0: then
// the system has its default.
func (r reading) interfaces() {
	ids := map[string]string{"TcpAckFrequency": "windows.tcp.delayed_ack", "TCPNoDelay": "windows.registry.TcpNoDelay"}
	for _, one := range r.rows("interfaces", "TcpAckFrequency and TCPNoDelay of each adapter", false) {
		if r.nic(one.text("Name")) < 0 {
			continue
		}
		for value, id := range ids {
			if n, ok := one.number(value); ok {
				r.set(id, one.text("Name"), model.Known(strconv.FormatInt(n, 10)))
				continue
			}
			why := "the registry does not have it: the system's default holds"
			switch v := one[value].(type) {
			case nil:
				why = "the registry has no key for this adapter"
			case bool: // false
			default:
				why = fmt.Sprintf("it is %q, and no number that Windows takes", fmt.Sprint(v))
			}
			r.set(id, one.text("Name"), model.Unknown[string](model.Absent, why))
		}
	}
}

// Levels are those of autotuning by their number at the provider.
func Levels() []string {
	return []string{"disabled", "highlyrestricted", "restricted", "normal", "experimental"}
}

const (
	byPolicy = 1 // AutoTuningLevelEffective: it says who decides, not what
	cubic    = 5
)

// tcp are the templates of TCP, and what is offloaded for all adapters.
func (r reading) tcp() {
	for _, one := range r.rows("tcp", "how TCP lets its window grow, by template", false) {
		name := one.text("SettingName")
		from := "AutoTuningLevelLocal"
		by, told := one.number("AutoTuningLevelEffective")
		if told && by == byPolicy {
			from = "AutoTuningLevelGroupPolicy"
		}
		switch level, ok := one.number(from); {
		case !ok: // the template "Automatic", which has no values of its own
		case !told:
			r.set("windows.tcp.autotuning", name, model.Unknown[string](model.Absent, "it was not given whether a group policy decides on it"))
		case level >= int64(len(Levels())):
			r.set("windows.tcp.autotuning", name, model.Unknown[string](model.Unsupported, fmt.Sprintf("level %d has no name that linerate knows", level)))
		default:
			r.set("windows.tcp.autotuning", name, model.Known(Levels()[level]))
		}
		switch provider, ok := one.number("CongestionProvider"); {
		case !ok:
		case provider == cubic:
			r.set("windows.tcp.congestion_provider", name, model.Known("cubic"))
		default:
			r.set("windows.tcp.congestion_provider", name, model.Unknown[string](model.Unsupported, fmt.Sprintf("number %d has no name that linerate knows", provider)))
		}
		if n, ok := one.number("DelayedAckFrequency"); ok {
			r.set("windows.tcp.delayed_ack", name, model.Known(strconv.FormatInt(n, 10)))
		}
	}
	for _, one := range r.rows("offload", "what is offloaded for all adapters", false) {
		switch n, ok := one.number("Chimney"); {
		case !ok:
			r.f.Settings["windows.tcp.chimney"] = model.Unknown[string](model.Unsupported, "this Windows no longer has it")
		case n <= 2:
			r.f.Settings["windows.tcp.chimney"] = model.Known([]string{"disabled", "enabled", "automatic"}[n])
		}
		if n, ok := one.number("ReceiveSideScaling"); ok && n <= 1 {
			r.f.Settings["windows.adapter.rss"] = model.Known([]string{"disabled", "enabled"}[n])
		}
	}
}

// smb are both ends of SMB.
func (r reading) smb() {
	ids := map[string]string{
		"EnableMultiChannel": "windows.smb.multichannel", "RequireSecuritySignature": "windows.smb.signing",
		"EnableBandwidthThrottling": "windows.smb.throttling", "Smb2CreditsMax": "windows.smb.credits",
	}
	for _, end := range []string{"client", "server"} {
		for _, one := range r.rows("smb"+end, "the configuration of the SMB "+end, false) {
			for property, id := range ids {
				if on, known := one.yes(property); known {
					r.set(id, end, model.Known(strconv.FormatBool(on)))
				} else if n, ok := one.number(property); ok {
					r.set(id, end, model.Known(strconv.FormatInt(n, 10)))
				}
			}
		}
	}
}

// power is the plan that is active, by its GUID, as its name is translated.
func (r reading) power() {
	names := map[string]string{
		"381b4222-f694-41f0-9685-ff5bb260df2e": "Balanced", "8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c": "High performance",
		"a1841308-3541-4fab-bc81-f71556f20b4a": "Power saver", "e9a42b02-d5df-448d-aa00-03f14749eb61": "Ultimate performance",
	}
	for _, one := range r.rows("power", "the power plan", true) {
		if active, _ := one.yes("IsActive"); !active {
			continue
		}
		id := strings.ToLower(one.text("InstanceID"))
		id = strings.Trim(id[strings.LastIndexByte(id, '\\')+1:], "{}")
		if name := names[id]; name != "" {
			r.f.Settings["windows.power.plan"] = model.Known(name)
		} else {
			r.f.Settings["windows.power.plan"] = model.Unknown[string](model.Unsupported, "a plan of its own: "+id)
		}
	}
}
