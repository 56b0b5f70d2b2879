package script

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"linerate/internal/systems/windows"
	"linerate/internal/tune/setter"
)

// Windows is the scripts' view of Windows.
type Windows struct{}

// Name implements Kind.
func (Windows) Name() string { return "windows" }

// System implements Kind.
func (Windows) System() System { return System{PowerShell: true} }

var (
	guidTarget     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^guid:([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$`) })
	templateTarget = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z]{1,32}$`) })
)

// absent is a registry value that is not there: the system has its default, which is not 0.
const absent = "absent"

// Mechanism implements Kind.
func (Windows) Mechanism(setting, target string) (Mechanism, error) {
	guid := ""
	if m := guidTarget().FindStringSubmatch(target); m != nil {
		guid = "{" + strings.ToUpper(m[1]) + "}"
	}
	keyword := windows.Keywords()[setting]
	value := map[string]string{"windows.tcp.delayed_ack": "TcpAckFrequency", "windows.registry.TcpNoDelay": "TCPNoDelay"}[setting]
	switch {
	case removed(setting) != nil:
		return Mechanism{}, removed(setting)
	case keyword != "" && guid != "":
		at := quotePS(guid) + " " + quotePS(keyword)
		return Mechanism{Adapter: guid, Read: "Read-Keyword " + at, Write: "Write-Keyword " + at + " $value", Test: "Test-Keyword " + at + " $value"}, nil
	case value != "" && guid != "":
		at := quotePS(guid) + " " + quotePS(value)
		return Mechanism{Read: "Read-Interface " + at, Write: "Write-Interface " + at + " $value"}, nil
	case keyword != "" || setting == "windows.registry.TcpNoDelay":
		return Mechanism{}, fmt.Errorf("%s: which adapter is meant is not known: name it, --set %[1]s@NAME=VALUE", setting)
	case setting == "windows.mpio.policy" && target == "":
		return Mechanism{Read: "Read-Mpio", Write: "Set-MSDSMGlobalDefaultLoadBalancePolicy -Policy $value"}, nil
	case setting == bindings:
		return binding(target)
	case byHand(setting) != nil:
		return Mechanism{}, byHand(setting)
	case setting == "windows.tcp.autotuning" && templateTarget().MatchString(target):
		return template(target, "AutoTuningLevelLocal", "$value"), nil
	case setting == "windows.tcp.delayed_ack" && templateTarget().MatchString(target):
		return template(target, "DelayedAckFrequency", "([int]$value)"), nil
	case strings.HasPrefix(setting, "windows.tcp.") && (setting == "windows.tcp.autotuning" || setting == "windows.tcp.delayed_ack"):
		return Mechanism{}, fmt.Errorf("%s: name the template of TCP, --set %[1]s@InternetCustom=VALUE (Get-NetTCPSetting lists them), or for windows.tcp.delayed_ack an adapter", setting)
	}
	return smb(setting, target)
}

// removed says that Windows no longer has a setting.
func removed(setting string) error {
	if setting != "windows.tcp.chimney" && !strings.HasPrefix(setting, "windows.tcp.netdma") {
		return nil
	}
	return fmt.Errorf("%s: Windows no longer has it (Microsoft removed TCP chimney and NetDMA): there is nothing to set", setting)
}

// byHand says why a setting of the guide is not one of a plan.
func byHand(setting string) error {
	why := map[string]string{
		"windows.adapter.isoe": "the vendor's own program sets it",
		"windows.adapter.mtu":  "the adapter is a storage controller then, which the vendor's own program sets",
	}[setting]
	if why == "" {
		return nil
	}
	return fmt.Errorf("linerate does not set %s: %s", setting, why)
}

// bindings is a protocol of an adapter, on or off.
const bindings = "windows.binding.protocols"

