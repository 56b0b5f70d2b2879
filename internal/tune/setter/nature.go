package setter

import "strings"

// Nature is what a user must know about changing a setting besides its value.
type Nature struct {
	// Needs is what it requires or causes, in words: "link flap", "new mount"; empty for nothing.
	Needs string
	// Cuts: it can disconnect a user who works on the host over that interface.
	Cuts bool
	// Outlasts: the value survives a restart of the host, since it is kept in a file or on disk;
	// a restart does not undo it.
	Outlasts bool
	// Scope is what one value applies to: a device, a route, a mount, a dataset, a node (of
	// iSCSI), ScopeNamespace or ScopeMachine.
	Scope string
}

// NatureOf returns the nature of a setting of this package's mechanisms, by the longest matching
// prefix of its id.
func NatureOf(setting string) Nature {
	var out Nature
	length := 0
	for prefix, n := range natures() {
		if strings.HasPrefix(setting, prefix) && len(prefix) > length {
			out, length = n, len(prefix)
		}
	}
	if strings.HasPrefix(setting, sysctlPrefix) {
		out.Scope = SysctlScope(setting)
	}
	return out
}

func natures() map[string]Nature {
	const flap, login, mount, restart = "link flap", "new login", "new mount", "a restart of the host"
	return map[string]Nature{
		sysctlPrefix:                    {},
		sysctlPrefix + "net.ipv4.conf.": {Cuts: true}, sysctlPrefix + "net.ipv6.": {Cuts: true}, sysctlPrefix + "net.ipv4.ip_": {Cuts: true},
		sysctlPrefix + "sunrpc.": {Needs: mount},
		MTUSetting:               {Needs: flap, Cuts: true, Scope: "device"},
		TxQueueLenSetting:        {Scope: "device"},
		FeaturesSetting:          {Cuts: true, Scope: "device"}, // some drivers reset the link for some
		ethtoolPrefix + "ring":   {Needs: flap, Cuts: true, Scope: "device"}, ethtoolPrefix + "channels": {Needs: flap, Cuts: true, Scope: "device"},
		ethtoolPrefix + "pause": {Needs: flap, Cuts: true, Scope: "device"}, ethtoolPrefix + "coalesce": {Scope: "device"}, RSSSetting: {Scope: "device"},
		"linux.tc.": {Scope: "device"}, routePrefix: {Cuts: true, Scope: "route"}, queuePrefix: {Scope: "device"}, IRQSetting: {Scope: "device"},
		"linux.cpu.": {Scope: ScopeMachine}, blockPrefix: {Scope: "device"}, ReadAheadSetting: {Scope: "mount"},
		NFSDThreadsSetting: {Scope: ScopeNamespace}, NFSDMaxBlockSetting: {Needs: "the NFS server stopped", Scope: ScopeMachine},
		modulePrefix: {Scope: ScopeMachine}, zfsPrefix: {Scope: ScopeMachine}, IRQBalanceSetting: {Scope: ScopeMachine},
		zfsPropertyPrefix: {Outlasts: true, Scope: "dataset"}, iscsiPrefix: {Needs: login, Outlasts: true, Scope: "node"},
		sambaPrefix: {Needs: "new SMB sessions", Outlasts: true, Scope: ScopeMachine}, mountOptionPrefix: {Needs: mount, Scope: "mount"},
		"freebsd.ifconfig.mtu": {Needs: flap, Cuts: true, Scope: "device"}, "freebsd.ifconfig.offload": {Needs: flap, Cuts: true, Scope: "device"},
		"freebsd.sysctl.dev.": {Needs: flap, Cuts: true, Scope: "device"}, "freebsd.sysctl.kern.ipc.nmbclusters": {Needs: restart, Outlasts: true},
		"macos.link.": {Needs: flap, Cuts: true, Outlasts: true, Scope: "device"}, "illumos.dladm.": {Needs: flap, Cuts: true, Scope: "device"},
		"illumos.system.": {Needs: restart, Outlasts: true}, "illumos.driver.": {Needs: restart, Outlasts: true},
		NFSSyncSetting: {Cuts: true, Scope: "mount"}, SMBSyncSetting: {Cuts: true, Scope: "mount"}, SMBActimeoSetting: {Cuts: true, Scope: "mount"},
	}
}
