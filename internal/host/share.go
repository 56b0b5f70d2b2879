package host

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"

	"linerate/internal/model"
)

// mostShared is how many tables are held once for all hosts; further ones each host has for itself.
const mostShared = 4096

// shared are tables of facts that hosts have alike, by what is in them.
type shared struct {
	mu  sync.Mutex
	all map[[sha256.Size]byte]any
}

// facts has a host's facts take of equal tables those that are there already, which nobody may change:
// the features of interfaces, the options of mounts and the settings are most of what facts take, and of
// a thousand hosts most have the same.
func (s *shared) facts(f *model.Facts) {
	f.Settings = once(s, f.Settings)
	for i := range f.NICs {
		f.NICs[i].Features.Value = once(s, f.NICs[i].Features.Value)
	}
	for i := range f.Mounts {
		f.Mounts[i].Options = once(s, f.Mounts[i].Options)
	}
}

// once is a table, or the one with the same in it that came first.
func once[V any](s *shared, table map[string]V) map[string]V {
	if len(table) == 0 {
		return table
	}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(table)) {
		fmt.Fprintf(h, "%q %#v\n", name, table[name]) // a hash takes everything
	}
	key := [sha256.Size]byte(h.Sum(nil))
	s.mu.Lock()
	defer s.mu.Unlock()
	if first, ok := s.all[key].(map[string]V); ok {
		return first
	}
	if s.all == nil {
		s.all = map[[sha256.Size]byte]any{}
	}
	if len(s.all) < mostShared {
		s.all[key] = table
	}
	return table
}
