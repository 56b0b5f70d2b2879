package setter_test

import (
	"testing"

	"linerate/internal/tune/setter"
)

func TestNatureOf(t *testing.T) {
	for setting, want := range map[string]setter.Nature{
		"linux.link.mtu":                             {Needs: "link flap", Cuts: true, Scope: "device"},
		"linux.ethtool.ring":                         {Needs: "link flap", Cuts: true, Scope: "device"},
		"linux.ethtool.coalesce":                     {Scope: "device"},
		"linux.sysctl.net.ipv4.tcp_rmem":             {Scope: setter.ScopeNamespace},
		"linux.sysctl.net.core.rmem_max":             {Scope: setter.ScopeMachine},
		"linux.sysctl.vm.dirty_ratio":                {Scope: setter.ScopeMachine},
		"linux.sysctl.net.ipv4.conf.all.rp_filter":   {Cuts: true, Scope: setter.ScopeNamespace},
		"linux.sysctl.sunrpc.tcp_slot_table_entries": {Needs: "new mount", Scope: setter.ScopeMachine},
		"linux.mount.nfs.nconnect":                   {Needs: "new mount", Scope: "mount"},
		"any.zfs.recordsize":                         {Outlasts: true, Scope: "dataset"},
		"linux.iscsi.bursts":                         {Needs: "new login", Outlasts: true, Scope: "node"},
		"linux.unheard.of":                           {},
	} {
		if got := setter.NatureOf(setting); got != want {
			t.Errorf("%s: %+v, want %+v", setting, got, want)
		}
	}
}
