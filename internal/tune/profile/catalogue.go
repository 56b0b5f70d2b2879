package profile

import (
	"slices"

	"linerate/internal/guide"
	"linerate/internal/rules"
)

// Settings are the guide's entries by id.
type Settings map[string]guide.Setting

// Find returns the entry of an id, or the entry that covers any interface.
func (s Settings) Find(id string) (guide.Setting, bool) {
	for _, id := range append([]string{id}, guide.General(id)...) {
		if known, ok := s[id]; ok {
			return known, true
		}
	}
	return guide.Setting{}, false
}

// catalogue is what files are checked against. It is parsed once for all of them, since parsing
// the guide is the slowest step.
type catalogue struct {
	settings Settings
	ids      []string // of settings
	advice   map[string][]guide.Mention
	findings []string // ids of the rules of linerate check
}

func readCatalogue() *catalogue {
	c := &catalogue{settings: Settings{}, advice: map[string][]guide.Mention{}}
	for _, s := range guide.All() {
		c.settings[s.ID] = s
		c.ids = append(c.ids, s.ID)
	}
	for _, g := range guide.Guides() {
		for _, a := range g.Advice {
			c.advice[a.Setting] = append(c.advice[a.Setting], guide.Mention{Guide: g.Key, Date: g.Date, Advice: a})
		}
	}
	for _, r := range rules.All() {
		c.findings = append(c.findings, r.ID)
	}
	slices.Sort(c.findings)
	return c
}
