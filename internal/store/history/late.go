package history

import (
	"fmt"
	"path/filepath"

	"linerate/internal/watch/past"
)

// AddLate keeps late records of ten seconds: those of a segment become a part of their own, which is
// there as a whole or not at all. Wider records of their time that were added up without them get such
// parts, too. When their segment is sealed, they take the place of what was stale.
func (s *Store) AddLate(all []past.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, l := range levels() {
		records := all
		if i > 0 {
			records = nil
			for _, r := range all {
				if r.At.Before(s.added[l.dir]) {
					records = append(records, r)
				}
			}
		}
		if err := s.writeLate(l, past.Slots(l.span, records)); err != nil {
			return err
		}
	}
	return nil
}

// writeLate writes late records of a level.
func (s *Store) writeLate(l level, records []past.Record) error {
	for len(records) > 0 {
		name, n := l.name(records[0].At), 1
		for n < len(records) && l.name(records[n].At) == name {
			n++
		}
		s.late++
		path := filepath.Join(s.root, l.dir, fmt.Sprintf("%s.%s-late-%d%s", name, s.own, s.late, partEnd))
		if err := s.whole(path, header{Set: s.set}, records[:n]); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}
