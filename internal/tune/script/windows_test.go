package script

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"linerate/internal/model"
	"linerate/internal/systems/fake/winhost"
	"linerate/internal/systems/frame"
	"linerate/internal/systems/windows"
)

// wanted are changes of each kind, with what the imitated host has before.
func wanted() []struct{ setting, target, from, to string } {
	const card = "guid:11111111-2222-3333-4444-00000000000b"
	return []struct{ setting, target, from, to string }{
		{"windows.adapter.jumbo", card, "1514", "9014"},
		{"windows.adapter.receive_buffers", card, "512", "4096"},
		{"windows.tcp.delayed_ack", "guid:11111111-2222-3333-4444-00000000000a", "absent", "1"},
		{"windows.tcp.delayed_ack", card, "1", "absent"},
		{"windows.tcp.autotuning", "InternetCustom", "normal", "restricted"},
		{"windows.smb.multichannel", "client", "true", "false"},
		{"windows.smb.credits", "server", "8192", "16384"},
		{"windows.binding.protocols", card + "/ms_server", "on", "off"},
	}
}

const winPlan = `C:\ProgramData\linerate\plans\` + plan

// plan is the name of the plan of all tests.
const plan = "tune-20261201-120000-1a2b"

// windowsRig is an imitated host with the script of a plan.
type windowsRig struct {
	t    *testing.T
	dir  string
	file string
}

func winScript(t *testing.T) string {
	t.Helper()
	text, err := winPlanScript(t).Text()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func winPlanScript(t *testing.T) Script {
	t.Helper()
	s := Script{Plan: plan, Host: "winfiler", System: Windows{}.System()}
	for _, w := range wanted() {
		m, err := Windows{}.Mechanism(w.setting, w.target)
		if err != nil {
			t.Fatal(err)
		}
		s.Steps = append(s.Steps, Step{Name: w.setting + "@" + w.target, From: w.from, To: w.to, Mechanism: m})
	}
	return s
}

// scratch is a directory that is removed file by file: wine, under which these tests run too, does
// not have what os.RemoveAll asks of Windows.
func scratch(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "linerate-windows-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		var all []string
		err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
			all = append(all, path)
			return err
		})
		for _, path := range slices.Backward(all) {
			err = errors.Join(err, os.Remove(path))
		}
		if err != nil {
			t.Error(err)
		}
	})
	return dir
}

func newWindowsRig(t *testing.T) *windowsRig {
	t.Helper()
	r := &windowsRig{t, scratch(t), `C:\Users\Admin\change.ps1`}
	if err := r.open("").Put(r.file, winScript(t)); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *windowsRig) open(how string) *winhost.Host {
	r.t.Helper()
	h, err := winhost.Open(r.dir, how)
	if err != nil {
		r.t.Fatal(err)
	}
	return h
}

func (r *windowsRig) run(how string, args ...string) (string, int) {
	r.t.Helper()
	var out bytes.Buffer
	code, err := r.open(how).RunFile(r.file, &out, args...)
	if err != nil {
		r.t.Fatalf("%v: %v: %s", args, err, out.String())
	}
	return out.String(), code
}

func (r *windowsRig) want(code int, args ...string) string {
	r.t.Helper()
	out, got := r.run("", args...)
	if got != code {
		r.t.Fatalf("%v: exit code %d, want %d:\n%s", args, got, code, out)
	}
	return out
}

// now are the values as the script for reading gives them.
func (r *windowsRig) now() string {
	r.t.Helper()
	var all []Mechanism
	for _, w := range wanted() {
		m, err := Windows{}.Mechanism(w.setting, w.target)
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, m)
	}
	var values []string
	for _, fact := range r.read(all) {
		v, ok := fact.Get()
		if !ok {
			v = "?" + fact.Why
		}
		values = append(values, v)
	}
	return strings.Join(values, " ")
}

func (r *windowsRig) read(all []Mechanism) (values []model.Fact[string]) {
	r.t.Helper()
	var out bytes.Buffer
	if code, err := r.open("").Run(Windows{}.System().Reading(all), &out); err != nil || code != 0 {
		r.t.Fatalf("read: %d, %v: %s", code, err, out.String())
	}
	frames, err := frame.Parse(out.Bytes())
	if err != nil {
		r.t.Fatalf("%v: %s", err, out.String())
	}
	for i := range all {
		values = append(values, frames.Text(fmt.Sprint(i)))
	}
	return values
}

const (
	before = "1514 512 absent 1 normal true 8192 on"
	after  = "9014 4096 1 absent restricted false 16384 off"
)

func (r *windowsRig) has(want string) {
	r.t.Helper()
	if got := r.now(); got != want {
		r.t.Errorf("the host has %s, want %s", got, want)
	}
}

func TestAPlanForWindowsIsAppliedConfirmedAndUndone(t *testing.T) {
	r := newWindowsRig(t)
	r.has(before)
	if out := r.want(0, "status"); !strings.Contains(out, "0 of 8 changes are open") {
		t.Error(out)
	}
	if _, err := os.Stat(filepath.Join(r.dir, "c", "programdata")); err == nil {
		t.Error("status made a directory")
	}
	r.want(0, "undo")
	out := r.want(0, "apply", "5")
	if said := strings.Split(strings.TrimSpace(out), "\n"); !Applied(plan, said) || !strings.Contains(out, "absent -> 1") {
		t.Error(out)
	}
	r.has(after)
	if tasks := r.open("").Tasks(); len(tasks) != 1 || !strings.Contains(tasks["linerate-"+plan], winPlan+`\change.ps1" unconfirmed`) {
		t.Errorf("tasks %v", tasks)
	}
	r.want(0, "apply") // twice is once
	if out := r.want(0, "status"); !strings.Contains(out, "8 of 8 changes are open") || !strings.Contains(out, "waits to be confirmed: "+plan) {
		t.Error(out)
	}
	r.want(0, "confirm")
	r.want(1, "confirm")
	r.want(0, "unconfirmed")
	r.has(after)
	if tasks := r.open("").Tasks(); len(tasks) != 0 {
		t.Errorf("tasks %v", tasks)
	}
	r.file = winPlan + `\change.ps1` // by the copy that is kept
	if out := r.want(0, "undo"); !Undone(plan, strings.Split(strings.TrimSpace(out), "\n")) {
		t.Error(out)
	}
	r.want(0, "undo")
	r.has(before)
	r.want(0, "apply", "5")
	code, out, err := r.open("").RunTask(r.open("").Tasks()["linerate-"+plan])
	if err != nil || code != 0 {
		t.Errorf("at its time: %d, %v: %s", code, err, out)
	}
	r.has(before)
	r.want(1, "confirm")
	for _, bad := range [][]string{{}, {"apply", "05"}, {"apply", "-1"}, {"apply", "1", "2"}, {"undo", "x"}, {"status", "x"}, {"restore"}} {
		r.want(2, bad...)
	}
}

