package tune

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"linerate/internal/kernel"
	"linerate/internal/unit"
)

// StatisticsVersion is the version of the records of Statistics.
const StatisticsVersion = 1

// Statistics is what processes of linerate have switched on of the TCP statistics of a Windows host: one
// record for each, written before the first switch and removed after the last, so that what a process
// that was killed left on can be switched off. The zero Fault is none.
type Statistics struct {
	Dir   string // of the records, made with mode 0700
	PID   int    // of this process
	Start uint64 // when it began, as Began tells it
	// Began tells when a process began, in units of this host; fs.ErrNotExist: there is none. With it a
	// process is told from a later one of the same number.
	Began func(pid int) (uint64, error)
	Now   func() time.Time
	// Fault stands for what can go wrong, as Tuner's does.
	Fault func(step string)
}

// statisticsRecord is the record of one process: a line of JSON, and one with its CRC-32C.
type statisticsRecord struct {
	V        int                     `json:"v"`
	PID      int                     `json:"pid"`
	Start    uint64                  `json:"start"`
	At       time.Time               `json:"at"`
	Switched []kernel.EstatsSwitched `json:"switched"`
}

const (
	statisticsSuffix = ".json"
	// maxStatistics bounds what is read of a record: many times what a watch can write.
	maxStatistics = 1 << 20
)

// name is that of the record of a process.
func (r statisticsRecord) name() string {
	return fmt.Sprintf("%d-%d%s", r.PID, r.Start, statisticsSuffix)
}

// text is the record as it is kept.
func (r statisticsRecord) text() ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(b, "\n%s", checksum(b)), nil
}

// checksum is the line after that of a record.
func checksum(line []byte) string {
	return fmt.Sprintf("crc32c:%08x\n", crc32.Checksum(line, crc32.MakeTable(crc32.Castagnoli)))
}

// parseStatistics reads the record that has this name.
func parseStatistics(name string, b []byte) (r statisticsRecord, err error) {
	line, rest, _ := bytes.Cut(b, []byte("\n"))
	switch {
	case string(rest) != checksum(line):
		return r, errors.New("it is torn, or was changed: its checksum is another")
	case json.Unmarshal(line, &r) != nil:
		return r, errors.New("it is not a record")
	case r.V != StatisticsVersion:
		return r, fmt.Errorf("it has version %d, this build knows %d", r.V, StatisticsVersion)
	case r.name() != name:
		return r, fmt.Errorf("it is of process %d", r.PID)
	}
	for _, s := range r.Switched {
		if err := s.Check(); err != nil {
			return r, fmt.Errorf("it names %w", err)
		}
	}
	return r, nil
}

// processOf is the process that a record is of, or that one was being written for.
func processOf(file string) (pid int, start uint64, ok bool) {
	name, ok := strings.CutSuffix(strings.TrimSuffix(file, newSuffix), statisticsSuffix)
	if !ok {
		return 0, 0, false
	}
	a, b, ok := strings.Cut(name, "-")
	if !ok {
		return 0, 0, false
	}
	pid, err := strconv.Atoi(a)
	start, err2 := strconv.ParseUint(b, 10, 64)
	return pid, start, err == nil && err2 == nil && pid > 0
}

// Keep implements kernel.EstatsBook.
func (s Statistics) Keep(all []kernel.EstatsSwitched) (err error) {
	r := statisticsRecord{V: StatisticsVersion, PID: s.PID, Start: s.Start, At: s.Now().UTC(), Switched: all}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("make state directory: %w", err)
	}
	d, err := openState(s.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if len(all) == 0 {
		s.fault("remove record")
		return s.forget(d, r.name())
	}
	b, err := r.text()
	if err != nil {
		return err
	}
	s.fault("write record")
	if err := d.replace(r.name(), 0o600, bytes.NewReader(b)); err != nil {
		return fmt.Errorf("write %s: %w", d.full(r.name()), err)
	}
	s.fault("after write record")
	return nil
}

func (s Statistics) forget(d *state, name string) error {
	if err := d.remove(name); err != nil {
		return fmt.Errorf("remove %s: %w", d.full(name), err)
	}
	return d.sync()
}

func (s Statistics) fault(step string) {
	if s.Fault != nil {
		s.Fault(step)
	}
}

// found is a record, and whose it is.
type found struct {
	statisticsRecord
	file string
	bad  error // why it cannot be read
	live bool  // its process lives, or may
}

