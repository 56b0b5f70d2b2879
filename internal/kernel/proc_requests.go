package kernel

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"linerate/internal/model"
)

// sectorBytes is the unit of /proc/diskstats, whatever the device's own
// (Documentation/admin-guide/iostats.rst).
const sectorBytes = 512

// ParseDiskstats reads the requests of one block device from /proc/diskstats (block/genhd.c). A
// request's time runs from its allocation to its end, so it includes the time in the queue of the
// block layer.
func ParseDiskstats(b []byte, device string) (*model.RequestCount, error) {
	d, err := findDisk(b, device, func(f []string) bool { return f[2] == device })
	if err != nil {
		return nil, err
	}
	return &model.RequestCount{Of: model.OfDisk, Name: d.Name, Read: d.Read, Write: d.Write}, nil
}

// ParseDiskOf reads the block device of a number, "8:16", from /proc/diskstats.
func ParseDiskOf(b []byte, number string) (*model.DiskCount, error) {
	return findDisk(b, number, func(f []string) bool { return f[0]+":"+f[1] == number })
}

// findDisk reads the first line that matches.
func findDisk(b []byte, what string, is func(fields []string) bool) (*model.DiskCount, error) {
	for line := range bytes.Lines(b) {
		f := strings.Fields(string(line))
		if len(f) < 13 || !is(f) {
			continue
		}
		// Reads, merged, sectors, ms; the same of writes; in flight; ms in use.
		n, err := numbers(f[3:], 10)
		if err != nil {
			return nil, fmt.Errorf("parse diskstats of %s: %w", what, err)
		}
		for _, v := range n {
			if v < 0 || v > math.MaxInt64/sectorBytes {
				return nil, fmt.Errorf("parse diskstats of %s: %d is no count", what, v)
			}
		}
		return &model.DiskCount{Name: f[2], Busy: scaled(n[9], time.Millisecond),
			Read:  model.RequestOp{Ops: n[0], Bytes: n[2] * sectorBytes, Time: scaled(n[3], time.Millisecond)},
			Write: model.RequestOp{Ops: n[4], Bytes: n[6] * sectorBytes, Time: scaled(n[7], time.Millisecond)},
		}, nil
	}
	return nil, fmt.Errorf("parse diskstats: no device %s", what)
}

// SMB2 commands by number ([MS-SMB2] 2.2.1).
const (
	smb2Read  = "8"
	smb2Write = "9"
)

// ParseCIFSStats reads the requests to one share from /proc/fs/cifs/Stats
// (fs/smb/client/cifs_debug.c). Bytes and counts are the share's; times are those of the
// connection to its server. A kernel without CONFIG_CIFS_STATS2 counts no times, which is an
// error. share is //server/name, in any case and with any slashes.
func ParseCIFSStats(b []byte, share string) (*model.RequestCount, error) {
	p := cifsParser{want: cifsShare(share)}
	for line := range bytes.Lines(b) {
		if err := p.line(strings.TrimSpace(string(line))); err != nil {
			return nil, fmt.Errorf("parse cifs Stats: %w", err)
		}
	}
	switch {
	case p.found == nil:
		return nil, fmt.Errorf("parse cifs Stats: no share %s", share)
	case !p.timed:
		return nil, fmt.Errorf("parse cifs Stats: this kernel does not count the time of requests (CONFIG_CIFS_STATS2)")
	}
	return p.found, nil
}

func cifsShare(s string) string { return strings.ToLower(strings.ReplaceAll(s, `\`, "/")) }

// cifsParser walks the file: for each server a table of commands, then its shares.
type cifsParser struct {
	want        string
	tick        time.Duration
	timed       bool // the server of found had a table
	inTable     bool
	read, write time.Duration // of the server whose shares follow
	readOps     int64         // of that server: the times are a mean over its shares
	writeOps    int64
	inside      bool // inside the wanted share
	found       *model.RequestCount
}

func (p *cifsParser) line(l string) error {
	f := strings.Fields(l)
	switch {
	case strings.HasPrefix(l, "Max requests in flight:"):
		p.inside, p.inTable = false, false
		p.read, p.write, p.readOps, p.writeOps = 0, 0, 0, 0
	case strings.HasPrefix(l, "Total time spent processing by command."):
		return p.unit(l)
	case strings.HasPrefix(l, "SMB3 CMD"):
		p.inTable = p.tick > 0
	case len(f) == 2 && strings.HasSuffix(f[0], ")") && strings.HasPrefix(f[1], `\\`):
		p.inside = cifsShare(f[1]) == p.want
		if p.inside {
			p.found = &model.RequestCount{Of: model.OfSMB, Name: p.want}
			p.timed = p.inTable
		}
		return nil
	case p.inTable && !p.inside && len(f) >= 3 && (f[0] == smb2Read || f[0] == smb2Write):
		return p.command(f)
	case p.inside:
		return p.share(f)
	}
	return nil
}

// unit reads "… Time units are jiffies (250 per second)".
func (p *cifsParser) unit(l string) error {
	_, after, _ := strings.Cut(l, "(")
	n, _, _ := strings.Cut(after, " ")
	hz, err := strconv.ParseInt(n, 10, 64)
	if err != nil || hz < 1 || hz > 100000 {
		return fmt.Errorf("%q: want jiffies per second", l)
	}
	p.tick = time.Second / time.Duration(hz)
	return nil
}

func (p *cifsParser) command(f []string) error {
	n, err := numbers(f[1:], 2)
	if err != nil || n[0] < 0 || n[1] < 0 {
		return fmt.Errorf("command %s: %v", f[0], f)
	}
	if f[0] == smb2Read {
		p.readOps, p.read = n[0], scaled(n[1], p.tick)
	} else {
		p.writeOps, p.write = n[0], scaled(n[1], p.tick)
	}
	return nil
}

// share reads one line of the share. Its requests get the server's time in proportion to their
// number.
func (p *cifsParser) share(f []string) error {
	word := f0(f)
	switch {
	case word == "Bytes" && len(f) >= 6: // Bytes read: N Bytes written: N
		r, rerr := strconv.ParseInt(f[2], 10, 64)
		w, werr := strconv.ParseInt(f[5], 10, 64)
		if rerr != nil || werr != nil {
			return fmt.Errorf("%v: want two numbers", f)
		}
		p.found.Read.Bytes, p.found.Write.Bytes = r, w
	case (word == "Reads:" || word == "Writes:") && len(f) >= 2:
		n, err := strconv.ParseInt(f[1], 10, 64)
		if err != nil {
			return fmt.Errorf("%v: want a number", f)
		}
		if word == "Reads:" {
			p.found.Read.Ops, p.found.Read.Time = n, part(p.read, n, p.readOps)
		} else {
			p.found.Write.Ops, p.found.Write.Time = n, part(p.write, n, p.writeOps)
		}
	}
	return nil
}

// part is the time of n of all requests, in proportion.
func part(total time.Duration, n, all int64) time.Duration {
	if n <= 0 || all <= 0 || n >= all {
		return total
	}
	return time.Duration(float64(total) * float64(n) / float64(all))
}