// What a write does not do as it should, at each step: nothing of the plan stays.
func TestAPlanForWindowsThatFailsIsPutBack(t *testing.T) {
	for _, cmdlet := range []string{"set-netadapteradvancedproperty", "set-itemproperty", "remove-itemproperty", "set-nettcpsetting", "set-smbclientconfiguration", "set-smbserverconfiguration"} {
		for _, how := range []string{"fail:", "ignore:"} {
			r := newWindowsRig(t)
			want := Refused
			if cmdlet == "remove-itemproperty" { // what was made cannot be put back without it either
				want = NotRestored
			}
			if out, code := r.run(how+cmdlet, "apply"); code != want {
				t.Errorf("%s%s: exit code %d, want %d\n%s", how, cmdlet, code, want, out)
			}
			r.want(0, "undo")
			r.has(before)
		}
	}
	r := newWindowsRig(t)
	if out, code := r.run("round:*ReceiveBuffers", "apply"); code != 0 || !strings.Contains(out, "the system made 128 of 4096") {
		t.Errorf("%d\n%s", code, out)
	}
	r.want(0, "undo")
	r.has(before)
}

// A rollback that could not put everything back keeps its task, which tries again until it is done;
// without one the user is told.
func TestARollbackOnWindowsThatFailsIsTriedAgain(t *testing.T) {
	const broken = "fail:remove-itemproperty" // the second step on the registry, and the way back of the first
	r := newWindowsRig(t)
	out, code := r.run(broken, "apply", "5")
	task := r.open("").Tasks()["linerate-"+plan]
	if code != NotRestored || !strings.HasSuffix(task, " unconfirmed") || !strings.Contains(out, "tries again by itself") {
		t.Fatalf("%d, task %q:\n%s", code, task, out)
	}
	if code, out, err := r.open(broken).RunTask(task); err != nil || code != NotRestored || !strings.Contains(out, "tries again in ten minutes") {
		t.Errorf("%d, %v:\n%s", code, err, out)
	}
	if task = r.open("").Tasks()["linerate-"+plan]; task == "" {
		t.Fatal("the task is gone")
	}
	if code, out, err := r.open("").RunTask(task); err != nil || code != 0 {
		t.Errorf("%d, %v:\n%s", code, err, out)
	}
	r.has(before)
	if tasks := r.open("").Tasks(); len(tasks) != 0 {
		t.Errorf("tasks %v", tasks)
	}
	if out, code := r.run(broken, "apply"); code != NotRestored || !strings.Contains(out, "does not try again by itself") {
		t.Errorf("%d\n%s", code, out)
	}
	r.want(0, "undo")
	r.has(before)
}

