package winhost

import (
	"maps"
	"slices"

	"linerate/internal/systems/fake/powershell"
)

// keyword is an advanced property of an adapter: a list of values, or a range.
type keyword struct {
	Value          string
	Valid          []string
	Min, Max, Step string
	Default        string
	Display        string // its name for people, as the driver translates it
}

// adapter is a network adapter.
type adapter struct {
	Name, Description, GUID, MAC, Driver string
	Index                                int64
	Speed                                int64
	Up, Hardware                         bool
	Address                              string
	Bits                                 int64
	Keywords                             map[string]keyword
}

// data is all that a host keeps.
type data struct {
	Adapters  []adapter
	Registry  map[string]int64            // "KEY|VALUE"
	Templates map[string]map[string]int64 // by name; those that take writes end in Custom
	SMB       map[string]map[string]any
	Chimney   bool // has it
	MPIO      string
	Secured   map[string]bool
	Tasks     map[string]string // what a task runs, by its name
	Unbound   map[string]bool   // "ADAPTER|COMPONENT"
}

const interfaces = `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces\`

func fresh() data {
	card := func() map[string]keyword {
		flag := []string{"0", "1"}
		return map[string]keyword{
			"*JumboPacket":            {Value: "1514", Valid: []string{"1514", "4088", "9014"}, Default: "1514"},
			"*FlowControl":            {Value: "3", Valid: []string{"0", "1", "2", "3"}, Default: "3"},
			"*ReceiveBuffers":         {Value: "512", Min: "128", Max: "4096", Step: "8", Default: "512"},
			"*TransmitBuffers":        {Value: "512", Min: "128", Max: "16384", Step: "64", Default: "512"},
			"*InterruptModeration":    {Value: "1", Valid: flag, Default: "1"},
			"*RSS":                    {Value: "1", Valid: flag, Default: "1"},
			"*NumRssQueues":           {Value: "8", Valid: []string{"1", "2", "4", "8", "16"}, Default: "8"},
			"*RSSProfile":             {Value: "4", Valid: []string{"1", "2", "3", "4", "5"}, Default: "4"},
			"*RscIPv4":                {Value: "1", Valid: flag, Default: "1"},
			"*LsoV2IPv4":              {Value: "1", Valid: flag, Default: "1"},
			"*TCPChecksumOffloadIPv4": {Value: "3", Valid: []string{"0", "1", "2", "3"}, Default: "3"},
			"NetworkAddress":          {Value: ""},
			"ITR":                     {Value: "65535", Valid: []string{"65535", "200"}, Default: "65535"},
		}
	}
	template := map[string]int64{
		"AutoTuningLevelLocal": 3, "AutoTuningLevelGroupPolicy": 255, "AutoTuningLevelEffective": 0, "CongestionProvider": 5,
		"DelayedAckFrequency": 2, "DelayedAckTimeout": 40, "EcnCapability": 0, "Timestamps": 0, "ScalingHeuristics": 0, "InitialCongestionWindow": 10,
	}
	return data{
		MPIO: "None",
		Adapters: []adapter{
			{"SAN1", "Intel(R) Ethernet Server Adapter X520-2", "{11111111-2222-3333-4444-00000000000A}", "90E2BA000001", `\SystemRoot\System32\drivers\ixn68x64.sys`, 5, 1e10, true, true, "192.0.2.10", 24, card()},
			{"SAN 2 (Büro)", "Intel(R) Ethernet Server Adapter X520-2 #2", "{11111111-2222-3333-4444-00000000000B}", "90E2BA000002", `\SystemRoot\System32\drivers\ixn68x64.sys`, 6, 0, false, true, "", 0, card()},
			{"Ethernet", "Hyper-V Virtual Ethernet Adapter", "{11111111-2222-3333-4444-00000000000C}", "00155D000003", `\SystemRoot\System32\drivers\vmswitch.sys`, 9, 1e10, true, false, "198.51.100.7", 24, map[string]keyword{"*JumboPacket": {Value: "1514", Valid: []string{"1514", "9014"}, Default: "1514"}}},
		},
		Registry:  map[string]int64{interfaces + "{11111111-2222-3333-4444-00000000000A}|EnableDHCP": 0, interfaces + "{11111111-2222-3333-4444-00000000000B}|EnableDHCP": 1, interfaces + "{11111111-2222-3333-4444-00000000000B}|TcpAckFrequency": 1},
		Templates: map[string]map[string]int64{"Automatic": {}, "Internet": maps.Clone(template), "InternetCustom": maps.Clone(template), "DatacenterCustom": maps.Clone(template)},
		SMB: map[string]map[string]any{
			"client": {"EnableMultiChannel": true, "ConnectionCountPerRssNetworkInterface": int64(4), "EnableBandwidthThrottling": true, "EnableLargeMtu": true, "RequireSecuritySignature": false, "EnableSecuritySignature": true},
			"server": {"EnableMultiChannel": true, "Smb2CreditsMin": int64(512), "Smb2CreditsMax": int64(8192), "RequireSecuritySignature": false, "EncryptData": false},
		},
		Secured: map[string]bool{}, Tasks: map[string]string{}, Unbound: map[string]bool{},
	}
}

// cim makes an object as the cmdlets of CIM give them: its properties are raw in
// CimInstanceProperties, and what is shown is translated.
func cim(class string, pairs ...any) *powershell.Thing {
	t := powershell.Object("Microsoft.Management.Infrastructure.CimInstance#ROOT/StandardCimv2/" + class)
	raw := powershell.Object("Microsoft.Management.Infrastructure.CimKeyedCollection")
	raw.Index = func(key any) any {
		v, ok := raw.Get(powershell.Text(key))
		if !ok {
			return nil
		}
		return powershell.Object("Microsoft.Management.Infrastructure.CimProperty", "Name", key, "Value", v)
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		raw.Set(pairs[i].(string), pairs[i+1])
		t.Set(pairs[i].(string), "übersetzt") // as a type's view may be
	}
	t.Set("CimInstanceProperties", raw)
	return t
}

func list(all []string) any {
	if all == nil {
		return nil
	}
	out := []any{}
	for _, s := range all {
		out = append(out, s)
	}
	return out
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (h *Host) adapter(match func(adapter) bool) *adapter {
	i := slices.IndexFunc(h.data.Adapters, match)
	if i < 0 {
		return nil
	}
	return &h.data.Adapters[i]
}

// mtu is what IP uses: the card's frame less its head.
func (a adapter) mtu() int64 {
	switch a.Keywords["*JumboPacket"].Value {
	case "4088":
		return 4074
	case "9014":
		return 9000
	case "16128":
		return 16114
	}
	return 1500
}
