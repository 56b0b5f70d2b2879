package fault

import (
	"context"
	"fmt"
	"strings"

	"linerate/internal/lab/topology"
	"linerate/internal/model"
)

// Injection is one fault to inject into one topology: an entry of the catalogue with severity
// and place, or settings by hand.
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

// String returns the injection as words that Parse reads.
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
// TARGET is link:ID, host:NAME or switch:NAME of the topology. As far as the topology shows,
// the returned injection can be carried out in it.
func Parse(args []string, t topology.Topology) (Injection, error) {
	if len(args) == 0 {
		return Injection{}, fmt.Errorf("say which fault to inject: one of the catalogue (%s, …), or link:ID, host:NAME or switch:NAME with key=value", Catalogue()[0].ID)
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

// Limiter is the limiter that the fault is an instance of; settings by hand have none.
func (i Injection) Limiter() model.LimiterID {
	f, err := Find(i.Fault)
	if err != nil {
		return model.Undetermined
	}
	return f.Limiter
}

// steps returns the effects of the injection in this topology; an error says what the topology
// lacks.
func (i Injection) steps(t topology.Topology) ([]effect, error) {
	s, err := newSite(t)
	if i.Fault == "" {
		if err != nil {
			s = &site{topo: t} // a target that is named by hand needs no flow
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

// resolve finds the fault and its severity, and points the site at the fault's place.
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

// Host is the host whose kernel has the fault; empty if a link or a switch has it.
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

// Inject injects the fault into the lab and returns what removes it. If it fails, nothing of
// the fault is left. A fault of an application changes nothing in the lab: Workload changes
// the workload instead.
func (i Injection) Inject(ctx context.Context, l Lab) (Undo, error) {
	steps, err := i.steps(l.Topology())
	if err != nil {
		return nil, err
	}
	undo, err := InTurn(ctx, l, steps)
	if err != nil {
		return nil, fmt.Errorf("inject %s: %w", i, err)
	}
	return undo, nil
}

// Workload changes w if the fault is one of an application; any other fault leaves w as it is.
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