// What fails in the first pass of undo is tried once more in the same run.
func TestUndoOnWindowsMakesASecondPass(t *testing.T) {
	r := newWindowsRig(t)
	r.want(0, "apply")
	if out, code := r.run("failonce:set-smbserverconfiguration", "undo"); code != 0 || !strings.Contains(out, "could not be set back") {
		t.Errorf("%d\n%s", code, out)
	}
	r.has(before)
}

// windowsSettings are those that a plan can change.
func windowsSettings() []string {
	out := []string{bindings, "windows.mpio.policy", "windows.registry.TcpNoDelay", "windows.smb.credits", "windows.smb.multichannel", "windows.smb.throttling", "windows.tcp.autotuning", "windows.tcp.delayed_ack"}
	for id := range windows.Keywords() {
		out = append(out, id)
	}
	return out
}

// Each setting by itself is read, applied with the first other value that the host takes, and
// undone.
func TestEachSettingOfWindowsIsUndone(t *testing.T) {
	for _, setting := range windowsSettings() {
		done := false
		for _, target := range []string{"guid:11111111-2222-3333-4444-00000000000a", "guid:11111111-2222-3333-4444-00000000000b", "InternetCustom", "client", "server", "", "guid:11111111-2222-3333-4444-00000000000a/ms_pacer"} {
			m, err := Windows{}.Mechanism(setting, target)
			if err != nil || done {
				continue
			}
			for _, to := range []string{"0", "1", "2", "3", "4", "8", "128", "256", "1024", "4088", "9014", "true", "false", "restricted", "rr", "off"} {
				if to, err = (Windows{}).Canonical(setting, target, to); err == nil && !done {
					done = undoneAlone(t, setting, m, to)
				}
			}
		}
		if !done {
			t.Errorf("%s: the host takes no other value", setting)
		}
	}
}

