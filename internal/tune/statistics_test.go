package tune

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/kernel/kerneltest"
	"linerate/internal/model"
)

// windowsTCP is a Windows host with three connections to a server.
func windowsTCP() *kerneltest.Estats {
	return &kerneltest.Estats{PID: 4, More: 2, Now: time.Now, Conn: func(time.Duration) model.Conn {
		return model.Conn{Local: netip.MustParseAddrPort("192.0.2.2:49900"), Remote: netip.MustParseAddrPort("192.0.2.9:445"), SndMSS: 1460, Cwnd: 10, SndWnd: 65535}
	}}
}

// processes are the beginnings of those that live.
type processes map[int]uint64

func (p processes) began(pid int) (uint64, error) {
	switch at, ok := p[pid]; {
	case !ok:
		return 0, fmt.Errorf("process %d: %w", pid, fs.ErrNotExist)
	case at == 0:
		return 0, fmt.Errorf("process %d: %w", pid, fs.ErrPermission)
	default:
		return at, nil
	}
}

// records are those of a process that lives.
func (p processes) records(dir string, pid int, start uint64) Statistics {
	p[pid] = start
	return Statistics{Dir: dir, PID: pid, Start: start, Began: p.began, Now: time.Now}
}

func (s Statistics) putBackOn(h *kerneltest.Estats) ([]string, error) {
	return s.PutBack(func() (kernel.Estats, error) { return h, nil })
}

// killed is the panic that stands for the end of a process by TerminateProcess.
type killed struct{}

