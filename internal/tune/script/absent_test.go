package script

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"linerate/internal/systems/fake/winhost"
)

// texts is a registry whose value of each name is a text.
type texts map[string]string

// Get implements winhost.Registry.
func (x texts) Get(_, name string) (any, error) {
	if text, ok := x[name]; ok {
		return text, nil
	}
	return nil, winhost.ErrNoValue
}

// Set implements winhost.Registry.
func (x texts) Set(_, name string, n uint32) error { x[name] = fmt.Sprint(n); return nil }

// Delete implements winhost.Registry.
func (x texts) Delete(_, name string) error { delete(x, name); return nil }

// A value that is the very text by which the script says that there is none is there: undo would
// delete it. The plan is refused.
func TestTheTextAbsentInTheRegistryIsNotAbsence(t *testing.T) {
	r := newWindowsRig(t)
	for _, text := range []string{"absent", "false", "False", "1", ""} {
		h, now := r.open(""), texts{"TcpAckFrequency": text}
		h.Registry = now
		var out bytes.Buffer
		code, err := h.RunFile(r.file, &out, "apply")
		if err != nil || code != Refused || !strings.Contains(out.String(), "is no REG_DWORD") || now["TcpAckFrequency"] != text {
			t.Errorf("%q: %d, %v, now %v: %s", text, code, err, now, out.String())
		}
	}
}