// undoneAlone: false where the host does not take the value, or has it.
func undoneAlone(t *testing.T, setting string, m Mechanism, to string) bool {
	t.Helper()
	r := &windowsRig{t, scratch(t), `C:\Users\Admin\change.ps1`}
	from, ok := r.read([]Mechanism{m})[0].Get()
	if !ok || from == to {
		return false
	}
	text, err := Script{Plan: plan, System: Windows{}.System(), Steps: []Step{{Name: setting, From: from, To: to, Mechanism: m}}}.Text()
	if err == nil {
		err = r.open("").Put(r.file, text)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, code := r.run("", "apply"); code != 0 {
		if now, _ := r.read([]Mechanism{m})[0].Get(); code != Refused || now != from {
			t.Errorf("%s to %s: %d, is %s\n%s", setting, to, code, now, out)
		}
		return false
	}
	if now, _ := r.read([]Mechanism{m})[0].Get(); now != to {
		t.Errorf("%s: applied it is %q, want %q", setting, now, to)
	}
	r.want(0, "undo")
	if now, _ := r.read([]Mechanism{m})[0].Get(); now != from {
		t.Errorf("%s: undone it is %q, was %q", setting, now, from)
	}
	return true
}

// The host is not changed where nothing would undo the plan by itself.
func TestWindowsWithoutTasksIsNotChanged(t *testing.T) {
	for _, how := range []string{"missing:register-scheduledtask", "denied:register-scheduledtask", "denied:start-scheduledtask"} {
		r := newWindowsRig(t)
		if out, code := r.run(how, "apply", "5"); code != 1 || !strings.Contains(out, "nothing was changed") {
			t.Errorf("%s: %d\n%s", how, code, out)
		}
		r.has(before)
		if tasks := r.open("").Tasks(); len(tasks) != 0 {
			t.Errorf("%s: tasks %v", how, tasks)
		}
	}
}

func TestWhatIsNotForAnAdapterIsRefused(t *testing.T) {
	const card = "guid:11111111-2222-3333-4444-00000000000a"
	for _, c := range []struct{ setting, from, to, want string }{
		{"windows.adapter.jumbo", "1514", "9000", "takes only 1514, 4088, 9014"},
		{"windows.adapter.receive_buffers", "512", "8192", "takes 128 to 4096"},
		{"windows.adapter.transmit_buffers", "512", "1000", "in steps of 64"},
	} {
		r := newWindowsRig(t)
		m, err := Windows{}.Mechanism(c.setting, card)
		if err != nil {
			t.Fatal(err)
		}
		text, err := Script{Plan: plan, System: Windows{}.System(), Steps: []Step{{Name: c.setting, From: c.from, To: c.to, Mechanism: m}}}.Text()
		if err == nil {
			err = r.open("").Put(r.file, text)
		}
		if err != nil {
			t.Fatal(err)
		}
		if out := r.want(1, "apply"); !strings.Contains(out, c.want) || !strings.Contains(out, "nothing was changed") {
			t.Errorf("%s: %s", c.setting, out)
		}
	}
	for setting, target := range map[string]string{"windows.tcp.chimney": "", "windows.tcp.netdma": "", "windows.adapter.jumbo": "", "windows.smb.signing": "client", "windows.tcp.autotuning": "x';y", "windows.smb.credits": "client"} {
		if m, err := (Windows{}).Mechanism(setting, target); err == nil {
			t.Errorf("%s@%s: %+v", setting, target, m)
		}
	}
}

func TestWhatSomebodyElseChangedOnWindowsIsLeftAlone(t *testing.T) {
	r := newWindowsRig(t)
	other := func(text string) {
		t.Helper()
		if code, err := r.open("").Run("$ErrorActionPreference = 'Stop'\n"+text, &bytes.Buffer{}); err != nil || code != 0 {
			t.Fatal(code, err)
		}
	}
	other("Set-SmbServerConfiguration -Smb2CreditsMax 2048 -Force")
	if out := r.want(1, "apply"); !strings.Contains(out, "is 2048, and the plan was made for 8192: nothing was changed") {
		t.Error(out)
	}
	other("Set-SmbServerConfiguration -Smb2CreditsMax 8192 -Force")
	r.want(0, "apply")
	other("Set-SmbServerConfiguration -Smb2CreditsMax 2048 -Force")
	r.want(1, "apply")
	if out := r.want(4, "undo"); !strings.Contains(out, "ours 16384, theirs 2048, original 8192") {
		t.Error(out)
	}
	r.has("1514 512 absent 1 normal true 2048 on")
	r.want(0, "undo", "--force")
	r.has(before)
}

// The restart of an adapter would end the very session that the script runs in.
func TestTheAdapterOfTheSessionIsNotRestarted(t *testing.T) {
	r := newWindowsRig(t)
	m, err := Windows{}.Mechanism("windows.adapter.jumbo", "guid:11111111-2222-3333-4444-00000000000a")
	if err != nil {
		t.Fatal(err)
	}
	text, err := Script{Plan: plan, System: Windows{}.System(), Steps: []Step{{Name: "windows.adapter.jumbo", From: "1514", To: "9014", Mechanism: m}}}.Text()
	if err == nil {
		err = r.open("").Put(r.file, text)
	}
	if err != nil {
		t.Fatal(err)
	}
	for session, want := range map[string]int{"192.0.2.1 50000 192.0.2.10 22": Refused, "192.0.2.1 50000 192.0.2.11 22": 0} {
		h := r.open("")
		h.Setenv("SSH_CONNECTION", session)
		var out bytes.Buffer
		if code, err := h.RunFile(r.file, &out, "apply"); err != nil || code != want || (want == Refused) != strings.Contains(out.String(), "whose restart would end it") {
			t.Errorf("%s: %d, %v: %s", session, code, err, out.String())
		}
		r.want(0, "undo")
	}
}

// A directory that others can write to is not used, and no script of theirs is run.
func TestADirectoryOfOthersOnWindowsIsRefused(t *testing.T) {
	r := newWindowsRig(t)
	if err := r.open("").Put(winPlan+`\change.ps1`, "[Console]::Out.Write('evil')\n"); err != nil {
		t.Fatal(err)
	}
	if out := r.want(1, "apply"); !strings.Contains(out, "only administrators") {
		t.Error(out)
	}
	text, err := Windows{}.System().OnPlans("", "", "undo")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := r.open("").Run(text, &out); err != nil || strings.Contains(out.String(), "evil") {
		t.Errorf("%v: %s", err, out.String())
	}
	said, code, err := Outcome(out.Bytes())
	if err != nil || code != 1 || !strings.Contains(strings.Join(said, " "), "only administrators") {
		t.Errorf("%d, %v: %q", code, err, said)
	}
	r.has(before)
}

func TestAScriptIsCarriedToWindows(t *testing.T) {
	r := newWindowsRig(t)
	text, err := Windows{}.System().Carry(winScript(t), "apply")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := r.open("").Run(text, &out); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if said, code, err := Outcome(out.Bytes()); err != nil || code != 0 || !Applied(plan, said) {
		t.Errorf("%d, %v: %q", code, err, said)
	}
	r.has(after)
	out.Reset()
	if text, err = (Windows{}).System().OnPlans("", plan, "undo"); err == nil {
		_, err = r.open("").Run(text, &out)
	}
	if said, code, oerr := Outcome(out.Bytes()); err != nil || oerr != nil || code != 0 || !Undone(plan, said) || len(Plans(said)) != 1 {
		t.Errorf("%d, %v, %v: %q", code, err, oerr, said)
	}
	r.has(before)
}
