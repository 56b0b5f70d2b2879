package script

import (
	"fmt"
	"strings"
	"testing"

	"linerate/internal/model"
)

// The cards of a host that has those of two vendors.
const (
	cardOne = "guid:11111111-2222-3333-4444-00000000000a"
	cardTwo = "guid:11111111-2222-3333-4444-00000000000b"
)

// twoVendors is such a host, with the script of a plan.
func twoVendors(t *testing.T, steps ...Step) *windowsRig {
	t.Helper()
	r := &windowsRig{t, scratch(t), `C:\Users\Admin\change.ps1`}
	h := r.open("unlike")
	if err := h.Keep(); err != nil {
		t.Fatal(err)
	}
	text, err := Script{Plan: plan, Host: "winfiler", System: Windows{}.System(), Steps: steps}.Text()
	if err == nil {
		err = h.Put(r.file, text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mechanism(t *testing.T, setting, target string) Mechanism {
	t.Helper()
	m, err := Windows{}.Mechanism(setting, target)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func cardStep(t *testing.T, setting, target, from, to string) Step {
	t.Helper()
	return Step{Name: setting + "@" + target[len(target)-1:], From: from, To: to, Mechanism: mechanism(t, setting, target)}
}

// values are what a setting is at both cards; what is no value begins with "?".
func (r *windowsRig) values(setting string) string {
	r.t.Helper()
	var out []string
	for _, v := range r.read([]Mechanism{mechanism(r.t, setting, cardOne), mechanism(r.t, setting, cardTwo)}) {
		text, ok := v.Get()
		if !ok {
			text = "?" + v.Why
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// Each card is planned, changed and undone by what its own driver takes.
func TestEachCardTakesItsOwnValues(t *testing.T) {
	const jumbo, transmit = "windows.adapter.jumbo", "windows.adapter.transmit_buffers"
	r := twoVendors(t, cardStep(t, jumbo, cardOne, "1514", "9014"), cardStep(t, jumbo, cardTwo, "1514", "16128"),
		cardStep(t, transmit, cardOne, "512", "576"), cardStep(t, transmit, cardTwo, "1024", "2048"))
	r.want(0, "apply")
	if j, x := r.values(jumbo), r.values(transmit); j != "9014 16128" || x != "576 2048" {
		t.Errorf("applied %s, %s", j, x)
	}
	r.want(0, "undo")
	if j, x := r.values(jumbo), r.values(transmit); j != "1514 1514" || x != "512 1024" {
		t.Errorf("undone %s, %s", j, x)
	}
	for _, c := range []struct{ setting, target, from, to, want string }{
		{jumbo, cardOne, "1514", "16128", "jumbo@a: 16128: the adapter takes only 1514, 9014:"},
		{jumbo, cardOne, "1514", "4088", "jumbo@a: 4088: the adapter takes only 1514, 9014:"},
		{jumbo, cardTwo, "1514", "9000", "jumbo@b: 9000: the adapter takes only 1514, 4088, 9014, 16128:"},
		{transmit, cardTwo, "1024", "576", "buffers@b: 576: the adapter takes only 1024, 2048:"},
		{transmit, cardOne, "512", "1000", "buffers@a: 1000: the adapter takes 128 to 16384 in steps of 64:"},
	} {
		// A step that the other card would take comes first: it is not begun.
		r := twoVendors(t, cardStep(t, "windows.adapter.flow_control", cardTwo, "3", "0"), cardStep(t, c.setting, c.target, c.from, c.to))
		if out := r.want(1, "apply"); !strings.Contains(out, c.want+" nothing was changed") {
			t.Errorf("no %q in %s", c.want, out)
		}
		if now := r.values("windows.adapter.flow_control"); now != "3 3" {
			t.Errorf("the plan was refused, and the card has %s", now)
		}
	}
}

// What a card's driver lacks is said, whatever it calls it itself, and nothing of the plan is done.
func TestACardThatLacksAKeywordIsNotGuessed(t *testing.T) {
	const receive, profile = "windows.adapter.receive_buffers", "windows.adapter.rss_profile"
	r := twoVendors(t, cardStep(t, receive, cardOne, "512", "4096"), cardStep(t, receive, cardTwo, "512", "4096"))
	if now := r.values(receive); now != "512 ?the adapter SAN 2 (B\\u00fcro) has no *ReceiveBuffers (Get-NetAdapterAdvancedProperty -AllProperties lists what it has) (exit code 1)" {
		t.Error(now)
	}
	if now := r.values(profile); now != "4 ?the adapter SAN 2 (B\\u00fcro) has no *RSSProfile (Get-NetAdapterAdvancedProperty -AllProperties lists what it has) (exit code 1)" {
		t.Error(now)
	}
	if out := r.want(1, "apply"); !strings.Contains(out, "has no *ReceiveBuffers (Get-NetAdapterAdvancedProperty -AllProperties lists what it has): nothing was changed") {
		t.Error(out)
	}
	r.want(0, "undo")
	if now := r.values(receive); !strings.HasPrefix(now, "512 ?") {
		t.Error(now)
	}
}

// What is to be done by hand says so, whatever value was typed.
func TestWhatIsChangedByHandSaysSo(t *testing.T) {
	for setting, want := range map[string]string{
		"windows.adapter.isoe": "the vendor's own program", "windows.adapter.mtu": "a storage controller",
	} {
		_, err := Windows{}.Canonical(setting, "guid:11111111-2222-3333-4444-00000000000a", "all")
		_, err2 := Windows{}.Mechanism(setting, "guid:11111111-2222-3333-4444-00000000000a")
		if err == nil || err2 == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err2.Error(), want) {
			t.Errorf("%s: %v; %v; want %q", setting, err, err2, want)
		}
	}
}

// A driver that goes while a plan is in force takes its keyword along: undo says what it could not
// put back, and does when it is back.
func TestUndoAfterAKeywordWentSaysSo(t *testing.T) {
	r := twoVendors(t, cardStep(t, "windows.adapter.jumbo", cardOne, "1514", "9014"), cardStep(t, "windows.adapter.jumbo", cardTwo, "1514", "16128"))
	r.want(0, "apply")
	if out, code := r.run("without:*JumboPacket", "undo"); code != NotRestored || strings.Count(out, "has no *JumboPacket") < 2 {
		t.Errorf("%d\n%s", code, out)
	}
	r.want(0, "undo")
	if now := r.values("windows.adapter.jumbo"); now != "1514 1514" {
		t.Error(now)
	}
}

// A plan goes the same way in German as in English, also where the host refuses it.
func TestTheLanguageOfWindowsChangesNoPlan(t *testing.T) {
	run := func(how string, args ...string) string {
		r := twoVendors(t, cardStep(t, "windows.adapter.jumbo", cardTwo, "1514", "16128"), cardStep(t, "windows.tcp.autotuning", "InternetCustom", "normal", "restricted"))
		out, code := r.run(how+"", args...)
		now := r.values("windows.adapter.jumbo")
		r.want(0, "undo")
		return strings.Join([]string{out, fmt.Sprint(code), now, r.values("windows.adapter.jumbo")}, "\n")
	}
	for _, how := range []string{"", "fail:set-nettcpsetting", "ignore:set-nettcpsetting", "denied:get-nettcpsetting"} {
		german, english := run(how, "apply"), run(how+",english", "apply")
		if german = strings.Replace(german, "Zugriff verweigert f\\u00fcr M\\u00fcller", "Access denied for Miller", 1); german != english {
			t.Errorf("%s: in German\n%s\nin English\n%s", how, german, english)
		}
	}
}

// Windows may switch other protocols with one. A plan does not keep that; and one without which nobody would reach
// the adapter, or that a team or a switch has, is not switched at all.
func TestAProtocolThatTakesOthersAlongIsPutBack(t *testing.T) {
	r := newWindowsRig(t)
	out, code := r.run("also:ms_pacer", "apply")
	if code != Refused || !strings.Contains(out, "Windows switched other protocols of the adapter with it") || !strings.Contains(out, "what this plan changed is put back") {
		t.Errorf("%d: %s", code, out)
	}
	r.has(before)
	for _, target := range []string{"", "guid:11111111-2222-3333-4444-00000000000a", "guid:11111111-2222-3333-4444-00000000000a/ms_tcpip", "guid:11111111-2222-3333-4444-00000000000a/ms_implat", "SAN1/ms_server"} {
		if _, err := (Windows{}).Mechanism(bindings, target); err == nil || !strings.Contains(err.Error(), "name an adapter and one of its protocols") {
			t.Errorf("%q: %v", target, err)
		}
	}
}

// A Trial says what a script would say, and changes nothing.
func TestWhatAnAdapterTakesIsAskedBefore(t *testing.T) {
	r := newWindowsRig(t)
	for _, c := range []struct{ setting, target, to, want string }{
		{"windows.adapter.jumbo", "guid:11111111-2222-3333-4444-00000000000a", "9014", "tried: "},
		{"windows.adapter.jumbo", "guid:11111111-2222-3333-4444-00000000000a", "9000", "tried: the adapter takes only 1514, 4088, 9014"},
		{"windows.binding.protocols", "guid:11111111-2222-3333-4444-00000000000a/ms_server", "off", "tried: "},
	} {
		m, err := Windows{}.Mechanism(c.setting, c.target)
		if err != nil {
			t.Fatal(err)
		}
		try, ok := m.Trial(c.to)
		if !ok {
			t.Fatalf("%s cannot be tried", c.setting)
		}
		if got := r.read([]Mechanism{try})[0]; got != model.Known(c.want) {
			t.Errorf("%s to %s: %v, want %q", c.setting, c.to, got, c.want)
		}
	}
	r.has(before)
	m, err := Windows{}.Mechanism("windows.tcp.delayed_ack", "InternetCustom")
	if _, ok := m.Trial("1"); err != nil || ok {
		t.Errorf("what has no test can be tried: %v, %v", ok, err)
	}
	if _, ok := (Mechanism{Test: "x"}).Trial("'; rm"); ok {
		t.Error("a value that no script may hold is tried")
	}
}