// read finds all records; what dead processes had not written to the end it removes where it is to tidy.
func (s Statistics) read(d *state, tidy bool) (all []found, err error) {
	dir, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	if err = errors.Join(err, dir.Close()); err != nil {
		return nil, err
	}
	for _, name := range names {
		pid, start, ok := processOf(name)
		if !ok {
			continue
		}
		f := found{file: name, live: s.lives(pid, start)}
		if strings.HasSuffix(name, newSuffix) {
			if !f.live && tidy {
				err = errors.Join(err, d.remove(name))
			}
			continue
		}
		b, bad := d.read(name, maxStatistics)
		if errors.Is(bad, fs.ErrNotExist) {
			continue // its process has ended meanwhile
		}
		if bad == nil {
			f.statisticsRecord, bad = parseStatistics(name, b)
		}
		f.PID, f.Start, f.bad = pid, start, bad
		all = append(all, f)
	}
	return all, err
}

// lives tells whether a process lives; one that cannot be asked may.
func (s Statistics) lives(pid int, start uint64) bool {
	began, err := s.Began(pid)
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	return began == start
}

// open reads the records, of which an error may have left some out. There is no state where it could not be
// opened, or where nothing was ever switched on, which is no error.
func (s Statistics) open(tidy bool) (*state, []found, error) {
	d, err := openState(s.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	}
	all, err := s.read(d, tidy)
	return d, all, err
}

// List tells of each record whose it is and what that process has switched on. It changes nothing.
func (s Statistics) List() (notes []string, err error) {
	d, all, err := s.open(false)
	if d == nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	for _, f := range all {
		switch who := fmt.Sprintf("process %d", f.PID); {
		case f.bad != nil:
			notes = append(notes, fmt.Sprintf("the record of TCP statistics of %s cannot be read (%s): %v", who, d.full(f.file), f.bad))
		case f.live:
			notes = append(notes, fmt.Sprintf("%s has the TCP statistics of %s switched on, since %s UTC", who, unit.Count(len(f.Switched), "connection"), f.At.UTC().Format(time.DateTime)))
		default:
			notes = append(notes, fmt.Sprintf("%s, a linerate that did not end by itself, may have left on the TCP statistics of %s: linerate tune undo switches them off", who, unit.Count(len(f.Switched), "connection")))
		}
	}
	return notes, err
}

// PutBack switches off what dead processes have left on, and forgets their records. It leaves alone what a
// living process has on. Notes say what was done; the error, what could not be: those records stay.
// The calls are asked for only if there is something to switch off.
func (s Statistics) PutBack(estats func() (kernel.Estats, error)) (notes []string, err error) {
	d, all, failed := s.open(true)
	if d == nil {
		return nil, failed
	}
	defer func() { err = errors.Join(err, d.close()) }()
	var kept []kernel.EstatsSwitched
	for _, f := range all {
		if f.live {
			kept = append(kept, f.Switched...)
		}
	}
	for _, f := range all {
		if f.live {
			continue
		}
		note, err := s.putBack(d, f, estats, kept)
		if note != "" {
			notes = append(notes, note)
		}
		failed = errors.Join(failed, err)
	}
	return notes, failed
}

// putBack does so for one dead process.
func (s Statistics) putBack(d *state, f found, estats func() (kernel.Estats, error), kept []kernel.EstatsSwitched) (string, error) {
	if f.bad != nil {
		return "", fmt.Errorf("read %s, the record of TCP statistics that process %d left on: %w; it is kept, and what it names stays on until its connections end. Once they have, or this host was restarted, remove the file", d.full(f.file), f.PID, f.bad)
	}
	who := fmt.Sprintf("process %d, a linerate that did not end by itself", f.PID)
	off := 0
	calls, err := estats()
	if err == nil {
		off, err = kernel.SwitchOffEstats(calls, f.Switched, kept)
	}
	if kernel.NeedsAdministrator(err) {
		err = fmt.Errorf(`%w: it takes an administrator, in a window that was opened with "Run as administrator"`, err)
	}
	if err != nil {
		return said(off, who), fmt.Errorf("switch off the TCP statistics that %s, left on: %w; its record is kept (%s), and they end with their connections", who, err, d.full(f.file))
	}
	s.fault("remove record")
	return said(off, who), s.forget(d, f.file)
}

// said is what was switched off of what a process left on.
func said(off int, who string) string {
	if off == 0 {
		return "nothing is on any more of the TCP statistics that " + who + ", had switched on"
	}
	return fmt.Sprintf("switched off the TCP statistics of %s, which %s, had left on", unit.Count(off, "connection"), who)
}
