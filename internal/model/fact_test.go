package model

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestFactKeepsItsFourStates(t *testing.T) {
	for _, c := range []struct {
		fact Fact[int]
		json string
	}{
		{Fact[int]{}, `{"state":"absent"}`},
		{Known(0), `{"state":"present","value":0}`},
		{Unknown[int](Unsupported, "veth has no speed"), `{"state":"unsupported","why":"veth has no speed"}`},
		{Unknown[int](Denied, "run as root"), `{"state":"denied","why":"run as root"}`},
	} {
		b, err := json.Marshal(c.fact)
		if err != nil || string(b) != c.json {
			t.Errorf("%+v encodes as %s (%v), want %s", c.fact, b, err, c.json)
		}
		var back Fact[int]
		if err := json.Unmarshal(b, &back); err != nil || back != c.fact {
			t.Errorf("%s decodes as %+v (%v), want %+v", b, back, err, c.fact)
		}
	}
}

func TestFactRefusesWhatItCannotMean(t *testing.T) {
	for _, in := range []string{`{"state":"present"}`, `{"state":"maybe"}`, `{}`, `[]`} {
		var f Fact[int]
		if err := json.Unmarshal([]byte(in), &f); err == nil {
			t.Errorf("%s decoded as %+v, want an error", in, f)
		}
	}
}

func TestLimiterVocabularyIsWhole(t *testing.T) {
	seen := map[LimiterID]bool{}
	for _, l := range Limiters() {
		if seen[l.ID] {
			t.Errorf("%s is in the vocabulary twice", l.ID)
		}
		seen[l.ID] = true
		if l.Signature == "" || l.Where == "" || l.Fix == "" || strings.ToLower(string(l.ID)) != string(l.ID) {
			t.Errorf("%s: a row has an id, a place, a signature and a kind of fix", l.ID)
		}
	}
	for _, l := range Limiters() {
		for _, c := range l.Confusable {
			if !seen[c] || c == l.ID {
				t.Errorf("%s is said to be confusable with %q", l.ID, c)
			}
		}
	}
}