// watchUntil watches the connections of a host as explain --attach does, and is killed at a step; 0: never.
// It returns how many steps there are.
func watchUntil(t *testing.T, h *kerneltest.Estats, s Statistics, kill int) (steps int) {
	t.Helper()
	step := func(string) {
		if steps++; steps == kill {
			panic(killed{})
		}
	}
	h.Step, s.Fault = step, step
	defer func() {
		h.Step = nil
		if r := recover(); r != nil && r != (killed{}) {
			panic(r)
		}
	}()
	w := kernel.NewEstatsWatch(h, s)
	for range 2 {
		if _, err := w.Read(kernel.TCPFilter{Ports: []uint16{445}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return steps
}

// files are the names in a directory.
func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, f := range list {
		names = append(names, f.Name())
	}
	return names
}

// Wherever a watch is killed, and wherever the one that puts back is killed too, the next one leaves on
// what was on before and no more, and no record.
func TestKilledWatchOfStatistics(t *testing.T) {
	all := watchUntil(t, windowsTCP(), processes{}.records(t.TempDir(), 100, 1000), 0)
	if all != 3+2*2*21 { // the record, and 3 × 7 groups on and off, before and after
		t.Errorf("%d steps", all)
	}
	on := 0
	for kill := 1; kill <= all; kill++ {
		for again := 0; again <= 2; again++ {
			h, live, dir := windowsTCP(), processes{}, filepath.Join(t.TempDir(), "statistics")
			h.Others(0, 1)
			h.Others(2, 3)
			watchUntil(t, h, live.records(dir, 100, 1000), kill)
			delete(live, 100)
			on = max(on, h.On())
			next := live.records(dir, 104, 2000)
			if again > 0 { // it is killed too, after so many switches
				putBackUntil(h, next, 3*again)
			}
			notes, err := next.putBackOn(h)
			if err != nil || h.On() != 2 || !h.IsOn(0, 1) || !h.IsOn(2, 3) || len(files(t, dir)) > 0 {
				t.Fatalf("killed at step %d: %v %v, %d groups on, records %v", kill, notes, err, h.On(), files(t, dir))
			}
			if notes, err := next.putBackOn(h); err != nil || len(notes) > 0 || h.On() != 2 {
				t.Fatalf("killed at step %d, put back twice: %v %v", kill, notes, err)
			}
		}
	}
	if on != 3*7 {
		t.Errorf("at most %d groups were on", on)
	}
}

// putBackUntil is killed at a step.
func putBackUntil(h *kerneltest.Estats, s Statistics, kill int) {
	steps := 0
	step := func(string) {
		if steps++; steps == kill {
			panic(killed{})
		}
	}
	h.Step, s.Fault = step, step
	defer func() {
		h.Step = nil
		if r := recover(); r != nil && r != (killed{}) {
			panic(r)
		}
	}()
	_, _ = s.putBackOn(h) // what it could not do, the next one does
}

// leftOn is a host whose connections' statistics a process left on, and the directory of its record.
func leftOn(t *testing.T) (h *kerneltest.Estats, live processes, dir string) {
	t.Helper()
	h, live, dir = windowsTCP(), processes{}, filepath.Join(t.TempDir(), "statistics")
	watchUntil(t, h, live.records(dir, 100, 1000), 2+2*21) // all are on
	if h.On() != 21 || len(files(t, dir)) != 1 {
		t.Fatalf("%d groups on, records %v", h.On(), files(t, dir))
	}
	return h, live, dir
}

func TestStatisticsOfALivingProcessStayOn(t *testing.T) {
	h, live, dir := leftOn(t)
	for _, start := range []uint64{1000, 0} { // it lives, or cannot be asked
		live[100] = start
		if notes, err := live.records(dir, 104, 2000).putBackOn(h); err != nil || len(notes) > 0 || h.On() != 21 {
			t.Errorf("%v %v, %d groups on", notes, err, h.On())
		}
	}
	live[100] = 1001 // another process of that number
	notes, err := live.records(dir, 104, 2000).putBackOn(h)
	if err != nil || h.On() != 0 || len(notes) != 1 || !strings.Contains(notes[0], "switched off the TCP statistics of 3 connections, which process 100,") {
		t.Errorf("%v %v, %d groups on", notes, err, h.On())
	}
}

// What a living process has switched on stays on, though a dead one had it on before.
func TestStatisticsThatALivingProcessTookOver(t *testing.T) {
	h, live, dir := leftOn(t)
	delete(live, 100)
	row := kernel.EstatsSwitched{}
	for _, f := range files(t, dir) {
		b, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		r, err := parseStatistics(f, b)
		if err != nil || len(r.Switched) != 3 {
			t.Fatalf("%+v, %v", r, err)
		}
		row = r.Switched[0]
	}
	other := live.records(dir, 108, 3000)
	if err := other.Keep([]kernel.EstatsSwitched{row}); err != nil {
		t.Fatal(err)
	}
	if notes, err := live.records(dir, 104, 2000).putBackOn(h); err != nil || h.On() != 7 || len(notes) != 1 || !slices.Equal(files(t, dir), []string{"108-3000.json"}) {
		t.Errorf("%v %v, %d groups on, records %v", notes, err, h.On(), files(t, dir))
	}
}

func TestStatisticsOfConnectionsThatAreGone(t *testing.T) {
	h, live, dir := leftOn(t)
	delete(live, 100)
	h.End(0)
	h.End(1)
	if notes, err := live.records(dir, 104, 2000).putBackOn(h); err != nil || h.On() != 0 || !strings.Contains(notes[0], "of 1 connection,") {
		t.Errorf("%v %v, %d groups on", notes, err, h.On())
	}
	h, live, dir = leftOn(t)
	delete(live, 100)
	h.PID = 8 // other connections at the same addresses: what is on is another program's
	if notes, err := live.records(dir, 104, 2000).putBackOn(h); err != nil || h.On() != 21 || len(files(t, dir)) != 0 || !strings.Contains(notes[0], "nothing is on any more") {
		t.Errorf("%v %v, %d groups on", notes, err, h.On())
	}
}

func TestStatisticsThatCannotBeSwitchedOff(t *testing.T) {
	for what, broken := range map[string]func(h *kerneltest.Estats, dir string) func(){
		"Run as administrator":        func(h *kerneltest.Estats, _ string) func() { h.Denied = true; return func() { h.Denied = false } },
		"was switched off, and is on": func(h *kerneltest.Estats, _ string) func() { h.Deaf = true; return func() { h.Deaf = false } },
		"its checksum is another": func(_ *kerneltest.Estats, dir string) func() {
			return tear(dir, func(b []byte) []byte { return b[:len(b)/2] })
		},
		"its checksum is another;": func(_ *kerneltest.Estats, dir string) func() { return tear(dir, func([]byte) []byte { return nil }) },
		"is another; it is kept, and what ": func(_ *kerneltest.Estats, dir string) func() {
			return tear(dir, func(b []byte) []byte { b[9]++; return b })
		},
	} {
		t.Run(what, func(t *testing.T) {
			h, live, dir := leftOn(t)
			delete(live, 100)
			mend := broken(h, dir)
			next := live.records(dir, 104, 2000)
			for range 2 {
				notes, err := next.putBackOn(h)
				if err == nil || !strings.Contains(err.Error(), what) || h.On() != 21 || !slices.Equal(files(t, dir), []string{"100-1000.json"}) {
					t.Errorf("%v %v, %d groups on, records %v", notes, err, h.On(), files(t, dir))
				}
			}
			mend()
			if notes, err := next.putBackOn(h); err != nil || h.On() != 0 || len(files(t, dir)) != 0 {
				t.Errorf("%v %v, %d groups on, records %v", notes, err, h.On(), files(t, dir))
			}
		})
	}
}

// tear damages the record in a directory; the returned function mends it.
func tear(dir string, how func([]byte) []byte) func() {
	name := filepath.Join(dir, "100-1000.json")
	b, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, how(slices.Clone(b)), 0o600)
	}
	if err != nil {
		panic(err)
	}
	return func() {
		if err := os.WriteFile(name, b, 0o600); err != nil {
			panic(err)
		}
	}
}

