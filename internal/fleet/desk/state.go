package desk

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// maxFile bounds a file of a site: some 50,000 hosts.
const maxFile = 32 << 20

func readFile(path string, v any) error {
	i, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if !i.Mode().IsRegular() || i.Mode().Perm()&0o077 != 0 || i.Size() > maxFile {
		return fmt.Errorf("read %s (%s, %d bytes): want a file that its owner alone may read", path, i.Mode(), i.Size())
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// writeFile replaces a file by a whole one that is on the disk.
func writeFile(path string, v any) (err error) {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	next := path + "." + rand.Text()[:8]
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(append(b, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(next)))
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("write %s: %w", dir, err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("write %s: %w", dir, err)
	}
	return nil
}
