package history

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/lab/labtest"
	"linerate/internal/model"
	"linerate/internal/unit"
	"linerate/internal/watch"
	"linerate/internal/watch/past"
)

var noon = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

// ten is a record of ten seconds in which a path carried some megabytes.
func ten(at time.Time, mb float64) past.Record {
	return past.Record{At: at, Span: Finest, Paths: []past.Path{{Name: "a – b", Most: unit.BitRate(mb), RTT: past.Histogram{900: 3},
		Parts: []past.Part{{Named: watch.Named{State: watch.Moving, Limiter: model.PathLoss}, For: Finest, Bytes: mb * 1e6}}}}}
}

func opened(t *testing.T, data string, limit unit.Bytes, now time.Time) *Store {
	t.Helper()
	s, err := Open(data, "a, b", limit, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// add keeps a record for each ten seconds of a stretch of time.
func add(t *testing.T, s *Store, from time.Time, long time.Duration) {
	t.Helper()
	for at := from; at.Before(from.Add(long)); at = at.Add(Finest) {
		if err := s.Add(ten(at, 1)); err != nil {
			t.Fatal(err)
		}
	}
}

// carried are the megabytes in records, and the time that was seen.
func carried(all []past.Record) (mb float64, seen time.Duration) {
	for _, r := range all {
		for _, p := range r.Paths {
			long, bytes := p.Known()
			mb, seen = mb+bytes/1e6, seen+long
		}
	}
	return mb, seen
}

func between2(t *testing.T, s *Store, from, to time.Time, width time.Duration) Read {
	t.Helper()
	r, err := s.Between(from, to, width)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What is written is read, as wide as asked for, none of it twice, across hours, days and months
// and across a second writer.
func TestRecordsAreKept(t *testing.T) {
	labtest.OneGoroutine(t)
	data, begin := t.TempDir(), time.Date(2026, 11, 30, 21, 0, 0, 0, time.UTC)
	s := opened(t, data, unit.GiB, begin)
	add(t, s, begin, 2*time.Hour+17*time.Minute+10*time.Second)
	if _, err := Open(data, "a, b", unit.GiB, begin); !errors.Is(err, kernel.ErrLocked) {
		t.Fatalf("a second writer at once: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := begin.Add(2*time.Hour + 18*time.Minute)
	s = opened(t, data, unit.GiB, again)
	add(t, s, again, 2*time.Hour)
	end := again.Add(2 * time.Hour)
	whole := 2*time.Hour + 17*time.Minute + 10*time.Second + 2*time.Hour
	for _, width := range []time.Duration{time.Second, Finest, time.Minute, 5 * time.Minute, time.Hour, 24 * time.Hour} {
		r := between2(t, s, begin, end, width)
		mb, seen := carried(r.Records)
		if mb != whole.Seconds()/10 || seen != whole || len(r.Problems) > 0 {
			t.Errorf("%s wide: %g MB in %s, want those of %s; problems %v", width, mb, seen, whole, r.Problems)
		}
		for i := 1; i < len(r.Records); i++ {
			if r.Records[i].At.Before(r.Records[i-1].End()) {
				t.Errorf("%s wide: %s overlaps the one before", width, r.Records[i].At)
			}
		}
	}
	for _, c := range []struct {
		dir  string
		want int
	}{{"10s", 6}, {"5m", 3}, {"1h", 3}} { // 10s: 21, 22, 23, 0 (sealed) and 1; the others: what is over, and what is written
		all, err := filepath.Glob(filepath.Join(data, Folder, "*", c.dir, "*"))
		if err != nil || len(all) > c.want {
			t.Errorf("%s: %v", c.dir, all)
		}
	}
	sets, err := Sets(data)
	if err != nil || len(sets) != 1 || sets[0].Name != "a, b" {
		t.Fatalf("%v %v", sets, err)
	}
	if r, err := sets[0].Between(begin, end, Finest); err != nil || len(r.Records) != int(whole/Finest) {
		t.Errorf("%d records, %v", len(r.Records), err)
	}
}

// What pages ask for is read while records are written: each finds all that was added before it
// asked, by the writer and beside it.
func TestRecordsAreReadWhileTheyAreWritten(t *testing.T) {
	data := t.TempDir()
	s := opened(t, data, unit.GiB, noon)
	var added atomic.Int64
	var all sync.WaitGroup
	for _, page := range []bool{true, false} {
		all.Go(func() {
			for n := int64(0); n < 90; {
				n = added.Load()
				r, err := s.Between(noon, noon.Add(time.Hour), Finest)
				if !page {
					var sets []Set
					if sets, err = Sets(data); err == nil && len(sets) == 1 {
						r, err = sets[0].Between(noon, noon.Add(time.Hour), Finest)
					}
				}
				if is, limit := s.Size(); err != nil || int64(len(r.Records)) < n && page || is > limit {
					t.Errorf("%d records of %d, %v of %v: %v", len(r.Records), n, is, limit, err)
					return
				}
			}
		})
	}
	for i := range 90 { // across three times at which wider records are made
		if err := s.Add(ten(noon.Add(time.Duration(i)*Finest), 1)); err != nil {
			t.Error(err)
		}
		added.Add(1)
	}
	all.Wait()
}

// A writer that was killed at any byte costs the record that it wrote, and no other; the next one
// goes on, adds up what was not added up, and counts nothing twice.
func TestATornTailIsSkippedAndSaid(t *testing.T) {
	data := t.TempDir()
	s := opened(t, data, unit.GiB, noon)
	add(t, s, noon, time.Minute)
	part := one(t, filepath.Join(data, Folder, "*", "10s", "*"+partEnd))
	whole, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	full, err := readSegment(whole)
	if err != nil || len(full.records) != 6 || full.torn {
		t.Fatalf("%+v %v", full, err)
	}
	last := -1
	for n := range whole {
		s, err := readSegment(whole[:n])
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if !reflect.DeepEqual(s.records, full.records[:len(s.records)]) && len(s.records) > 0 || len(s.records) < last {
			t.Fatalf("%d bytes: %d records", n, len(s.records))
		}
		last = len(s.records)
	}
	if last != 5 {
		t.Errorf("without the last byte %d records", last)
	}
	if err := os.WriteFile(part, whole[:len(whole)-3], 0o600); err != nil {
		t.Fatal(err)
	}
	r := between2(t, s, noon, noon.Add(time.Hour), Finest)
	if len(r.Records) != 5 || len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Why, "not written whole") {
		t.Errorf("%d records, %v", len(r.Records), r.Problems)
	}
}

// one is the only file that fits a pattern.
func one(t *testing.T, pattern string) string {
	t.Helper()
	all, err := filepath.Glob(pattern)
	if err != nil || len(all) != 1 {
		t.Fatalf("%v %v", all, err)
	}
	return all[0]
}

// Whatever byte of a segment is another, what is read is what was written, and what was skipped
// is said.
func TestASpoiledSegmentIsNeverMisread(t *testing.T) {
	labtest.OneGoroutine(t)
	b, err := appendHeader(nil, header{V: Version, Set: "x"})
	if err != nil {
		t.Fatal(err)
	}
	begin := len(b)
	z, err := packer()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if b, err = appendBlock(z, b, ten(noon.Add(time.Duration(i)*Finest), float64(i+1))); err != nil {
			t.Fatal(err)
		}
	}
	want, err := readSegment(b)
	if err != nil || len(want.records) != 4 {
		t.Fatal(err)
	}
	written := map[string]bool{}
	for _, r := range want.records {
		written[text(t, r)] = true
	}
	for i := begin; i < len(b); i++ {
		for _, flip := range []byte{1, 0x80, 0xff} {
			b[i] ^= flip
			got, err := readSegment(b)
			b[i] ^= flip
			if err != nil {
				t.Fatalf("byte %d: %v", i, err)
			}
			if len(got.records) > 3 || !got.torn && len(got.spoiled) == 0 {
				t.Errorf("byte %d: %d records, torn %v, skipped %v", i, len(got.records), got.torn, got.spoiled)
			}
			for _, r := range got.records {
				if !written[text(t, r)] {
					t.Fatalf("byte %d: misread as %+v", i, r)
				}
			}
		}
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A segment that cannot be read is skipped and said; it stays where it is, also when it is over.
func TestABrokenSegmentIsSkippedAndKept(t *testing.T) {
	data := t.TempDir()
	s := opened(t, data, unit.GiB, noon)
	add(t, s, noon, 50*time.Minute)
	part := one(t, filepath.Join(data, Folder, "*", "10s", "*"+partEnd))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-5] ^= 1
	dir := filepath.Dir(part)
	for name, text := range map[string]string{part: string(b), filepath.Join(dir, "20261124-11.seg"): "no history\n", filepath.Join(dir, "20261124-10.seg"): `{"linerate_history":9}` + "\nx"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = opened(t, data, unit.GiB, noon.Add(3*time.Hour))
	r := between2(t, s, noon.Add(-4*time.Hour), noon.Add(time.Hour), Finest)
	if len(r.Records) != 299 {
		t.Errorf("%d records", len(r.Records))
	}
	said := text(t, r.Problems)
	for _, want := range []string{"20261124-11.seg", "does not begin", "20261124-10.seg", "version 9", "its checksum is another"} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in %s", want, said)
		}
	}
	if _, err := os.Stat(part); err != nil {
		t.Error(err)
	}
}

// After an error, as of a full disk, the next record that can be kept is.
func TestHistoryGoesOnAfterAnError(t *testing.T) {
	s := opened(t, t.TempDir(), unit.GiB, noon)
	add(t, s, noon, 20*time.Second)
	if err := s.part["10s"].f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Add(ten(noon.Add(20*time.Second), 1)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("written into a closed file: %v", err)
	}
	add(t, s, noon.Add(30*time.Second), 20*time.Second)
	if r := between2(t, s, noon, noon.Add(time.Hour), Finest); len(r.Records) != 4 || len(r.Problems) != 0 {
		t.Errorf("%d records, %v", len(r.Records), r.Problems)
	}
}

// What is too old goes, and beyond the bound the oldest of the finest first; hours and days that
// are gone are read from the wider records.
func TestWhatIsKeptIsBounded(t *testing.T) {
	labtest.OneGoroutine(t)
	data := t.TempDir()
	s := opened(t, data, 80*unit.KiB, noon)
	add(t, s, noon, 9*time.Hour)
	is, limit := s.Size()
	if is > limit {
		t.Errorf("%v of %v", is, limit)
	}
	end := noon.Add(9 * time.Hour)
	r := between2(t, s, noon, end, Finest)
	if mb, seen := carried(r.Records); mb != 3240 || seen != 9*time.Hour || r.Records[0].Span == Finest || r.Records[len(r.Records)-1].Span != Finest {
		t.Errorf("%g MB in %s, in %d records", mb, seen, len(r.Records))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after time.Duration
		want  time.Duration // width of the records that are left
	}{{8 * 24 * time.Hour, 5 * time.Minute}, {62 * 24 * time.Hour, time.Hour}, {450 * 24 * time.Hour, 0}} {
		s := opened(t, data, unit.GiB, noon.Add(c.after))
		add(t, s, noon.Add(c.after), evenly+pruned)
		r := between2(t, s, noon, end, Finest)
		switch {
		case c.want == 0 && len(r.Records) > 0:
			t.Errorf("after %s there are %d records", c.after, len(r.Records))
		case c.want > 0 && (len(r.Records) == 0 || r.Records[0].Span != c.want):
			t.Errorf("after %s: %+v", c.after, r.Records)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A clock that is set years ahead, or is so when a machine starts, drops nothing; it is set back, and
// what was kept before and after is there.
func TestAClockThatStepsDropsNothing(t *testing.T) {
	labtest.OneGoroutine(t)
	data := t.TempDir()
	s := opened(t, data, unit.GiB, noon)
	add(t, s, noon, time.Hour)
	add(t, s, noon.AddDate(3, 0, 0), 30*time.Minute)
	add(t, s, noon.Add(2*time.Hour), time.Hour)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = opened(t, data, unit.GiB, noon.AddDate(3, 0, 0))
	add(t, s, noon.AddDate(3, 0, 0).Add(time.Hour), 30*time.Minute)
	r := between2(t, s, noon, noon.Add(3*time.Hour), Finest)
	if mb, seen := carried(r.Records); mb != 720 || seen != 2*time.Hour || len(r.Problems) > 0 {
		t.Errorf("%g MB in %s, %v", mb, seen, r.Problems)
	}
	// Wider records were made again from then on, and none twice.
	for _, l := range levels()[1:] {
		var out Read
		all, err := l.read(s.root, noon, noon.Add(3*time.Hour), &out)
		if mb, seen := carried(all); err != nil || mb != 720 || seen != 2*time.Hour {
			t.Errorf("%s: %g MB in %s, %v", l.dir, mb, seen, err)
		}
	}
}

// Segments of every version that was ever written are read.
func TestFixtures(t *testing.T) {
	for v := 1; v <= Version; v++ {
		b, err := os.ReadFile(filepath.Join("testdata", "v"+string(rune('0'+v))+".seg"))
		if err != nil {
			t.Fatalf("version %d has no fixture: %v", v, err)
		}
		s, err := readSegment(b)
		if err != nil || s.torn || len(s.spoiled) > 0 || s.V != v || s.Set != "a, b" || len(s.records) != 3 {
			t.Fatalf("%+v %v", s, err)
		}
		p := s.records[2].Paths[0]
		if long, bytes := p.Known(); long != Finest || bytes != 3e6 || p.Parts[0].Limiter != model.PathLoss || p.RTT[900] != 3 {
			t.Errorf("%+v", p)
		}
	}
}

func FuzzReadSegment(f *testing.F) {
	b, err := os.ReadFile("testdata/v1.seg")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := readSegment(b)
		for _, r := range s.records {
			if err == nil && r.Span <= 0 {
				t.Errorf("%+v", r)
			}
		}
	})
}

// What is in a block whose checksum holds: changed bytes get no further than the checksum.
func FuzzRecords(f *testing.F) {
	f.Add([]byte(`{"at":"2026-04-01T12:00:00Z","span":10000000000}` + "\n"))
	f.Add([]byte(`{"at":"2026-04-01T12:00:00Z","span":-1}{`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s segment
		err := s.read(b)
		for _, r := range s.records {
			if r.Span <= 0 || r.At.IsZero() {
				t.Errorf("%+v, %v", r, err)
			}
		}
	})
}
