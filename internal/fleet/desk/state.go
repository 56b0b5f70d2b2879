package desk

import (
	"fmt"
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
	Hosts   int               `json:"hosts,omitempty"` // how many it admits; 0: one
	// Admitted is how many it has admitted, also those that were revoked since. Used and By are
	// of the last one: when, and its ID.
	Admitted int       `json:"admitted,omitempty"`
	Used     time.Time `json:"used,omitzero"`
	By       string    `json:"by,omitempty"`
	// Ended is when one of its hosts was revoked: whoever had that host may have the token.
	Ended time.Time `json:"ended,omitzero"`
}

// most is how many hosts the token admits.
func (t Token) most() int { return max(1, t.Hosts) }

// admitted is how many it has; a linerate that knew only tokens for one host did not count.
func (t Token) admitted() int {
	if t.Used.IsZero() {
		return 0
	}
	return max(1, t.Admitted)
}

// spent is why the token admits nobody any more; nil if it does.
func (t Token) spent() error {
	switch {
	case !t.Ended.IsZero():
		return fmt.Errorf("the token was ended at %s, when a host that it had admitted was revoked", t.Ended.Format(time.RFC3339))
	case t.admitted() < t.most():
		return nil
	case t.most() == 1:
		return fmt.Errorf("the token was used at %s, by host %s: it admits one host", t.Used.Format(time.RFC3339), t.By)
	}
	return fmt.Errorf("the token has admitted %d hosts, the last at %s: it was made for no more", t.admitted(), t.Used.Format(time.RFC3339))
}

// state is what changes of a site, as it is on disk, and by what it is looked up.
type state struct {
	V      int     `json:"v"`
	Record int     `json:"record,omitempty"` // number of the record that goes on from here
	Hosts  []Host  `json:"hosts"`
	Tokens []Token `json:"tokens"`

	// Places in the lists; names are of those that were not revoked.
	ids, names, tokens map[string]int
	users              map[string]bool // at brokers, of all hosts that ever were
}

// index makes the maps anew.
func (s *state) index() {
	s.ids, s.names, s.tokens, s.users = map[string]int{}, map[string]int{}, map[string]int{}, map[string]bool{}
	for i, h := range s.Hosts {
		s.place(h, i)
	}
	for i, t := range s.Tokens {
		s.tokens[t.ID] = i
	}
}

// place notes where a host is in the list.
func (s *state) place(h Host, i int) {
	s.ids[h.ID], s.users[h.User] = i, true
	switch at, ok := s.names[h.Name]; {
	case h.Revoked.IsZero():
		s.names[h.Name] = i
	case ok && at == i:
		delete(s.names, h.Name)
	}
}

// apply puts a change in force.
func (s *state) apply(c change) {
	if c.Host != nil {
		i, ok := s.ids[c.Host.ID]
		if !ok {
			i = len(s.Hosts)
			s.Hosts = append(s.Hosts, Host{})
		}
		s.Hosts[i] = *c.Host
		s.place(*c.Host, i)
	}
	if c.Token != nil {
		i, ok := s.tokens[c.Token.ID]
		if !ok {
			i = len(s.Tokens)
			s.Tokens = append(s.Tokens, Token{})
		}
		s.Tokens[i], s.tokens[c.Token.ID] = *c.Token, i
	}
}

// byID is a host that was not revoked, nil if there is none; so is byName.
func (s *state) byID(id string) *Host {
	i, ok := s.ids[id]
	if !ok || !s.Hosts[i].Revoked.IsZero() {
		return nil
	}
	return &s.Hosts[i]
}

func (s *state) byName(name string) *Host {
	i, ok := s.names[name]
	if !ok {
		return nil
	}
	return &s.Hosts[i]
}

// known tells whether a key was enrolled before, by either name of it.
func (s *state) known(id, user string) bool {
	_, ok := s.ids[id]
	return ok || s.users[user]
}

func (s *state) token(id string) *Token {
	i, ok := s.tokens[id]
	if !ok {
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
