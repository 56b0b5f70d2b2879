package guide

import (
	"strings"
	"testing"

	"linerate/internal/model"
)

// What a host shows of itself is judged with its device and the file that sets it; a default says nothing for
// itself, and one that is known in words only is compared with nothing.
func TestWhatIsInForceIsJudged(t *testing.T) {
	known := model.Known[string]
	r := InForce(&model.Facts{OS: "freebsd", Settings: map[string]model.Fact[string]{
		"freebsd.sysctl.net.inet.tcp.recvbuf_max":  known("2097152"),
		"freebsd.boot.net.inet.tcp.recvbuf_max":    known("16777216"),
		"freebsd.ifconfig.mtu@ix0":                 known("9000"),
		"freebsd.changed.by.kern.ipc.maxsockbuf":   known("runtime"),
		"freebsd.sysctl.net.inet.tcp.of.no.guide":  known("1"),
		"freebsd.sysctl.net.inet.tcp.delayed_ack":  model.Unknown[string](model.Unsupported, "gone"),
		"freebsd.sysctl.net.inet.tcp.cc.algorithm": known("cubic"),
	}, CouldNotSee: []model.Blind{{What: "links", How: "denied"}}})
	items := map[string]Item{}
	for _, it := range r.Items {
		items[it.Name] = it
	}
	if len(items) != 5 || r.OS != "freebsd" || r.Unread["links"] != "denied" || r.Unread["freebsd.sysctl.net.inet.tcp.delayed_ack"] != "gone" {
		t.Errorf("%+v", r)
	}
	if it := items["freebsd.boot.net.inet.tcp.recvbuf_max"]; it.Setting != "freebsd.sysctl.net.inet.tcp.recvbuf_max" || it.Current != "2097152" || it.Holds != "no" || it.SetBy != "/etc/sysctl.conf, read at boot" {
		t.Errorf("%+v", it)
	}
	if it := items["freebsd.ifconfig.mtu"]; it.Device != "ix0" || it.Status == NotKnown || it.SetBy != Running {
		t.Errorf("%+v", it)
	}
	if it := items["freebsd.sysctl.net.inet.tcp.of.no.guide"]; it.Status != NotKnown {
		t.Errorf("%+v", it)
	}
}

func TestADefaultInWordsIsComparedWithNothing(t *testing.T) {
	for _, c := range []struct {
		setting, value string
		status         Status
		why            string
	}{
		{"macos.sysctl.kern.ipc.maxsockbuf", "8388608", NotKnown, "by memory"},
		{"illumos.ipadm.tcp._cwnd_max", "1048576", NoOp, "The default."},
		{"illumos.ipadm.tcp._cwnd_max", "524288", Harmful, "Below the default (1048576)"},
		{"illumos.ipadm.tcp._cwnd_max", "4194304", Valid, "Not the default."},
		{"any.zfs.atime", "off", Valid, "Not the default."},
		{"illumos.sharectl.nfs.servers", "1024", NotKnown, "16 or more, by distribution"},
		{"onefs.network.aggregation", "lacp", NoOp, "The default."},
		{"illumos.sharectl.nfs.lockd_servers", "20", NoOp, "lock manager"},
		{"illumos.system.nfs.nfs3_nra", "16", WrongSide, "NFS clients"},
		{"windows.adapter.jumbo", "9614", WrongName, "an MTU of 9600"},
		{"windows.adapter.jumbo", "16128", Stale, "Larger than the 9014"},
		{"windows.tcp.autotuning", "restricted", Harmful, "Microsoft"},
	} {
		os, _, _ := strings.Cut(c.setting, ".")
		r := InForce(&model.Facts{OS: os, Settings: map[string]model.Fact[string]{c.setting: model.Known(c.value)}})
		if it := r.Items[0]; it.Status != c.status || !strings.Contains(it.Why, c.why) {
			t.Errorf("%s = %s: %s %q, want %s %q", c.setting, c.value, it.Status, it.Why, c.status, c.why)
		}
	}
}
