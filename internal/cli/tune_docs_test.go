package cli

import (
	"errors"
	"os"
	"strings"
	"testing"

	appprofile "linerate/internal/app/profile"
	"linerate/internal/app/tune"
	"linerate/internal/failure"
	"linerate/internal/report/docstest"
	"linerate/internal/tune/profile"
)

// Each field that tune, profile and leave print stands in their part of the
// page.
func TestTuneFieldsAreDocumented(t *testing.T) {
	docstest.Fields(t, docstest.Section(t, "tune", "tune plan, tune script, tune apply", "tune confirm", "tune undo, tune history",
		"leave", "profile list, profile show, profile diff"), "linerate/", 50,
		planDocument{}, panelDocument{}, tune.SitePlan{}, tune.SiteUndone{}, tune.Confirmation{}, tune.Restored{}, tune.History{}, tune.Left{},
		appprofile.Summary{}, appprofile.Kept{}, profile.Profile{}, profile.Difference{})
}

// The manual of the profile form has every quantity, in the program's words.
func TestQuantitiesAreDocumented(t *testing.T) {
	raw, err := os.ReadFile("../../docs/profiles.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range profile.Quantities() {
		if row := "| `" + q.Name + "` | " + q.Doc + " |"; !strings.Contains(string(raw), row) {
			t.Errorf("docs/profiles.md lacks %s", row)
		}
	}
	for _, name := range profile.Names() {
		if !strings.Contains(string(raw), "`"+name+"`") {
			t.Errorf("docs/profiles.md lacks the profile %s", name)
		}
	}
}

func TestValuesWithPartsShowWhatChanges(t *testing.T) {
	for _, c := range [][3]string{
		{"1", "0", "1 → 0"},
		{"a=1 b=2 c=3", "a=1 b=4 c=3", "b=2 → 4"},
		{"a=1 b=2", "a=2 b=3", "a=1 → 2, b=2 → 3"},
		{"a=1", "b=1", "a=1 → b=1"},
		{"v0=0 v1=1", "0-1", "v0=0 v1=1 → 0-1"},
		{"4096 1 2", "4096 1 3", "4096 1 2 → 4096 1 3"},
	} {
		if got := change(c[0], c[1]); got != c[2] {
			t.Errorf("%s to %s: %s, want %s", c[0], c[1], got, c[2])
		}
	}
}

func TestDiffLines(t *testing.T) {
	got := strings.Join(diffLines("a\nb\nc\n", "a\nx\nc\n"), "|") + "/" + strings.Join(diffLines("", "new\n"), "|") + "/" + strings.Join(diffLines("same\n", "same\n"), "|")
	if got != "- b|+ x/+ new/" {
		t.Error(got)
	}
}

func TestSettingIDs(t *testing.T) {
	for name, want := range map[string]string{
		"tcp_rmem":                       "linux.sysctl.net.ipv4.tcp_rmem",
		"net.ipv4.tcp_rmem":              "linux.sysctl.net.ipv4.tcp_rmem",
		"linux.sysctl.net.ipv4.tcp_rmem": "linux.sysctl.net.ipv4.tcp_rmem",
		"link.mtu":                       "linux.link.mtu",
		"any.zfs.sync":                   "any.zfs.sync",
		"net.ipv4.conf.eth0.arp_filter":  "linux.sysctl.net.ipv4.conf.eth0.arp_filter",
	} {
		if got, err := settingID(name); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, want)
		}
	}
	// Names that are another setting's must not be taken for it.
	for _, name := range []string{"switch.port.mtu", "nothing", ""} {
		if got, err := settingID(name); err == nil {
			t.Errorf("%s is taken for %s", name, got)
		}
	}
}

// Each end that a flag leads out of names the flag, and keeps its exit code.
func TestWordsOfTune(t *testing.T) {
	why := errors.New("why")
	for _, c := range []struct {
		err  error
		want string
		kind failure.Kind
	}{
		{failure.As(failure.Usage, &tune.Error{What: tune.BadValue, Subject: "tcp_sack", Err: why}), "--set tcp_sack: why", failure.Usage},
		{failure.As(failure.Usage, &tune.Error{What: tune.BadDevice, Subject: "eth9", Err: why}), "--dev: why", failure.Usage},
		{&tune.Error{What: tune.NoPeer, Subject: "nas1", Err: failure.As(failure.Usage, why)}, "why; where you cannot log in to nas1, state --rtt and --line-rate instead", failure.Usage},
		{failure.As(failure.Usage, &tune.Error{What: tune.Unguarded, Subject: "nas1", Err: why}), "--confirm-within 0: an MTU is raised towards nas1 only while each end undoes it by itself if it cuts you off; leave the option or --to away", failure.Usage},
		{&tune.Error{What: tune.Unprivileged, Subject: "nas1", Err: why}, "change settings of nas1: why; log in as root, allow sudo -n, or run linerate tune plan", failure.Failed},
		{why, "why", failure.Failed},
	} {
		if err := wordTune(c.err); err.Error() != c.want || failure.KindOf(err) != c.kind {
			t.Errorf("%q, kind %d, want %q, kind %d", err, failure.KindOf(err), c.want, c.kind)
		}
	}
}
