package desk

import (
	"slices"
	"time"
)

// Host is one that was enrolled.
type Host struct {
	ID       string            `json:"id"`
	Name     string            `json:"name"`
	Labels   map[string]string `json:"labels,omitempty"`
	User     string            `json:"user"`  // its name at brokers
	Token    string            `json:"token"` // ID of the one that admitted it
	Enrolled time.Time         `json:"enrolled"`
	Revoked  time.Time         `json:"revoked,omitzero"`
}

// Token is one that was made; the secret in it is not kept.
type Token struct {
	ID      string            `json:"id"`
	Name    string            `json:"name,omitempty"` // that its host is to have; empty: what it calls itself
	Labels  map[string]string `json:"labels,omitempty"`
	Made    time.Time         `json:"made"`
	Expires time.Time         `json:"expires"`
	Used    time.Time         `json:"used,omitzero"`
	By      string            `json:"by,omitempty"` // ID of the host that it admitted
}

// state is what changes of a site, as it is on disk.
type state struct {
	V      int     `json:"v"`
	Hosts  []Host  `json:"hosts"`
	Tokens []Token `json:"tokens"`
}

func (s *state) byID(id string) *Host {
	i := slices.IndexFunc(s.Hosts, func(h Host) bool { return h.ID == id && h.Revoked.IsZero() })
	if i < 0 {
		return nil
	}
	return &s.Hosts[i]
}

func (s *state) byName(name string) *Host {
	i := slices.IndexFunc(s.Hosts, func(h Host) bool { return h.Name == name && h.Revoked.IsZero() })
	if i < 0 {
		return nil
	}
	return &s.Hosts[i]
}

func (s *state) token(id string) *Token {
	i := slices.IndexFunc(s.Tokens, func(t Token) bool { return t.ID == id })
	if i < 0 {
		return nil
	}
	return &s.Tokens[i]
}

// revoked are the users that brokers let in no more.
func (s *state) revoked() []string {
	var out []string
	for _, h := range s.Hosts {
		if !h.Revoked.IsZero() {
			out = append(out, h.User)
		}
	}
	return out
}

// copied is s, sharing no list that is changed in place.
func (s *state) copied() state {
	return state{s.V, slices.Clone(s.Hosts), slices.Clone(s.Tokens)}
}
