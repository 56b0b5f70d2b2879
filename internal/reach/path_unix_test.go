//go:build unix

package reach

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"linerate/internal/host"
)

// A host that only the user's ssh configuration knows has the address that ssh connects to.
func TestNamesOfTheSSHConfigurationHaveAddresses(t *testing.T) {
	unknown := errors.New("no such host")
	for said, want := range map[string]string{
		"user me\nhostname 192.0.2.7\nport 22\n": "192.0.2.7",
		"hostname nas\n":                         "", // as it was named
		"user me\n":                              "",
		"hostname 127.0.0.1\nport 2222\n":        "", // a forwarded port
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "said"), []byte(said), 0o600); err != nil {
			t.Fatal(err)
		}
		script := "#!/bin/sh\n[ \"$1\" = -G ] && exec cat '" + dir + "/said'\n"
		if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+":/usr/bin:/bin")
		got, err := aliased(t.Context(), host.Name{Reach: host.SSH, Host: "nas"}, unknown)
		if want == "" {
			if !errors.Is(err, unknown) {
				t.Errorf("%q: %v, %v", said, got, err)
			}
		} else if err != nil || len(got) != 1 || got[0] != netip.MustParseAddr(want) {
			t.Errorf("%q: %v, %v", said, got, err)
		}
	}
}
