package rules

import (
	"fmt"
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

func bufferCeiling() Rule {
	return Rule{
		ID:  "buffer-ceiling",
		Doc: "FreeBSD and macOS let the buffers of a connection grow, up to a size that is smaller than rate × RTT here: a single connection carries at most that per round trip.",
		Check: func(f *model.Facts, c Context) []model.Finding {
			var out []model.Finding
			for _, name := range []string{
				"freebsd.sysctl.kern.ipc.maxsockbuf", "freebsd.sysctl.net.inet.tcp.recvbuf_max", "freebsd.sysctl.net.inet.tcp.sendbuf_max",
				"macos.sysctl.kern.ipc.maxsockbuf", "macos.sysctl.net.inet.tcp.autorcvbufmax", "macos.sysctl.net.inet.tcp.autosndbufmax",
			} {
				v, ok := f.Settings[name].Get()
				n, err := strconv.ParseInt(v, 10, 64)
				if ok && err == nil && n > 0 {
					out = append(out, ceiling(name, unit.Bytes(n), c)...)
				}
			}
			return out
		},
	}
}

// ceiling is the finding where a path is known that a buffer of n bytes cannot fill.
func ceiling(setting string, n unit.Bytes, c Context) []model.Finding {
	if c.RTT == 0 || c.LineRate == 0 || *perRTT(n, c.RTT) >= c.LineRate {
		return nil
	}
	_, name, _ := strings.Cut(setting, ".sysctl.")
	return []model.Finding{{
		Severity: Medium,
		Title:    "a connection's buffer cannot grow to what the path needs: " + name,
		Observed: fmt.Sprintf("%s = %d: at most %s at %s", name, n, *perRTT(n, c.RTT), c.RTT),
		// No bound: several connections have a buffer each.
		Fix:    fixedFix("as root: sysctl "+name+"=%d (kern.ipc.maxsockbuf first); it acts on new connections", n, c.BDP()),
		Source: "RFC 7323 section 1.1",
	}}
}
