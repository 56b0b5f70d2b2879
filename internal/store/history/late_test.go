package history

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"linerate/internal/unit"
	"linerate/internal/watch"
	"linerate/internal/watch/past"
)

// staleTen is a record of ten seconds in which a path was stale.
func staleTen(at time.Time) past.Record {
	return past.Record{At: at, Span: Finest, Paths: []past.Path{{Name: "a – b", Parts: []past.Part{{Named: watch.Named{State: watch.Stale}, For: Finest}}}}}
}

// lateTen is what came of such a time.
func lateTen(at time.Time, mb float64) past.Record {
	r := ten(at, mb)
	r.Late = true
	r.Hosts = []past.Host{{Name: "a", Seen: Finest}}
	return r
}

// A minute that was stale is full once its samples have come, at every width, in this writer and in the
// next, whether its segments were sealed meanwhile or not.
func TestLateRecordsFillTheHistory(t *testing.T) {
	for name, after := range map[string]time.Duration{"at once": time.Minute, "after wider records were made": 7 * time.Minute, "in the next hour": 75 * time.Minute} {
		t.Run(name, func(t *testing.T) {
			data := t.TempDir()
			s := opened(t, data, unit.GiB, noon)
			add(t, s, noon, 4*time.Minute)
			gap := noon.Add(4 * time.Minute)
			var late []past.Record
			for at := gap; at.Before(gap.Add(time.Minute)); at = at.Add(Finest) {
				if err := s.Add(staleTen(at)); err != nil {
					t.Fatal(err)
				}
				late = append(late, lateTen(at, 1))
			}
			add(t, s, gap.Add(time.Minute), after)
			end := gap.Add(time.Minute + after)
			if err := s.AddLate(late); err != nil {
				t.Fatal(err)
			}
			full(t, s, end)
			add(t, s, end, 70*time.Minute) // what was written is sealed
			end = end.Add(70 * time.Minute)
			full(t, s, end)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			again := opened(t, data, unit.GiB, end.Add(25*time.Hour))
			full(t, again, end)
		})
	}
}

// full is of a history that carried a megabyte in each ten seconds, and of which nothing is stale.
func full(t *testing.T, s *Store, end time.Time) {
	t.Helper()
	for _, width := range []time.Duration{Finest, 5 * time.Minute, time.Hour} {
		r, err := s.Between(noon, end, width)
		if err != nil || len(r.Problems) > 0 {
			t.Fatalf("%v %v", err, r.Problems)
		}
		want := end.Sub(noon)
		hosts := time.Duration(0)
		for _, x := range r.Records {
			for _, h := range x.Hosts {
				hosts += h.Seen
			}
			for _, p := range x.Paths {
				if p.Seen() > x.Span || x.Late {
					t.Errorf("by %s: %s of %s at %s, late %t", width, p.Seen(), x.Span, x.At, x.Late)
				}
			}
		}
		mb, seen := carried(r.Records)
		if seen != want || mb != want.Seconds()/10 || hosts != time.Minute {
			t.Errorf("by %s: %g MB in %s, want %g in %s; hosts %s", width, mb, seen, want.Seconds()/10, want, hosts)
		}
	}
}

// A linerate that does not know late records reads what it did before, and says that there is more.
func TestLateRecordsAreOfALaterVersion(t *testing.T) {
	data := t.TempDir()
	s := opened(t, data, unit.GiB, noon)
	if err := s.Add(staleTen(noon)); err != nil {
		t.Fatal(err)
	}
	if err := s.AddLate([]past.Record{lateTen(noon, 1)}); err != nil {
		t.Fatal(err)
	}
	all, err := filepath.Glob(filepath.Join(s.root, "10s", "*"+partEnd))
	if err != nil || len(all) != 2 {
		t.Fatalf("%v %v", all, err)
	}
	for _, file := range all {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		seg, err := readSegment(b)
		late := strings.Contains(file, "-late-")
		if err != nil || (seg.V == Version) != late || (seg.V == withoutLate) == late {
			t.Errorf("%s is of version %d, %v", file, seg.V, err)
		}
	}
	b, err := appendHeader(nil, header{V: Version + 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readSegment(b); !errors.Is(err, ErrNewer) {
		t.Errorf("a later version: %v", err)
	}
}

// A crash while late records are written leaves what was there.
func TestLateRecordsAreThereAsAWholeOrNotAtAll(t *testing.T) {
	data := t.TempDir()
	s := opened(t, data, unit.GiB, noon)
	add(t, s, noon, time.Minute)
	if err := s.AddLate([]past.Record{lateTen(noon.Add(time.Hour), 1)}); err != nil {
		t.Fatal(err)
	}
	file := one(t, filepath.Join(s.root, "10s", "*-late-*"+partEnd))
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file, file+".new"); err != nil { // as before the last step
		t.Fatal(err)
	}
	if err := os.WriteFile(file+".new", b[:len(b)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := s.Between(noon, noon.Add(2*time.Hour), Finest)
	if mb, _ := carried(r.Records); err != nil || len(r.Problems) > 0 || mb != 6 {
		t.Errorf("%g MB, %v %v", mb, r.Problems, err)
	}
}

// TestRecord makes the fixture of a version: run it once when a version is new.
func TestRecord(t *testing.T) {
	if os.Getenv("LINERATE_WRITE_FIXTURE") == "" {
		t.Skip("it writes testdata/v2.seg where LINERATE_WRITE_FIXTURE is set")
	}
	z, err := packer()
	if err != nil {
		t.Fatal(err)
	}
	b, err := appendHeader(nil, header{V: Version, Set: "a, b"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		r := ten(noon.Add(time.Duration(i)*Finest), float64(i+1))
		r.Late = true
		if b, err = appendBlock(z, b, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile("testdata/v2.seg", b, 0o600); err != nil {
		t.Fatal(err)
	}
}
