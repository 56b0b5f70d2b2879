package fault

import (
	"fmt"
	"slices"
	"strings"

	"linerate/internal/conf"
	"linerate/internal/failure"
	"linerate/internal/lab/topology"
	"linerate/internal/model"
)

// Place is what a fault applies to.
type Place string

// The places. Sender and receiver are the ends of the topology's flow; a
// server is the host that serves storage.
const (
	AtLink        Place = "link"
	AtSwitch      Place = "switch"
	AtSender      Place = "sender"
	AtReceiver    Place = "receiver"
	AtServer      Place = "server"
	AtApplication Place = "application"
)

// Severity is one size of a fault.
type Severity struct {
	Name  string  `json:"name"` // mild, medium, severe; "on" if there is only one
	Value float64 `json:"value"`
	Text  string  `json:"text"` // the value for people, e.g. "0.1%"
}

// Road is the kind of path on which a fault shows.
type Road string

// The roads.
const (
	// LongRoad has 1 Gbit/s and 10 ms, so that the bandwidth-delay product is large.
	LongRoad Road = "long"
	// JumboRoad is LongRoad at MTU 9000.
	JumboRoad Road = "jumbo"
	// FastRoad is short and faster than one core can process packets one by one.
	FastRoad Road = "fast"
)

// Fault is one entry of the catalogue.
type Fault struct {
	ID             string
	Doc            string // one line
	AppliesTo      Place
	Severities     []Severity // mild, medium, severe; or a single one
	Limiter        model.LimiterID
	Counterfactual string // what the path has without the fault, one line
	Confusable     []model.LimiterID
	Workloads      []string // some of tcp, nfs, smb, iscsi
	HostKinds      []topology.Kind
	FixKind        model.FixKind
	// Road is the kind of path on which it shows.
	Road Road
	// Beside is a second fault that the path must have for this one to show, in words that
	// Parse reads. It stays when this fault is removed.
	Beside string
	// Needs says what the lab must have besides two hosts and a link; empty: nothing.
	Needs string

	effects  func(v float64, s *site) ([]effect, error)
	workload func(w *model.Workload, v float64, s *site)
}

// Find returns the fault with this id; the error lists all ids.
func Find(id string) (Fault, error) {
	var ids []string
	for _, f := range Catalogue() {
		if f.ID == id {
			return f, nil
		}
		ids = append(ids, f.ID)
	}
	return Fault{}, failure.Advise(fmt.Errorf("unknown fault %q; did you mean %s?", id, strings.Join(near(id, ids), ", ")), failure.ListFaults)
}

// near are the ids that one begins, or else the three most like it.
func near(id string, ids []string) []string {
	begun := slices.DeleteFunc(slices.Clone(ids), func(s string) bool { return id == "" || !strings.HasPrefix(s, strings.ToLower(id)) })
	if len(begun) > 0 {
		return begun
	}
	return conf.Closest(id, ids, 3)
}

// Severity returns the severity of this name; an empty name stands for the middle one.
func (f Fault) Severity(name string) (Severity, error) {
	if name == "" {
		return f.Severities[len(f.Severities)/2], nil
	}
	var names []string
	for _, s := range f.Severities {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return Severity{}, fmt.Errorf("fault %s has no severity %q: choose one of %s", f.ID, name, strings.Join(names, ", "))
}

// three returns three severities with their values; text is how a value is printed.
func three(mild, medium, severe float64, text func(float64) string) []Severity {
	return []Severity{{"mild", mild, text(mild)}, {"medium", medium, text(medium)}, {"severe", severe, text(severe)}}
}

// only returns the single severity of a fault that has but one.
func only(text string) []Severity { return []Severity{{"on", 1, text}} }
