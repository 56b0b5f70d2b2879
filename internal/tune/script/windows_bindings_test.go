package script

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"linerate/internal/systems/fake/powershell"
)

// protocolRig is a host with a plan that switches protocols of its first card off, each from on.
func protocolRig(t *testing.T, all ...string) *windowsRig {
	t.Helper()
	r := &windowsRig{t, scratch(t), `C:\Users\Admin\change.ps1`}
	s := Script{Plan: plan, Host: "winfiler", System: Windows{}.System()}
	for _, c := range all {
		s.Steps = append(s.Steps, Step{Name: bindings + "@SAN1/" + c, From: "on", To: "off", Mechanism: mechanism(t, bindings, cardOne+"/"+c)})
	}
	text, err := s.Text()
	if err == nil {
		err = r.open("").Put(r.file, text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// switches is what somebody else does to a protocol of the first card.
func (r *windowsRig) switches(verb, component string) {
	r.t.Helper()
	text := `$name = [string]@(Get-NetAdapter)[0].CimInstanceProperties['Name'].Value
foreach ($one in @(Get-NetAdapterBinding)) {
    if (([string]$one.CimInstanceProperties['Name'].Value -ceq $name) -and ([string]$one.CimInstanceProperties['ComponentID'].Value -eq '` + component + `')) { ` + verb + `-NetAdapterBinding -InputObject $one }
}
`
	if code, err := r.open("").Run(text, &bytes.Buffer{}); err != nil || code != 0 {
		r.t.Fatal(code, err)
	}
}

// are holds the protocols of the first card to what they should be, as "ms_pacer=on".
func (r *windowsRig) are(want ...string) {
	r.t.Helper()
	for _, w := range want {
		c, value, _ := strings.Cut(w, "=")
		if got := r.read([]Mechanism{mechanism(r.t, bindings, cardOne+"/"+c)})[0]; got.Or("?") != value {
			r.t.Errorf("%s is %v, want %s", c, got, value)
		}
	}
}

// ran holds a run to its exit code and to a text that it prints.
func (r *windowsRig) ran(how string, code int, said string, args ...string) {
	r.t.Helper()
	if out, got := r.run(how, args...); got != code || !strings.Contains(out, said) {
		r.t.Errorf("%s %v: exit code %d, want %d with %q:\n%s", how, args, got, code, said, out)
	}
}

// killedAt ends a run once it has made that effect so many times.
func (r *windowsRig) killedAt(how, effect string, times int, args ...string) {
	r.t.Helper()
	h, n := r.open(how), 0
	h.Step = func(what string) error {
		if what == effect {
			if n++; n == 2*times { // each is told before and after
				return powershell.ErrKilled
			}
		}
		return nil
	}
	if _, err := h.RunFile(r.file, &bytes.Buffer{}, args...); !errors.Is(err, powershell.ErrKilled) {
		r.t.Fatalf("%v is not killed: %v", args, err)
	}
}

const undone, put = "nothing of plan " + plan + " is in force", "what this plan changed is put back"

// One that Windows switches when a protocol is put back is put back too, also by the run after a killed one.
func TestAProtocolThatIsSwitchedByUndoIsSwitchedBack(t *testing.T) {
	r := protocolRig(t, "ms_server")
	r.switches("Disable", "ms_pacer")
	r.want(0, "apply")
	r.ran("alsoon:ms_pacer", 0, undone, "undo")
	r.are("ms_server=on", "ms_pacer=off")
	r.want(0, "apply")
	r.killedAt("alsoon:ms_pacer", "enable-netadapterbinding", 1, "undo")
	r.are("ms_server=on", "ms_pacer=on")
	r.ran("", 0, undone, "undo")
	r.are("ms_server=on", "ms_pacer=off")
}

// Killed between the write and the look at the others, the next run still knows how they were.
func TestAProtocolThatIsSwitchedByAKilledApplyIsSwitchedBack(t *testing.T) {
	for _, verb := range []string{"apply", "undo"} {
		r := protocolRig(t, "ms_server")
		r.killedAt("alsooff:ms_pacer", "disable-netadapterbinding", 1, "apply")
		r.are("ms_server=off", "ms_pacer=off")
		if verb == "apply" {
			r.ran("", Refused, put, verb)
		} else {
			r.ran("", 0, undone, verb)
		}
		r.are("ms_server=on", "ms_pacer=on")
	}
}

// One that went with a protocol and does not come back with it is switched back; where linerate does not switch it, that is said.
func TestAProtocolThatDoesNotComeBackIsSwitchedBack(t *testing.T) {
	r := protocolRig(t, "ms_server")
	r.ran("alsooff:ms_pacer", Refused, put, "apply")
	r.are("ms_server=on", "ms_pacer=on")
	r.ran("alsooff:ms_tcpip", NotRestored, "not restored: by hand, ms_tcpip=on", "apply")
	r.ran("", NotRestored, "not restored: by hand, ms_tcpip=on", "undo")
	r.switches("Enable", "ms_tcpip")
	r.ran("", 0, undone, "undo")
	r.are("ms_server=on")
	r.want(0, "apply")
	r.ran("alsoon:ms_pacer,ignore:disable-netadapterbinding", 0, undone, "undo") // it is on before
	r.are("ms_server=on", "ms_pacer=on")
	r.switches("Disable", "ms_pacer")
	r.want(0, "apply")
	r.ran("alsoon:ms_pacer,fail:disable-netadapterbinding", NotRestored, "by hand, ms_pacer=off (Get-NetAdapterBinding shows all); Das geht heute nicht", "undo")
	r.ran("", 0, "Windows switched another protocol of the adapter with ms_server: ms_pacer=off again", "undo")
}

// One that is not said to be on or off keeps nothing from being put back, and a plan from being begun.
func TestAProtocolOfWhichNothingIsSaid(t *testing.T) {
	r := protocolRig(t, "ms_server")
	r.ran("unsaid:ms_implat", Refused, "whether the adapter has ms_implat on is not given, and Windows may switch it too: nothing was changed", "apply")
	r.are("ms_server=on")
	r.want(0, "apply")
	r.ran("unsaid:ms_implat", 0, undone, "undo")
	r.are("ms_server=on")
}

// What somebody else switched while the plan was in force stays so.
func TestAProtocolThatSomebodyElseSwitchedIsLeftAlone(t *testing.T) {
	r := protocolRig(t, "ms_server")
	r.want(0, "apply")
	r.switches("Disable", "ms_pacer")
	r.ran("", 0, undone, "undo")
	r.are("ms_server=on", "ms_pacer=off")
}

// Several protocols of one adapter: no step takes another's for one that Windows switched, whatever fails on the way.
func TestSeveralProtocolsOfOneAdapterAreUndone(t *testing.T) {
	const on, off = "ms_server=on ms_tcpip6=on ms_msclient=on", "ms_server=off ms_tcpip6=off ms_msclient=off"
	for _, how := range []string{"", "failonce:enable-netadapterbinding", "also:ms_tcpip6", "alsooff:ms_pacer", "alsoon:ms_msclient"} {
		r := protocolRig(t, "ms_server", "ms_tcpip6", "ms_msclient")
		r.want(0, "apply")
		r.are(strings.Fields(off)...)
		r.ran(how, 0, undone, "undo")
		r.are(strings.Fields(on + " ms_pacer=on")...)
	}
	for _, how := range []string{"also:ms_tcpip6", "alsooff:ms_pacer", "alsooff:ms_server", "alsooff:ms_msclient"} {
		r := protocolRig(t, "ms_tcpip6", "ms_server", "ms_msclient")
		if out, code := r.run(how, "apply"); code != Refused && code != 0 {
			t.Errorf("%s: %d\n%s", how, code, out)
		}
		r.ran("", 0, undone, "undo")
		r.are(strings.Fields(on + " ms_pacer=on")...)
	}
	// Undone in part, the plan is applied again by the same script.
	r := protocolRig(t, "ms_server", "ms_tcpip6", "ms_msclient")
	r.want(0, "apply")
	r.killedAt("", "enable-netadapterbinding", 2, "undo")
	r.want(0, "apply")
	r.are(strings.Fields(off)...)
	r.want(0, "undo")
	r.are(strings.Fields(on)...)
}

// linerate puts back no other protocols than those that it switches.
func TestTheListOfProtocolsIsOne(t *testing.T) {
	_, list, ok := strings.Cut(settingsPS, "$protocols = @(")
	list, _, ok2 := strings.Cut(list, ")")
	want, _, ok3 := strings.Cut(bindingTarget().String()[strings.LastIndex(bindingTarget().String(), "/(")+2:], ")")
	if got := strings.NewReplacer("'", "", ", ", "|").Replace(list); !ok || !ok2 || !ok3 || got != want {
		t.Errorf("the script has %q, the plan %q", got, want)
	}
}
