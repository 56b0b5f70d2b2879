package fault

import (
	"context"
	"fmt"
	"strings"

	"linerate/internal/lab/topology"
	"linerate/internal/model"
)

// Injection is one fault as it is put into one topology: an entry of the
// catalogue at a severity and a place, or settings by hand.
type Injection struct {
	Fault    string    `json:"fault,omitempty"` // id; empty for settings by hand
	Severity string    `json:"severity,omitempty"`
	Target   string    `json:"target,omitempty"` // link:ID, host:NAME or switch:NAME; empty: the fault's own place
	Settings []Setting `json:"settings,omitempty"`
}

// Setting is one key=value of an injection by hand.
type Setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// String is the injection in words that Parse reads.
func (i Injection) String() string {
	words := []string{}
	if i.Fault != "" {
		words = append(words, i.Fault, i.Severity)
		if i.Target != "" {
			words = append(words, "at", i.Target)
		}
		return strings.Join(words, " ")
	}
	words = append(words, i.Target)
	for _, s := range i.Settings {
		words = append(words, s.Key+"="+s.Value)
	}
	return strings.Join(words, " ")
}

// Parse reads the words of `lab fault add`:
//
//	ID [severity] [at TARGET]
//	TARGET key=value…
//
// TARGET is link:ID, host:NAME or switch:NAME of the topology. The injection
// that it returns can be carried out there as far as the topology tells.
func Parse(args []string, t topology.Topology) (Injection, error) {
	if len(args) == 0 {
		return Injection{}, fmt.Errorf("say what to put wrong: a fault of the catalogue (%s, …), or link:ID, host:NAME or switch:NAME with key=value", Catalogue()[0].ID)
	}
	parse := parseCatalogue
	if strings.Contains(args[0], ":") {
		parse = parseByHand
	}
	i, err := parse(args)
	if err != nil {
		return Injection{}, err
	}
	if _, err := i.steps(t); err != nil {
		return Injection{}, err
	}
	return i, nil
}

func parseCatalogue(args []string) (Injection, error) {
	f, err := Find(args[0])
	if err != nil {
		return Injection{}, err
	}
	i, rest := Injection{Fault: f.ID}, args[1:]
	name := ""
	if len(rest) > 0 && rest[0] != "at" {
		name, rest = rest[0], rest[1:]
	}
	severity, err := f.Severity(name)
	if err != nil {
		return Injection{}, err
	}
	i.Severity = severity.Name
	if len(rest) > 0 {
		if len(rest) != 2 || rest[0] != "at" || rest[1] == "" {
			return Injection{}, fmt.Errorf("fault %s: after the severity there may be \"at TARGET\", got %q", f.ID, strings.Join(rest, " "))
		}
		i.Target = rest[1]
	}
	return i, nil
}

// Limiter is what the fault is an instance of; none is claimed for settings
// set by hand.
func (i Injection) Limiter() model.LimiterID {
	f, err := Find(i.Fault)
	if err != nil {
		return model.Undetermined
	}
	return f.Limiter
}

// steps of the injection in this topology; an error says what the topology
// lacks.
func (i Injection) steps(t topology.Topology) ([]effect, error) {
	s, err := newSite(t)
	if i.Fault == "" {
		if err != nil {
			s = &site{topo: t} // what is named by hand needs no flow
		}
		return i.byHand(s)
	}
	if err != nil {
		return nil, err
	}
	f, severity, err := i.resolve(s)
	if err != nil {
		return nil, err
	}
	if f.effects == nil {
		return nil, nil
	}
	effects, err := f.effects(severity.Value, s)
	if err != nil {
		return nil, fmt.Errorf("fault %s: %w", f.ID, err)
	}
	return effects, nil
}

// resolve finds the fault and its severity and aims the site at its place.
func (i Injection) resolve(s *site) (Fault, Severity, error) {
	f, err := Find(i.Fault)
	if err != nil {
		return f, Severity{}, err
	}
	severity, err := f.Severity(i.Severity)
	if err != nil {
		return f, severity, err
	}
	if err := s.aim(f.AppliesTo, i.Target); err != nil {
		return f, severity, fmt.Errorf("fault %s: %w", f.ID, err)
	}
	return f, severity, nil
}

// Host is the host whose kernel holds the fault; empty where a link or a switch
// does.
func (i Injection) Host(t topology.Topology) string {
	if i.Fault == "" {
		name, _ := strings.CutPrefix(i.Target, "host:")
		if name == i.Target {
			return ""
		}
		return name
	}
	s, err := newSite(t)
	if err != nil {
		return ""
	}
	f, _, err := i.resolve(s)
	if err != nil || f.AppliesTo == AtLink || f.AppliesTo == AtSwitch {
		return ""
	}
	return s.end.Node
}

// Inject puts the fault into the lab and returns what takes it out. Where it
// fails nothing of it is left. For a fault of an application there is nothing
// to put in: it is the workload that Workload changes.
func (i Injection) Inject(ctx context.Context, l Lab) (Undo, error) {
	steps, err := i.steps(l.Topology())
	if err != nil {
		return nil, err
	}
	undo, err := apply(ctx, l, steps)
	if err != nil {
		return nil, fmt.Errorf("inject %s: %w", i, err)
	}
	return undo, nil
}

// Workload changes w as a fault of an application does; any other leaves it.
func (i Injection) Workload(w *model.Workload, t topology.Topology) error {
	if i.Fault == "" {
		return nil
	}
	s, err := newSite(t)
	if err != nil {
		return err
	}
	f, severity, err := i.resolve(s)
	if err != nil {
		return err
	}
	if f.workload != nil {
		f.workload(w, severity.Value, s)
	}
	return nil
}
