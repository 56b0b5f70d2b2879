package lab

import (
	"context"

	"linerate/internal/app"
	"linerate/internal/failure"
	"linerate/internal/lab/fault"
	"linerate/internal/lab/topology"
	"linerate/internal/model"
)

// Fault is a fault of the catalogue in its JSON form (docs/json.md).
type Fault struct {
	ID             string            `json:"id"`
	Doc            string            `json:"doc"`
	AppliesTo      fault.Place       `json:"applies_to"`
	Limiter        model.LimiterID   `json:"limiter"`
	Severities     []fault.Severity  `json:"severities"`
	FixKind        model.FixKind     `json:"fix_kind"`
	Counterfactual string            `json:"counterfactual"`
	Confusable     []model.LimiterID `json:"confusable"`
	Workloads      []string          `json:"workloads"`
	HostKinds      []topology.Kind   `json:"host_kinds"`
	Beside         string            `json:"beside,omitempty"`
	Needs          string            `json:"needs,omitempty"`
}

// Catalogue are the faults that a lab can be given by name.
func Catalogue() []Fault {
	var out []Fault
	for _, f := range fault.Catalogue() {
		out = append(out, Fault{
			ID: f.ID, Doc: f.Doc, AppliesTo: f.AppliesTo, Limiter: f.Limiter, Severities: f.Severities, FixKind: f.FixKind,
			Counterfactual: f.Counterfactual, Confusable: append([]model.LimiterID{}, f.Confusable...),
			Workloads: f.Workloads, HostKinds: f.HostKinds, Beside: f.Beside, Needs: f.Needs,
		})
	}
	return out
}

// AddFault puts a fault into a lab that is up, in the words of docs/faults.md.
func AddFault(ctx context.Context, e app.Env, name string, words []string) (Injected, error) {
	c, err := e.Reach(nil).Lab(name)
	if err != nil {
		return Injected{}, err
	}
	f, err := c.AddFault(ctx, words)
	return f, failure.As(failure.Usage, err)
}

// RemoveFault takes a fault out and puts back what was there before.
func RemoveFault(ctx context.Context, e app.Env, name string, number int) (Injected, error) {
	c, err := e.Reach(nil).Lab(name)
	if err != nil {
		return Injected{}, err
	}
	f, err := c.RemoveFault(ctx, number)
	return f, failure.As(failure.Usage, err)
}

// Faults lists what was put wrong in the lab with this name, or the only one, whose
// name it returns.
func Faults(ctx context.Context, e app.Env, name string) (of string, list []Injected, err error) {
	c, err := e.Reach(nil).Lab(name)
	if err != nil {
		return "", nil, err
	}
	s, err := c.Status(ctx)
	return c.Name, append([]Injected{}, s.Faults...), err
}
