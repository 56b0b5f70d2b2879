package cli

import (
	"bytes"
	"strings"
	"testing"

	"linerate/internal/app/tune"
)

// The outcome lists the canary and what went wrong, and says that there are others.
func TestSiteOutcomeSaysWhatItLeavesOut(t *testing.T) {
	doc := tune.SitePlan{Hosts: []tune.SiteHost{{Name: "site:a", Wave: 1, State: tune.Planned}, {Name: "site:b", Wave: 2, State: tune.Planned}, {Name: "site:c", Wave: 2, State: tune.Unknown, Why: "it is silent"}}}
	for n, want := range map[int]string{3: "Not listed: 1 host of later waves", 1: ""} {
		var b bytes.Buffer
		d := doc
		d.Hosts = doc.Hosts[:n]
		if err := siteOutcome(d).Text(&b, false, 100); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); !strings.Contains(got, want) || want == "" && strings.Contains(got, "Not listed") || strings.Contains(got, "site:b") {
			t.Errorf("of %d: %s", n, got)
		}
	}
}
