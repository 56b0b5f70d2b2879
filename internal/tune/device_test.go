package tune

import (
	"context"
	"errors"
	"strings"
	"testing"

	"linerate/internal/kernel"
	"linerate/internal/tune/setter"
)

// namedSetting is a setting that names its interface by nothing but the name.
const namedSetting = "linux.sysctl.net.ipv4.conf.eth0.rp_filter"

// namedKernel is a fakeKernel of such settings.
type namedKernel struct{ *fakeKernel }

func (namedKernel) Owns(id string) bool { return strings.HasPrefix(id, "linux.sysctl.") }

func TestUndoWritesToTheInterfaceThatWasChanged(t *testing.T) {
	const index = 5
	renamed := strings.Replace(namedSetting, "eth0", "lan0", 1)
	for _, tt := range []struct {
		name        string
		before, now Interface
		written     string // the setting that undo writes to; empty: it refuses
	}{
		{"the same", Interface{"eth0", "mac:1"}, Interface{"eth0", "mac:1"}, namedSetting},
		{"renamed", Interface{"eth0", "mac:1"}, Interface{"lan0", "mac:1"}, renamed},
		{"a stranger of its number", Interface{"eth0", "mac:1"}, Interface{"lan0", "mac:2"}, ""},
		{"a stranger of its name and number", Interface{"eth0", "mac:1"}, Interface{"eth0", "mac:2"}, ""},
		{"a stranger in another slot", Interface{"eth0", "pci:1"}, Interface{"eth0", "pci:2"}, ""},
		{"a virtual stranger", Interface{"eth0", "mac:1"}, Interface{"eth0", "link:1"}, ""},
		{"virtual, renamed", Interface{"eth0", "link:1"}, Interface{"lan0", "link:1"}, renamed},
		{"virtual, with another address", Interface{"eth0", "link:1"}, Interface{"eth0", "link:2"}, namedSetting},
		{"virtual, another", Interface{"eth0", "link:1"}, Interface{"lan0", "link:2"}, ""},
		{"virtual, with another address and name", Interface{"eth0", "link:1#7"}, Interface{"lan0", "link:2#7"}, renamed},
		{"made anew, all else the same", Interface{"eth0", "link:1#7"}, Interface{"eth0", "link:1#8"}, ""},
		{"a card in a virtual one's place", Interface{"eth0", "link:1#7"}, Interface{"eth0", "mac:1"}, ""},
		{"its node is not known now", Interface{"eth0", "link:1#7"}, Interface{"eth0", "link:2"}, namedSetting},
		{"its node was not known", Interface{"eth0", "link:1"}, Interface{"lan0", "link:1#8"}, renamed},
		{"of an earlier build", Interface{"eth0", ""}, Interface{"lan0", "mac:2"}, renamed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := namedKernel{newKernel(namedSetting, renamed)}
			tn := tuner(t, k)
			tn.Setters = []setter.Setter{k}
			there := tt.before
			tn.Interfaces = func(context.Context) (map[int]Interface, error) { return map[int]Interface{index: there}, nil }
			mustApply(t, tn, plan(namedSetting))
			there = tt.now
			k.values[namedSetting], k.values[renamed] = "new", "new"
			_, err := tn.Undo(t.Context(), "")
			if tt.written == "" {
				if !errors.Is(err, kernel.ErrNoDevice) || !strings.Contains(err.Error(), "has its number") {
					t.Errorf("undone, error %v", err)
				}
			} else if err != nil {
				t.Error(err)
			}
			for id, v := range k.values {
				if (v == "old") != (id == tt.written) {
					t.Errorf("%s has %q", id, v)
				}
			}
		})
	}
}
