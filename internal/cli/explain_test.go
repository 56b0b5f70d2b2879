package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"linerate/internal/app/explain"
	"linerate/internal/failure"
)

// --attach takes a bare number for a process: no host and port is one.
func TestExplainAttachTo(t *testing.T) {
	for in, want := range map[string]explain.WatchOptions{
		"4711":             {PID: 4711},
		"nas1:2049":        {Name: "nas1:2049", Peer: "nas1", Port: 2049},
		"[2001:db8::1]:22": {Name: "[2001:db8::1]:22", Peer: "2001:db8::1", Port: 22},
		"0":                {}, "-1": {}, "nas1": {}, "nas1:0": {}, "nas1:65536": {}, ":22": {}, "nas1:ssh": {}, "2147483648": {},
	} {
		var got explain.WatchOptions
		err := attachTo(&got, in)
		bad := want == explain.WatchOptions{}
		if got != want || bad != (err != nil) || bad && (failure.KindOf(err) != failure.Usage || !strings.Contains(err.Error(), "want HOST:PORT")) {
			t.Errorf("%s: %+v, %v; want %+v", in, got, err, want)
		}
	}
}

// A run is kept under the command that would make it again: by its words the ladder of a path finds it.
func TestExplainIsKeptAsItWasTyped(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"/mnt/nas"}, "explain /mnt/nas"},
		{[]string{"a", "b:/x", "--load", "--via", "10.0.0.2", "--json"}, "explain a b:/x --load --via=10.0.0.2"},
		{[]string{"--attach", "nas1:2049", "--load=false", "--for", "5s"}, "explain --attach=nas1:2049 --for=5s --load=false"},
		{[]string{"/mnt/my files", "--write", "/mnt/it's"}, `explain '/mnt/my files' --write='/mnt/it'\''s'`},
	} {
		cmd := explainCommand(&environment{})
		cmd.Flags().Bool("json", false, "")
		var got string
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			got = asTyped(cmd, args)
			return nil
		}
		if cmd.SetArgs(c.args); cmd.Execute() != nil || got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// A path belongs to the second of two hosts; what is to be read and written lies below it.
func TestExplainPairOf(t *testing.T) {
	for _, c := range []struct{ first, second, file, write, want string }{
		{"client1", "nas1", "", "", ""},
		{"client1", "root@nas1:/export", "images/big.iso", "/mnt/nas", ""},
		{"client1:/export", "nas1", "", "", "the client has no path"},
		{"nas1", "nas1", "", "", "name two different hosts"},
		{"nas1", "nas1:/export", "", "", "name two different hosts"},
		{"client1", "./export", "", "", "an absolute path on the server"},
		{"client1", "nas1", "", "/mnt/nas", "--write /mnt/nas: name the export"},
		{"client1", "nas1:/export", "", "nas", "--write nas: name the export"},
		{"client1", "nas1", "big.iso", "", "--file big.iso: name the export"},
		{"client1", "nas1:/export", "../big.iso", "", "want a path below the export"},
		{"client1", "nas1:export", "", "", "the path must be absolute"},
	} {
		_, err := pairOf([]string{c.first, c.second}, c.file, c.write)
		if (err != nil) != (c.want != "") || err != nil && (failure.KindOf(err) != failure.Usage || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
