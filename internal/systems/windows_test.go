package systems

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/model"
	"linerate/internal/rules"
	"linerate/internal/systems/fake/winhost"
	"linerate/internal/systems/frame"
	"linerate/internal/unit"
)

// askWindows has the imitated PowerShell run the real script.
func askWindows(t *testing.T, how string) []byte {
	t.Helper()
	h, err := winhost.Open("", how)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := Find("windows")
	var out bytes.Buffer
	code, err := h.Run(s.Script(), &out)
	if err != nil || code != 0 {
		t.Fatalf("%s: %d, %v: %s", how, code, err, out.String())
	}
	return out.Bytes()
}

func readWindows(t *testing.T, answer []byte) *model.Facts {
	t.Helper()
	s, _ := Find("windows")
	f, err := Read(s, answer, "winfiler", time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Shares in use are judged as mounts, each once, and nobody's name is read.
func TestSharesThatWindowsUsesAreJudged(t *testing.T) {
	answer := askWindows(t, "")
	f := readWindows(t, answer)
	if bytes.Contains(answer, []byte("FIRMA")) {
		t.Error("the answer has a user's name")
	}
	want := []string{`\\nas1\media smb invalid IP:445 tcp by "" vers=3.1.1 sign`, `\\192.0.2.44\alt smb 192.0.2.44:445 tcp by "" vers=2.0`}
	if got := mountLines(f); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	var got []string
	for _, found := range rules.Check(f, rules.Context{}) {
		if strings.HasPrefix(found.Rule, "smb-") {
			got = append(got, found.Severity+" "+found.Rule+" "+found.Observed)
			if strings.Contains(found.Source, "cifs") {
				t.Errorf("%s cites a manual of Linux: %s", found.Rule, found.Source)
			}
		}
	}
	if want := []string{`medium smb-old-dialect \\192.0.2.44\alt: vers=2.0`, `info smb-signed \\nas1\media: signing is on`}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	none := bytes.Replace(answer, []byte(`"Dialect":"3.1.1"`), []byte(`"Dialect":"x.1.1"`), 1)
	if odd := readWindows(t, none); len(odd.Storage) != 2 || len(odd.CouldNotSee) != len(f.CouldNotSee)+1 {
		t.Errorf("%+v", odd.CouldNotSee)
	}
}

// A recording that may be shared names neither the computer nor its cards, and is read as the
// computer was.
func TestAShareableRecordingOfWindowsNamesNobody(t *testing.T) {
	whole := askWindows(t, "denied:get-smbserverconfiguration")
	shared, err := frame.ShareWindows(whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"WINFILER", "90E2BA", "11111111-2222", "Müller", "M\\u00fcller", "2001:db8:1", "nas1", "192.0.2.44"} {
		if strings.Contains(strings.ToLower(string(shared)), strings.ToLower(secret)) {
			t.Errorf("%q stays: %s", secret, shared)
		}
	}
	was, now := readWindows(t, whole), readWindows(t, shared)
	if now.Hostname != "host" || len(now.NICs) != len(was.NICs) || len(now.Settings) != len(was.Settings) || len(now.CouldNotSee) != len(was.CouldNotSee)+1 {
		t.Errorf("%q, %d adapters, %d settings, not seen %+v", now.Hostname, len(now.NICs), len(now.Settings), now.CouldNotSee)
	}
	for id, v := range was.Settings {
		if now.Settings[id] != v {
			t.Errorf("%s is %v, was %v", id, now.Settings[id], v)
		}
	}
	for i, n := range now.NICs {
		if w := was.NICs[i]; n.Name != w.Name || n.Speed != w.Speed || n.MTU != w.MTU || len(n.Addrs) != len(w.Addrs) || n.Device == w.Device {
			t.Errorf("%+v, was %+v", n, w)
		}
	}
	if _, err := frame.ShareWindows(whole[:len(whole)/2]); !errors.Is(err, frame.ErrCut) {
		t.Errorf("half of it: %v", err)
	}
}

func TestWindowsIsRead(t *testing.T) {
	f := readWindows(t, askWindows(t, ""))
	if f.Hostname != "WINFILER" || f.Kernel != "10.0.20348" || f.UID != 0 || len(f.CPUs) != 16 || f.Memory.Or(0) != 128*unit.GiB || f.BootID != "boot_time 20261125080000" {
		t.Errorf("host %q kernel %q uid %d cpus %d memory %v boot %q", f.Hostname, f.Kernel, f.UID, len(f.CPUs), f.Memory, f.BootID)
	}
	for id, want := range map[string]model.Fact[string]{
		"windows.adapter.jumbo@SAN1":                     model.Known("1514"),
		"windows.adapter.receive_buffers@SAN 2 (Büro)":   model.Known("512"),
		"windows.adapter.rss@SAN1":                       model.Known("enabled"),
		"windows.adapter.rss":                            model.Known("enabled"),
		"windows.tcp.delayed_ack@SAN1":                   model.Unknown[string](model.Absent, "the registry does not have it: the system's default holds"),
		"windows.tcp.delayed_ack@SAN 2 (Büro)":           model.Known("1"),
		"windows.tcp.delayed_ack@Ethernet":               model.Unknown[string](model.Absent, "the registry has no key for this adapter"),
		"windows.tcp.autotuning@Internet":                model.Known("normal"),
		"windows.tcp.congestion_provider@InternetCustom": model.Known("cubic"),
		"windows.tcp.chimney":                            model.Unknown[string](model.Unsupported, "this Windows no longer has it"),
		"windows.smb.multichannel@client":                model.Known("true"),
		"windows.smb.credits@server":                     model.Known("8192"),
		"windows.power.plan":                             model.Known("Balanced"),
		"windows.binding.protocols@SAN1":                 model.Known("all"),
		"windows.mpio.policy":                            model.Known("None"),
	} {
		if f.Settings[id] != want {
			t.Errorf("%s is %v, want %v", id, f.Settings[id], want)
		}
	}
	if _, ok := f.Settings["windows.tcp.autotuning@Automatic"]; ok {
		t.Error("a template that has no values has one")
	}
	if len(f.NICs) != 3 {
		t.Fatalf("adapters %+v", f.NICs)
	}
	san, down, virtual := f.NICs[0], f.NICs[1], f.NICs[2]
	if san.Name != "SAN1" || san.Speed.Or(0) != 10*unit.Gbit || san.MTU != 1500 || len(san.Addrs) != 2 || san.Driver.Or("") != "ixn68x64" || san.Duplex.Or("") != "full" ||
		san.Device != "guid:11111111-2222-3333-4444-00000000000a" || san.Counters.Value["rx_dropped"] != 3 {
		t.Errorf("%+v", san)
	}
	if down.Up || down.Speed.State != model.Absent || down.Duplex.State != model.Absent || down.Name != "SAN 2 (Büro)" {
		t.Errorf("%+v", down)
	}
	if virtual.Kind != "virtual" || virtual.Speed.State != model.Unsupported {
		t.Errorf("%+v", virtual)
	}
	if len(f.CouldNotSee) != 1 {
		t.Errorf("not seen %+v", f.CouldNotSee)
	}
}

// Protocols that are off are named by their components, and a host without MPIO has no policy and no complaint.
func TestBindingsAndPathsOfWindowsAreRead(t *testing.T) {
	f := readWindows(t, askWindows(t, "unbound:ms_tcpip6,unbound:ms_server,missing:get-msdsmglobaldefaultloadbalancepolicy"))
	if v := f.Settings["windows.binding.protocols@SAN1"]; v != model.Known("without ms_server ms_tcpip6") {
		t.Errorf("%v", v)
	}
	if v := f.Settings["windows.mpio.policy"]; v.State != model.Unsupported || len(f.CouldNotSee) != 1 {
		t.Errorf("%v, not seen %+v", v, f.CouldNotSee)
	}
}

// An older recording, which did not ask for it, does not tell that a host lacks MPIO.
func TestARecordingThatDidNotAskForPathsSaysNothingOfThem(t *testing.T) {
	frames, err := frame.Parse(askWindows(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	delete(frames, "mpio")
	s, _ := Find("windows")
	if v := s.Facts(frames).Settings["windows.mpio.policy"]; v.State != model.Absent || v.Why != "it was not asked" {
		t.Errorf("%+v", v)
	}
}

// Two cards of other vendors are each read by their own keywords. What a driver lacks is said, and
// no keyword of its own, whatever it is called for people, is taken for it.
func TestEachCardIsReadByItsOwnKeywords(t *testing.T) {
	f := readWindows(t, askWindows(t, "unlike"))
	lacks := func(keyword string) model.Fact[string] {
		return model.Unknown[string](model.Unsupported, "the driver of this adapter has no "+keyword)
	}
	const two = "@SAN 2 (Büro)"
	for id, want := range map[string]model.Fact[string]{
		"windows.adapter.jumbo@SAN1":             model.Known("1514"),
		"windows.adapter.receive_buffers@SAN1":   model.Known("512"),
		"windows.adapter.transmit_buffers@SAN1":  model.Known("512"),
		"windows.adapter.rss_profile@SAN1":       model.Known("4"),
		"windows.adapter.jumbo" + two:            model.Known("1514"),
		"windows.adapter.receive_buffers" + two:  lacks("*ReceiveBuffers"),
		"windows.adapter.transmit_buffers" + two: model.Known("1024"),
		"windows.adapter.rss_profile" + two:      lacks("*RSSProfile"),
	} {
		if f.Settings[id] != want {
			t.Errorf("%s is %v, want %v", id, f.Settings[id], want)
		}
	}
	if _, ok := f.Settings["windows.adapter.rsc@Ethernet"]; ok {
		t.Error("a virtual adapter is asked for what only cards have")
	}
	for id := range readWindows(t, askWindows(t, "unlike,denied:get-netadapteradvancedproperty")).Settings {
		if strings.HasPrefix(id, "windows.adapter.jumbo") {
			t.Errorf("%s has a value or lacks one, and was not read", id)
		}
	}
}

// A cmdlet that fails in its own way leaves the rest readable, and is told; in what language it
// says so does not matter.
func TestWhatACmdletDoesNotSayIsTold(t *testing.T) {
	for how, want := range map[string]string{
		"empty:get-nettcpsetting":              "gave nothing and reported success",
		"empty:get-netadapteradvancedproperty": "gave nothing and reported success",
		"denied:get-smbserverconfiguration":    "log in as an administrator: Microsoft.Management.Infrastructure.CimException, PermissionDenied: Zugriff verweigert für Müller",
		"missing:get-smbclientconfiguration":   "no such cmdlet",
		"missing:get-netoffloadglobalsetting":  "no such cmdlet",
	} {
		f := readWindows(t, askWindows(t, how))
		told := false
		for _, b := range f.CouldNotSee {
			told = told || strings.Contains(b.How, want)
		}
		if !told || f.Hostname != "WINFILER" {
			t.Errorf("%s: %q: %+v", how, f.Hostname, f.CouldNotSee)
		}
	}
	if f := readWindows(t, askWindows(t, "noadmin")); f.UID != -1 {
		t.Errorf("uid %d of a user who is no administrator", f.UID)
	}
	if _, ok := readWindows(t, askWindows(t, "empty:get-nettcpsetting")).Settings["windows.tcp.autotuning@Internet"]; ok {
		t.Error("a value all the same")
	}
}

func TestACutAnswerOfWindowsIsNoAnswer(t *testing.T) {
	s, _ := Find("windows")
	whole := askWindows(t, "")
	for n := 0; n < len(whole)-1; n += 1 + n%23 {
		if f, err := Read(s, whole[:n], "w", time.Time{}); err == nil {
			t.Fatalf("cut after %d of %d bytes: %+v", n, len(whole), f)
		}
	}
	if _, err := Read(s, nil, "w", time.Time{}); !errors.Is(err, frame.ErrCut) {
		t.Errorf("an empty answer: %v", err)
	}
	for _, b := range whole {
		if b > '~' {
			t.Fatal("a byte that a code page changes")
		}
	}
}

// What decides is the policy where there is one, whatever is set locally.
func TestPolicyOverrulesTheLocalLevel(t *testing.T) {
	answer := strings.NewReplacer(
		`"AutoTuningLevelGroupPolicy":255`, `"AutoTuningLevelGroupPolicy":  0`, `"AutoTuningLevelEffective":0`, `"AutoTuningLevelEffective":1`,
	).Replace(string(askWindows(t, "")))
	f := readWindows(t, []byte(answer))
	if got := f.Settings["windows.tcp.autotuning@Internet"]; got != model.Known("disabled") {
		t.Errorf("autotuning is %v", got)
	}
}

// TestWindowsRecording keeps the imitation's answer among the recordings.
func TestWindowsRecording(t *testing.T) {
	file := filepath.Join("testdata", "windows-fake.frames")
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(file, askWindows(t, ""), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if now, then := readWindows(t, askWindows(t, "")), readWindows(t, kept); now.Settings["windows.power.plan"] != then.Settings["windows.power.plan"] || len(now.Settings) != len(then.Settings) {
		t.Error("the recording is of an older script: go test ./internal/systems -run Windows -update")
	}
}
