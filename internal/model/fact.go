package model

import (
	"encoding/json"
	"fmt"
)

// State tells why a fact has, or has not, a value. Absent, zero, unsupported
// and denied are four different answers and lead to different next steps.
type State string

const (
	// Absent: it was not read, or does not exist on this host.
	Absent State = ""
	// Present: Value holds what the host said, zero included.
	Present State = "present"
	// Unsupported: the kernel, driver or device has no such value.
	Unsupported State = "unsupported"
	// Denied: it may exist; more privilege would show it.
	Denied State = "denied"
)

// Fact is one observed value and, when there is none, the reason. Its zero
// value is Absent.
type Fact[T any] struct {
	State State
	Value T
	Why   string // for every state but Present: what stood in the way
}

// Known makes a present fact.
func Known[T any](v T) Fact[T] { return Fact[T]{State: Present, Value: v} }

// Unknown makes a fact without a value.
func Unknown[T any](s State, why string) Fact[T] { return Fact[T]{State: s, Why: why} }

// Get returns the value and whether there is one.
func (f Fact[T]) Get() (T, bool) { return f.Value, f.State == Present }

// Or returns the value, or other when there is none.
func (f Fact[T]) Or(other T) T {
	if f.State == Present {
		return f.Value
	}
	return other
}

type factJSON[T any] struct {
	State string `json:"state"`
	Value *T     `json:"value,omitempty"`
	Why   string `json:"why,omitempty"`
}

// MarshalJSON writes {"state":"present","value":…} or {"state":"denied","why":…}.
func (f Fact[T]) MarshalJSON() ([]byte, error) {
	j := factJSON[T]{State: string(f.State), Why: f.Why}
	if f.State == Absent {
		j.State = "absent"
	}
	if f.State == Present {
		j.Value = &f.Value
	}
	return json.Marshal(j)
}

// UnmarshalJSON reads what MarshalJSON wrote and refuses a present fact
// without a value.
func (f *Fact[T]) UnmarshalJSON(b []byte) error {
	var j factJSON[T]
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*f = Fact[T]{State: State(j.State), Why: j.Why}
	switch j.State {
	case "absent":
		f.State = Absent
	case string(Present):
		if j.Value == nil {
			return fmt.Errorf("decode fact: present without a value")
		}
		f.Value = *j.Value
	case string(Unsupported), string(Denied):
	default:
		return fmt.Errorf("decode fact: unknown state %q", j.State)
	}
	return nil
}
