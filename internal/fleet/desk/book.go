package desk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/fleet"
)

// version of hosts.json: 2 has a record beside it, which who knows only 1 would not read.
const version = 2

// maxRecord is how long a record may grow, in bytes, before the whole is written anew.
const maxRecord = 8 << 20

// recordNames are the records' names, as a pattern.
const recordNames = "hosts-*.jsonl"

// book is a site's state and where it is kept: hosts.json, and beside it a record of what has
// changed since that was written, which only grows. A change costs one line, whatever the number
// of hosts. The first change after a start writes hosts.json anew and begins a record.
type book struct {
	state
	dir  string
	now  func() time.Time
	f    *os.File // the record
	size int64
	anew bool // the whole is to be written before the next change
}

// change is a line of the record: a host and a token as they are from now on. What happens
// together is one line, so that both are kept or none.
type change struct {
	Host  *Host  `json:"host,omitempty"`
	Token *Token `json:"token,omitempty"`
}

// openBook reads the state of a site. It writes nothing: a full disk is no reason not to start.
func openBook(dir string, now func() time.Time) (*book, error) {
	b := &book{dir: dir, now: now, anew: true}
	at := filepath.Join(dir, stateName)
	if err := fleet.ReadPrivate(at, &b.state); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if b.V > version {
		return nil, fmt.Errorf("%s is of version %d: a newer linerate wrote it; use that one", at, b.V)
	}
	b.index()
	if b.V < version {
		return b, nil
	}
	text, err := fleet.ReadPrivateText(b.record(b.Record))
	if err != nil {
		return nil, fmt.Errorf("%w; it tells which hosts were enrolled and revoked since %s was written: restore both from one copy", err, at)
	}
	if err := b.replay(text); err != nil {
		return nil, fmt.Errorf("read %s: %w", b.record(b.Record), err)
	}
	return b, nil
}

// record is the path of the record with a number.
func (b *book) record(n int) string {
	return filepath.Join(b.dir, strings.Replace(recordNames, "*", strconv.Itoa(n), 1))
}

// replay does what a record tells. A last line without its end was cut off by a crash, before
// anybody was told of it; any other that cannot be read is damage.
func (b *book) replay(text []byte) error {
	for n := 1; len(text) > 0; n++ {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		if !whole {
			return nil
		}
		c, err := readChange(line)
		if err != nil {
			return fmt.Errorf("line %d is damaged (%w): which hosts were enrolled and revoked from there on is not known; restore the site's directory from a copy, or remove that line if it is the last and the machine lost power just then", n, err)
		}
		b.apply(c)
		text = rest
	}
	return nil
}

// castagnoli is the polynomial of the sums in a record: CRC-32C, as in RFC 3720.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// line is the CRC-32C of the change as JSON, in 8 hexadecimal digits, a space, and that JSON.
func (c change) line() ([]byte, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(text, castagnoli), text), nil
}

func readChange(line []byte) (change, error) {
	var c change
	sum, text, ok := bytes.Cut(line, []byte(" "))
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if !ok || err != nil || len(sum) != 8 {
		return c, errors.New("no line of a record")
	}
	if got := crc32.Checksum(text, castagnoli); got != uint32(want) {
		return c, fmt.Errorf("CRC %08x, want %08x", got, want)
	}
	return c, json.Unmarshal(text, &c)
}

// keep puts a change on the disk, and then in force. After a line that failed, and of which
// nobody knows how much is on the disk, a new record is begun.
func (b *book) keep(c change) error {
	if b.anew || b.size > maxRecord {
		if err := b.whole(); err != nil {
			return err
		}
	}
	line, err := c.line()
	if err != nil {
		return fmt.Errorf("write %s: %w", b.f.Name(), err)
	}
	b.anew = true
	if _, err = b.f.Write(line); err == nil {
		err = b.f.Sync()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", b.f.Name(), err)
	}
	b.anew, b.size = false, b.size+int64(len(line))
	b.apply(c)
	return nil
}

// whole writes hosts.json and begins a record. The record is there before hosts.json names it, so
// that one that is missing is damage, and the one before it goes last.
func (b *book) whole() error {
	b.anew = true // until all of this is done: hosts.json may name a record that is not in use
	now := b.now()
	next := state{V: version, Record: b.Record + 1, Hosts: b.Hosts, Tokens: slices.Clone(b.Tokens)}
	next.Tokens = slices.DeleteFunc(next.Tokens, func(t Token) bool { return now.Sub(t.Expires) > kept })
	at := b.record(next.Record)
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("begin record of hosts: %w", err)
	}
	err = errors.Join(f.Sync(), fleet.SyncDir(b.dir))
	if err == nil {
		err = fleet.WritePrivate(filepath.Join(b.dir, stateName), next)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	err = b.close()
	next.index()
	b.state, b.f, b.size = next, f, 0
	err = errors.Join(err, b.dropOthers())
	b.anew = err != nil
	return err
}

// dropOthers removes records that are not in use: the one before, and what a crash has left.
func (b *book) dropOthers() error {
	files, err := os.ReadDir(b.dir)
	if err != nil {
		return fmt.Errorf("remove records of hosts: %w", err)
	}
	for _, f := range files {
		at := filepath.Join(b.dir, f.Name())
		if is, _ := filepath.Match(recordNames, f.Name()); is && at != b.record(b.Record) { // the pattern is good
			err = errors.Join(err, os.Remove(at))
		}
	}
	return err
}

func (b *book) close() error {
	if b.f == nil {
		return nil
	}
	return b.f.Close()
}
