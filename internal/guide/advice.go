package guide

import (
	"slices"
	"strings"

	"linerate/internal/conf"
)

// Guide is a paper or a modern guide with its advice.
type Guide struct {
	Key   string `yaml:"key" json:"key"`
	Title string `yaml:"title" json:"title"`
	By    string `yaml:"by" json:"by"`
	Date  string `yaml:"date" json:"date"` // year, or year and month; "current" for a guide that is kept up to date
	OS    string `yaml:"os" json:"os"`     // systems it is for
	About string `yaml:"about" json:"about"`
	// Aliases are other names that a user may type.
	Aliases []string `yaml:"aliases" json:"aliases,omitempty"`
	Advice  []Advice `yaml:"advice" json:"advice"`
	Claims  []Claim  `yaml:"claims" json:"claims"`
}

// Advice is one recommendation and the verdict on it.
type Advice struct {
	Setting string `yaml:"setting" json:"setting"`
	Value   string `yaml:"value" json:"value"` // as the guide prints it
	Where   string `yaml:"where" json:"where"`
	// Kernels is the range of kernels for which the status holds.
	Kernels string `yaml:"kernels" json:"kernels"`
	// If is the precondition for a benefit; Rule is the value or formula to use instead of a
	// constant.
	If     string `yaml:"if" json:"if,omitempty"`
	Rule   string `yaml:"rule" json:"rule,omitempty"`
	Status Status `yaml:"status" json:"status"`
	Why    string `yaml:"why" json:"why"`
	// Mistakes are the ids of the paper's mistakes that this entry corrects, e.g. caltech-1.
	Mistakes []string `yaml:"mistakes" json:"mistakes,omitempty"`
	// Unverified names the part of the judgement that was not checked against a source; empty:
	// all was checked.
	Unverified string `yaml:"unverified" json:"unverified,omitempty"`
}

// Claim is a wrong statement of a guide that is not about a setting.
type Claim struct {
	Says       string   `yaml:"says" json:"says"`
	Where      string   `yaml:"where" json:"where"`
	Status     Status   `yaml:"status" json:"status"`
	Why        string   `yaml:"why" json:"why"`
	Mistakes   []string `yaml:"mistakes" json:"mistakes,omitempty"`
	Unverified string   `yaml:"unverified" json:"unverified,omitempty"`
}

// Conflict is a question on which two sources contradict each other.
type Conflict struct {
	Topic    string   `yaml:"topic" json:"topic"`
	Settings []string `yaml:"settings" json:"settings"`
	One      string   `yaml:"one" json:"one"`
	Other    string   `yaml:"other" json:"other"`
	Do       string   `yaml:"do" json:"do"` // what follows from it
}

// Guides returns the papers, then the modern guides.
func Guides() []Guide {
	out := decode[Guide](boundGuides)
	// By date; guides that are kept up to date come last.
	slices.SortStableFunc(out, func(a, b Guide) int { return strings.Compare(a.Date, b.Date) })
	return out
}

// FindGuide returns the guide with a key or an alias.
func FindGuide(key string) (Guide, bool) {
	for _, g := range Guides() {
		if strings.EqualFold(g.Key, key) || slices.ContainsFunc(g.Aliases, func(a string) bool { return strings.EqualFold(a, key) }) {
			return g, true
		}
	}
	return Guide{}, false
}

// NearGuides returns the keys of up to n guides that resemble the typed text. Guides whose
// name, title or author contains it come first.
func NearGuides(name string, n int) []string {
	best := map[string]int{}
	for _, g := range Guides() {
		best[g.Key] = 1000
		for _, word := range append([]string{g.Key, g.Title, g.By}, g.Aliases...) {
			d := 1 + conf.Away(name, word)
			if part := squeezed(name); len(part) > 1 && strings.Contains(squeezed(word), part) {
				d = 0
			}
			best[g.Key] = min(best[g.Key], d)
		}
	}
	return conf.Nearest(best, n)
}

// Conflicts returns the questions on which sources disagree.
func Conflicts() []Conflict {
	return decode[Conflict](boundConflicts)
}

// Mention is an advice with the guide that gives it.
type Mention struct {
	Guide string `json:"guide"`
	Date  string `json:"date"`
	Advice
}

// AdviceOn returns what the guides say about a setting.
func AdviceOn(id string) []Mention {
	var out []Mention
	for _, g := range Guides() {
		for _, a := range g.Advice {
			if a.Setting == id {
				out = append(out, Mention{g.Key, g.Date, a})
			}
		}
	}
	return out
}