// Another file is not touched, and what a dead process had begun to write is.
func TestOtherFilesBesideRecords(t *testing.T) {
	dir, live := t.TempDir(), processes{112: 4000}
	for _, name := range []string{"notes.txt", "x-y.json", "100-1000.json.new", "112-4000.json.new"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	none := func() (kernel.Estats, error) { return nil, errors.New("asked for nothing") }
	if notes, err := live.records(dir, 104, 2000).PutBack(none); err != nil || len(notes) > 0 {
		t.Errorf("%v %v", notes, err)
	}
	if got := files(t, dir); !slices.Equal(got, []string{"112-4000.json.new", "notes.txt", "x-y.json"}) {
		t.Errorf("%v", got)
	}
	absent := live.records(filepath.Join(dir, "none"), 104, 2000)
	if notes, err := absent.PutBack(none); err != nil || len(notes) > 0 || len(files(t, absent.Dir)) > 0 {
		t.Errorf("without a directory: %v %v", notes, err)
	}
}

func FuzzParseStatistics(f *testing.F) {
	row := []byte{5, 0, 0, 0, 192, 0, 2, 2, 0xc2, 0xec, 0, 0, 192, 0, 2, 9, 1, 0xbd, 0, 0}
	r := statisticsRecord{V: 1, PID: 100, Start: 1000, At: time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC), Switched: []kernel.EstatsSwitched{{Row: row, PID: 4, Groups: []kernel.EstatsGroup{1, 8}}}}
	whole, err := r.text()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(r.name(), whole)
	f.Add("100-1000.json", whole[:40])
	f.Add("7-7.json", []byte(`{"v":1,"pid":7,"start":7,"switched":[{"row":"AAAA","pid":4,"groups":[9]}]}`+"\ncrc32c:00000000\n"))
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		for _, b := range [][]byte{b, summed(b)} { // with a checksum that is right too
			r, err := parseStatistics(name, b)
			if err != nil {
				continue
			}
			pid, start, ok := processOf(name)
			if !ok || pid != r.PID || start != r.Start {
				t.Errorf("%s is taken for a record of process %d", name, r.PID)
			}
			for _, s := range r.Switched {
				if len(s.Row) < 20 || len(s.Groups) == 0 || s.Groups[0] < 1 {
					t.Errorf("%+v", s)
				}
			}
		}
	})
}

// summed is a line with its checksum.
func summed(b []byte) []byte {
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return fmt.Appendf(slices.Clone(line), "\n%s", checksum(line))
}

// The list names who has what on, and leaves everything as it is, also what was not written to the end.
func TestStatisticsThatAreOnAreListed(t *testing.T) {
	dir, p := t.TempDir(), processes{}
	if notes, err := (Statistics{Dir: dir + "/none"}).List(); err != nil || len(notes) > 0 {
		t.Errorf("%q, %v", notes, err)
	}
	at := func() time.Time { return time.Date(2026, 11, 28, 9, 30, 0, 0, time.UTC) }
	for pid, text := range map[int]string{7: "", 8: "", 9: "torn"} {
		s := p.records(dir, pid, 5)
		s.Now = at
		watch := kernel.NewEstatsWatch(windowsTCP(), s) // which nobody closes
		if _, err := watch.Read(kernel.TCPFilter{Ports: []uint16{445}}, nil); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d-5.json", pid)), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	delete(p, 8)
	if err := os.WriteFile(filepath.Join(dir, "8-5.json"+newSuffix), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	notes, err := p.records(dir, 10, 5).List()
	slices.Sort(notes)
	want := []string{"process 7 has the TCP statistics of 3 connections switched on, since 2026-11-28 09:30:00 UTC", "process 8, a linerate that did not end by itself, may have left on the TCP statistics of 3 connections", "the record of TCP statistics of process 9 cannot be read"}
	if err != nil || len(notes) != len(want) || !slices.Equal(before, files(t, dir)) {
		t.Fatalf("%q, %v; files %q, were %q", notes, err, files(t, dir), before)
	}
	for i, w := range want {
		if !strings.HasPrefix(notes[i], w) {
			t.Errorf("%q, want %q", notes[i], w)
		}
	}
}
