package report

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"linerate/internal/model"
)

// Each system is told once, beneath all findings; of Linux there is nothing to say.
func TestACheckTellsHowFarItWasTried(t *testing.T) {
	host := func(name, os string, all ...model.Ability) HostCheck {
		return HostCheck{Name: name, Facts: &model.Facts{OS: os}, Abilities: all, Findings: []CheckFinding{{Title: "slow " + name, Severity: "low"}}}
	}
	a := model.Ability{Name: "check", Tried: []string{"built", "never run on a real host"}, Detail: "in a test"}
	c := Check{Hosts: []HostCheck{host("a", "freebsd", a), host("b", "linux"), host("c", "freebsd", a), {Name: "d", Error: "no answer"}}}
	var text, markdown strings.Builder
	if err := errors.Join(c.Document().Text(&text, false, 100), c.Document().Markdown(&markdown)); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{text.String(), markdown.String()} {
		_, after, ok := strings.Cut(text, "How far linerate was tried on FreeBSD")
		if !ok || strings.Count(text, "How far linerate was tried") != 1 || strings.Contains(after, "slow ") ||
			!strings.Contains(after, "built · never run on a real host") || !strings.Contains(after, "linerate check HOST --snapshot box.tar.zst") || strings.Contains(after, "in a test") {
			t.Error(text)
		}
	}
	b, err := json.Marshal(c)
	if err != nil || strings.Count(string(b), `"abilities":[{"ability":"check","tried":["built","never run on a real host"],"detail":"in a test"}]`) != 2 {
		t.Errorf("%v: %s", err, b)
	}
}
