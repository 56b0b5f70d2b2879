package setter

import "strings"

// interfaceTarget is the prefix of the target of an interface without a hardware address, which
// is named by its name.
const interfaceTarget = "if:"

// InterfaceNamed is the interface that a place identifies only by its name: if:NAME, or a sysctl
// of one interface. "all" and "default" do not count.
func InterfaceNamed(at Place) (name string, ok bool) {
	if name, ok := strings.CutPrefix(at.Target, interfaceTarget); ok {
		return name, true
	}
	_, name, _ = cutInterface(at.Setting)
	return name, name != "" && name != "all" && name != "default"
}

// Renamed is the same place for an interface that now has another name.
func Renamed(at Place, name string) Place {
	if _, ok := InterfaceNamed(at); !ok {
		return at
	}
	if strings.HasPrefix(at.Target, interfaceTarget) {
		at.Target = interfaceTarget + name
		return at
	}
	before, _, after := cutInterface(at.Setting)
	at.Setting = before + name + after
	return at
}

// cutInterface cuts linux.sysctl.net.ipv4.conf.eth0.100.rp_filter around eth0.100; name is empty
// if the setting has no interface.
func cutInterface(setting string) (before, name, after string) {
	for _, dir := range perInterface {
		rest, ok := strings.CutPrefix(setting, sysctlPrefix+dir)
		if dot := strings.LastIndexByte(rest, '.'); ok && dot > 0 {
			return sysctlPrefix + dir, rest[:dot], rest[dot:]
		}
	}
	return "", "", ""
}
