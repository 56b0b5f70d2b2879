package rules

import (
	"fmt"
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// knownBad is one version of hardware or software that is known to fail. To add one, add a row
// whose source is the maker's own statement.
type knownBad struct {
	what     string // as in the title
	severity string
	why      string // what it does
	fix      string
	source   string
	// seen returns how the host shows that it has this version; empty if it has not.
	seen func(f *model.Facts) string
}

// knownBads lists them. Distributions backport fixes, so the version number of a kernel or
// module by itself justifies at most a question.
func knownBads() []knownBad {
	return []knownBad{
		{
			// The first stepping is certain; on the second, Intel's documents and users' reports
			// differ.
			what: "an Intel I225 of an early stepping", severity: Low,
			why:    "at 2.5 Gbit/s the first stepping, and perhaps the second, loses packets from switches that send with a short inter-packet gap",
			fix:    "run the port at 1 Gbit/s, or use a card of stepping B3 (revision 03) or an I226",
			source: "Intel, Ethernet Controller I225 Specification Update, document 621661 (inter-packet gap)",
			seen: func(f *model.Facts) string {
				for _, n := range f.NICs {
					id, ok := n.PCIID.Get()
					if ok && n.Up && id.Vendor == 0x8086 && (id.Device == 0x15f2 || id.Device == 0x15f3) && id.Revision < 3 && n.Speed.Or(0) == 2500*unit.Mbit {
						return fmt.Sprintf("%s: PCI %04x:%04x revision %02x at %s", n.Name, id.Vendor, id.Device, id.Revision, n.Speed.Value)
					}
				}
				return ""
			},
		},
		{
			what: "an OpenZFS that may damage copies", severity: Low,
			why:    "unless the distribution fixed it, the copy of a file that was written just before can contain zeros in place of data",
			fix:    "see what the distribution says about it, or use OpenZFS 2.2.2, 2.1.14 or later of either series; compare copies that were made before with their originals",
			source: "OpenZFS, release notes of zfs-2.2.2 and zfs-2.1.14 (dirty dnode, since 2.1.4)",
			seen: func(f *model.Facts) string {
				v := f.ZFS.Or(model.ZFS{}).Version
				n, ok := versionOf(v)
				if ok && n[0] == 2 && (n[1] == 1 && n[2] >= 4 && n[2] <= 13 || n[1] == 2 && n[2] <= 1) {
					return "zfs " + v
				}
				return ""
			},
		},
	}
}

// versionOf parses "2.1.11-1": three numbers; more may follow.
func versionOf(s string) (n [3]int, ok bool) {
	s, _, _ = strings.Cut(s, "-")
	parts := strings.SplitN(s, ".", 4)
	if len(parts) < 3 {
		return n, false
	}
	for i := range n {
		v, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil {
			return n, false
		}
		n[i] = int(v)
	}
	return n, true
}

func badVersion() Rule {
	return Rule{
		ID:  "known-bad-version",
		Doc: "A version of hardware or software that its maker knows to lose packets, slow down or damage data.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			var out []model.Finding
			for _, k := range knownBads() {
				if seen := k.seen(f); seen != "" {
					out = append(out, model.Finding{
						Severity: k.severity, Title: "this host has " + k.what,
						Observed: seen + ": " + k.why, Fix: k.fix, Source: k.source,
					})
				}
			}
			return out
		},
	}
}
