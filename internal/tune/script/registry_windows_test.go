package script

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/windows/registry"

	"linerate/internal/systems/fake/powershell"
	"linerate/internal/systems/fake/winhost"
)

// real is this machine's registry, below a key of the tests.
type real struct{}

func open(key string, access uint32) (registry.Key, error) {
	rest, ok := strings.CutPrefix(key, `HKEY_LOCAL_MACHINE\`)
	if !ok {
		return 0, winhost.ErrNoKey
	}
	k, err := registry.OpenKey(registry.LOCAL_MACHINE, rest, access)
	if errors.Is(err, registry.ErrNotExist) {
		err = winhost.ErrNoKey
	}
	return k, err
}

func lacks(err error) error {
	if errors.Is(err, registry.ErrNotExist) {
		return winhost.ErrNoValue
	}
	return err
}

// Get implements winhost.Registry.
func (real) Get(key, name string) (any, error) {
	k, err := open(key, registry.QUERY_VALUE)
	if err != nil {
		return nil, err
	}
	defer k.Close()
	n, kind, err := k.GetIntegerValue(name)
	if kind == registry.SZ {
		text, _, err := k.GetStringValue(name)
		return text, lacks(err)
	}
	return int64(n), lacks(err)
}

// Set implements winhost.Registry.
func (real) Set(key, name string, n uint32) error {
	k, err := open(key, registry.SET_VALUE)
	if err != nil {
		return err
	}
	return errors.Join(k.SetDWordValue(name, n), k.Close())
}

// Delete implements winhost.Registry.
func (real) Delete(key, name string) error {
	k, err := open(key, registry.SET_VALUE)
	if err != nil {
		return err
	}
	return errors.Join(lacks(k.DeleteValue(name)), k.Close())
}

// An adapter of the imitated host, whose key is made in the real registry.
const (
	realCard = "guid:11111111-2222-3333-4444-00000000000a"
	realKey  = `HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces\{11111111-2222-3333-4444-00000000000A}`
)

// reg runs Windows' own program, which shows what no code of ours has read.
func reg(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("reg", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("reg %v: %v: %s", args, err, out)
	}
	return string(out)
}

// values are those of the key, with their types, as reg shows them.
func values(t *testing.T) string {
	t.Helper()
	var all []string
	for line := range strings.Lines(reg(t, "query", realKey)) {
		if f := strings.Fields(line); len(f) == 3 && strings.HasPrefix(f[1], "REG_") {
			all = append(all, strings.Join(f, " "))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// registryRig is an imitated host whose registry is the real one, with a plan for two values.
type registryRig struct {
	*windowsRig
	t *testing.T
}

func newRegistryRig(t *testing.T, was ...string) registryRig {
	t.Helper()
	reg(t, "add", realKey, "/v", "EnableDHCP", "/t", "REG_DWORD", "/d", "1", "/f")
	t.Cleanup(func() { reg(t, "delete", realKey, "/f") })
	for _, name := range []string{"TcpAckFrequency", "TCPNoDelay"} {
		if err := (real{}).Delete(realKey, name); err != nil && !errors.Is(err, winhost.ErrNoValue) {
			t.Fatal(err)
		}
	}
	if len(was) > 0 {
		reg(t, append([]string{"add", realKey}, was...)...)
	}
	r := registryRig{&windowsRig{t, scratch(t), `C:\Users\Admin\change.ps1`}, t}
	s := Script{Plan: plan, Host: "winfiler", System: Windows{}.System()}
	for setting, from := range map[string]string{"windows.tcp.delayed_ack": "absent", "windows.registry.TcpNoDelay": "absent"} {
		if len(was) > 0 && setting == "windows.tcp.delayed_ack" {
			from = "2"
		}
		m, err := Windows{}.Mechanism(setting, realCard)
		if err != nil {
			t.Fatal(err)
		}
		s.Steps = append(s.Steps, Step{Name: setting + "@" + realCard, From: from, To: "1", Mechanism: m})
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

// do runs the script, killed at an effect; 0: not.
func (r registryRig) do(at int, args ...string) (out string, code, effects int) {
	r.t.Helper()
	h := r.open("")
	h.Registry = real{}
	h.Step = func(string) error {
		if effects++; effects == at {
			return powershell.ErrKilled
		}
		return nil
	}
	var b bytes.Buffer
	code, err := h.RunFile(r.file, &b, args...)
	if err != nil && !errors.Is(err, powershell.ErrKilled) {
		r.t.Fatalf("%v: %v: %s", args, err, b.String())
	}
	return b.String(), code, effects
}

// Values are written to the real registry with the type that Windows reads, and undone, killed or
// not: what was absent is absent again, and another value is what it was.
func TestTheRealRegistryIsChangedAndUndone(t *testing.T) {
	for name, was := range map[string][]string{"absent": nil, "set": {"/v", "TcpAckFrequency", "/t", "REG_DWORD", "/d", "2", "/f"}} {
		t.Run(name, func(t *testing.T) {
			r := newRegistryRig(t, was...)
			before := values(t)
			out, code, effects := r.do(0, "apply")
			if after := values(t); code != 0 || after != "EnableDHCP REG_DWORD 0x1, TCPNoDelay REG_DWORD 0x1, TcpAckFrequency REG_DWORD 0x1" {
				t.Fatalf("applied: %d, %s\n%s", code, after, out)
			}
			if out, code, _ := r.do(0, "undo"); code != 0 || values(t) != before {
				t.Errorf("undone: %d, %s, was %s\n%s", code, values(t), before, out)
			}
			every := 7
			if os.Getenv("LINERATE_LONG") != "" {
				every = 1
			}
			for at := 1; at <= effects; at += every {
				r.do(at, "apply")
				r.do(at, "undo")
				if out, code, _ := r.do(0, "undo"); code != 0 {
					t.Errorf("killed at %d: undo ends with %d\n%s", at, code, out)
				}
				r.as(at, "TCPNoDelay", "no such value")
				r.as(at, "TcpAckFrequency", map[bool]string{true: "2", false: "no such value"}[was != nil])
			}
			if values(t) != before {
				t.Errorf("at the end %s, was %s", values(t), before)
			}
			t.Logf("killed at each %d. of %d moments", every, effects)
		})
	}
}

// as: a value is what it was.
func (r registryRig) as(at int, name, want string) {
	r.t.Helper()
	now, err := real{}.Get(realKey, name)
	got := fmt.Sprint(now)
	if err != nil {
		got = err.Error()
	}
	if got != want {
		r.t.Errorf("killed at %d, undone: %s is %s, was %s", at, name, got, want)
	}
}

// Undo would make a number of a text: the plan is refused.
func TestARegistryValueOfAnotherTypeIsRefused(t *testing.T) {
	for _, text := range []string{"2", "absent"} {
		t.Run(text, func(t *testing.T) {
			r := newRegistryRig(t, "/v", "TcpAckFrequency", "/t", "REG_SZ", "/d", text, "/f")
			before := values(t)
			out, code, _ := r.do(0, "apply")
			if code != Refused || !strings.Contains(out, "is no REG_DWORD") || values(t) != before {
				t.Errorf("%d, %s, was %s\n%s", code, values(t), before, out)
			}
		})
	}
}
