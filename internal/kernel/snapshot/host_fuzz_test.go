package snapshot

import (
	"testing"

	"linerate/internal/kernel"
)

// A recording from a stranger, with whatever in its answers of netlink and ethtool, is read
// without harm: each answer is there, or an error.
func FuzzHost(f *testing.F) {
	f.Add("[{\"index\":1,\"name\":\"eth0\"}]", "{\"eth0\":{\"mbps\":{\"state\":\"present\",\"value\":1}}}", "{\"2\":[\"10.0.0.1/24\"]}")
	f.Add("[{}]", "{\"\":null}", "{\"x\":[\"::/200\"]}")
	f.Fuzz(func(t *testing.T, list, ports, table string) {
		h := &Host{GOOS: "linux", Files: map[string]string{
			linksFile: list, routesFile: list, connsFile: list, firewallFile: list, hostFilesFile: ports, manifestFile: ports,
			portsFile: ports, addrsFile: table, qdiscsFile: table,
		}}
		links, _ := h.Links(t.Context()) // errors are fine
		for _, l := range links {
			h.Port(l.Name)
			h.Pauses(l.Name)
		}
		h.Port("")
		_, _ = h.Addrs(t.Context())
		_, _ = h.Routes(t.Context())
		_, _ = h.Qdiscs(t.Context())
		_, _ = h.Firewall(t.Context())
		_, _ = h.TCPConns(t.Context(), kernel.TCPFilter{})
		_, _ = h.HostFiles()
		h.Manifest()
	})
}

// An archive of any bytes has files or not, and no name of it leads out.
func FuzzArchive(f *testing.F) {
	f.Add([]byte("-- proc/stat --\none\n-- proc/b! --\n-- proc/c@ --\n../d\n"))
	f.Add([]byte("-- ../../etc/passwd --\nx\n-- / --\n--  --\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		h := Parse(b)
		for name := range h.Files {
			_, _ = h.ReadFile("/" + name) // errors are fine
			_, _ = h.Readlink("/" + name)
		}
		_, _ = h.ReadDir("/")
		_ = h.complete()
	})
}
