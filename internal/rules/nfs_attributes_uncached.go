package rules

import (
	"linerate/internal/model"
)

func nfsUncached() Rule {
	return Rule{
		ID:     "nfs-attributes-uncached",
		Limits: []model.LimiterID{model.NFSConcurrency},
		Doc:    "Without attribute caching every stat of a file goes to the server, and noac makes every write synchronous.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			return eachMount(f, func(m model.NetMount, o options) *model.Finding {
				// On FreeBSD and macOS noac leaves writes as they are.
				noac, zero := o.has("noac") && (!otherSystem(f) || f.OS == "illumos"), o.has("noac") || o["acregmax"] == "0" || o["actimeo"] == "0"
				if !isNFS(m) || !noac && !zero {
					return nil
				}
				out := &model.Finding{
					Severity: Low, Title: m.Point + " asks the server about every file each time",
					Observed: m.Point + ": attributes are not cached",
					Fix:      "leave out " + bySystem(f, map[string]string{"": "noac and actimeo=0", "freebsd": "acregmax=0", "macos": "noac and actimeo=0"}) + " unless several clients write the same files",
					Source:   mountManual(f, bySystem(f, map[string]string{"": "ac, noac", "freebsd": "acregmax", "macos": "noac"})),
				}
				if noac {
					out.Severity, out.Observed = Medium, m.Point+": mount option noac, so that writes are synchronous too"
				}
				return out
			})
		},
	}
}