// bindingTarget is an adapter and one of the protocols that stand by themselves. Without ms_tcpip an adapter has no
// IPv4, so that nobody would reach it to undo that; with those of teams and switches Windows changes others.
var bindingTarget = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^guid:([0-9a-f-]{36})/(ms_msclient|ms_server|ms_tcpip6|ms_lltdio|ms_rspndr|ms_lldp|ms_pacer)$`)
})

func binding(target string) (Mechanism, error) {
	m := bindingTarget().FindStringSubmatch(target)
	if m == nil {
		return Mechanism{}, fmt.Errorf("%s: name an adapter and one of its protocols, as %[1]s@SAN1/ms_lltdio=off; linerate switches ms_msclient, ms_server, ms_tcpip6, ms_lltdio, ms_rspndr, ms_lldp and ms_pacer", bindings)
	}
	guid := "{" + strings.ToUpper(m[1]) + "}"
	at := quotePS(guid) + " " + quotePS(m[2])
	return Mechanism{Adapter: guid, Read: "Read-Binding " + at, Write: "Write-Binding " + at + " $value $N ($value -ne $step.To)", Test: "Test-Binding " + at}, nil
}

func template(name, property, value string) Mechanism {
	return Mechanism{
		Read:  "Read-Template " + quotePS(name) + " " + quotePS(property),
		Write: "Set-NetTCPSetting -SettingName " + quotePS(name) + " -" + property + " " + value,
	}
}

// smb are settings of one end of SMB.
func smb(setting, end string) (Mechanism, error) {
	type property struct {
		end, name string
		number    bool
	}
	all := map[string][]property{
		"windows.smb.multichannel": {{"client", "EnableMultiChannel", false}, {"server", "EnableMultiChannel", false}},
		"windows.smb.throttling":   {{"client", "EnableBandwidthThrottling", false}},
		"windows.smb.credits":      {{"server", "Smb2CreditsMax", true}},
	}[setting]
	if len(all) == 0 {
		return Mechanism{}, fmt.Errorf("linerate does not set %s on Windows yet", setting)
	}
	for _, p := range all {
		if p.end != end {
			continue
		}
		value := "($value -eq 'true')"
		if p.number {
			value = "([int]$value)"
		}
		return Mechanism{
			Read:  "Read-Smb " + quotePS(end) + " " + quotePS(p.name),
			Write: "Set-Smb" + strings.ToUpper(end[:1]) + end[1:] + "Configuration -" + p.name + " " + value + " -Force",
		}, nil
	}
	return Mechanism{}, fmt.Errorf("%s: name the end of SMB: --set %[1]s@%s=VALUE", setting, all[0].end)
}

// Canonical implements Kind.
func (Windows) Canonical(setting, target, value string) (string, error) {
	low := strings.ToLower(value)
	switch {
	case cmp.Or(removed(setting), byHand(setting)) != nil:
		return "", cmp.Or(removed(setting), byHand(setting))
	case setting == "windows.mpio.policy":
		for _, policy := range windows.Policies() {
			if strings.EqualFold(policy, value) {
				return policy, nil
			}
		}
		return "", fmt.Errorf("%s: %q: want %s: %w", setting, value, strings.Join(windows.Policies(), ", "), setter.ErrValue)
	case setting == bindings:
		if low != "on" && low != "off" {
			return "", fmt.Errorf("%s: %q: want on or off: %w", setting, value, setter.ErrValue)
		}
		return low, nil
	case setting == "windows.tcp.autotuning":
		if !slices.Contains(windows.Levels(), low) {
			return "", fmt.Errorf("%s: %q: want %s: %w", setting, value, strings.Join(windows.Levels(), ", "), setter.ErrValue)
		}
		return low, nil
	case setting == "windows.smb.multichannel" || setting == "windows.smb.throttling":
		if low != "true" && low != "false" {
			return "", fmt.Errorf("%s: %q: want true or false: %w", setting, value, setter.ErrValue)
		}
		return low, nil
	case low == absent && guidTarget().MatchString(target) && windows.Keywords()[setting] == "":
		return absent, nil
	case slices.Contains([]string{"windows.adapter.rss", "windows.adapter.rsc", "windows.adapter.lso", "windows.adapter.interrupt_moderation"}, setting):
		if flag := map[string]string{"on": "1", "enabled": "1", "off": "0", "disabled": "0"}[low]; flag != "" {
			return flag, nil
		}
	}
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil {
		return "", fmt.Errorf("%s: %q: want a number: %w", setting, value, setter.ErrValue)
	}
	return strconv.FormatUint(n, 10), nil
}
