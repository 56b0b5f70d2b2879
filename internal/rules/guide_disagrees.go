package rules

import (
	"maps"
	"slices"
	"strings"

	"linerate/internal/guide"
	"linerate/internal/model"
)

func guideDisagrees() Rule {
	return Rule{
		ID:  "guide-disagrees",
		Doc: "A setting has a value that the guide knows to cost throughput or safety, or that somebody wrote into a file where it does nothing.",
		Check: func(f *model.Facts, _ Context) []model.Finding {
			release, _ := guide.ParseRelease(f.Kernel) // unknown: the guide says only what holds for all
			var out []model.Finding
			for _, id := range slices.Sorted(maps.Keys(f.Settings)) {
				// Linux's have rules of their own, and guide audit, which knows who set them.
				if v, ok := f.Settings[id].Get(); ok && !strings.HasPrefix(id, "linux.") {
					out = append(out, disagreement(id, v, release)...)
				}
			}
			return out
		},
	}
}

// disagreement is what the guide has against a value.
func disagreement(id, value string, r guide.Release) []model.Finding {
	// What a file sets at boot has the name that it has while the system runs.
	named := strings.NewReplacer("freebsd.boot.", "freebsd.sysctl.", "freebsd.loader.", "freebsd.sysctl.", "macos.boot.", "macos.sysctl.").Replace(id)
	named, _, _ = strings.Cut(named, "@") // the device that has it
	status, why, sources := guide.Opinion(named, value, r)
	found := model.Finding{
		Title: "the guide calls it " + string(status) + ": " + id, Observed: id + " = " + value,
		Fix: why + " linerate setting " + named + " tells more", Source: strings.Join(sources, "; "),
	}
	written := strings.HasPrefix(id, "illumos.system.") || strings.HasPrefix(id, "illumos.driver.") || strings.Contains(id, ".boot.") || strings.Contains(id, ".loader.") || id == "macos.file.sysctl_conf"
	switch {
	case status == guide.Harmful:
		found.Severity = Medium
	case status == guide.Stale && strings.HasPrefix(id, "any.zfs."): // as the rules on Linux' own data sets
		found.Severity = Low
	case written && (status == guide.WrongSide || status == guide.WrongName || status == guide.Stale):
		found.Severity = Info
	default:
		return nil
	}
	return []model.Finding{found}
}
