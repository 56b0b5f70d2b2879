package kernel

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Netstat reads /proc/net/snmp and /proc/net/netstat over and over. It keeps the names, which stay
// the same from one reading to the next. The zero value is ready; it is for one goroutine.
type Netstat struct {
	names map[string][]string // of a group, by its line of names
}

// Parse adds the counters of a file to into as "Tcp.RetransSegs", "TcpExt.TCPTimeouts". The files
// hold pairs of lines, names then values.
func (p *Netstat) Parse(b []byte, into map[string]int64) error {
	for len(b) > 0 {
		var names, values []byte
		names, b, _ = bytes.Cut(b, []byte("\n"))
		values, b, _ = bytes.Cut(b, []byte("\n"))
		group, n, ok := p.head(names)
		if !ok || len(values) == 0 {
			return fmt.Errorf("parse network counters: line %q is not followed by its values", group)
		}
		v, ok := bytes.CutPrefix(values, []byte(group+":"))
		if !ok {
			return fmt.Errorf("parse network counters: the names of %q are not followed by its values", group)
		}
		found := 0
		for field := range bytes.FieldsSeq(v) {
			// Tcp.MaxConn is -1, and a 64-bit counter may have
			// wrapped: neither is worth losing the others for.
			if x, err := strconv.ParseInt(string(field), 10, 64); err == nil && found < len(n) {
				into[n[found]] = x
			}
			found++
		}
		if found != len(n) {
			return fmt.Errorf("parse network counters: %d names of %q, %d values", len(n), group, found)
		}
	}
	return nil
}

// head is the group of a line of names, and what its counters are called.
func (p *Netstat) head(line []byte) (group string, names []string, ok bool) {
	text, rest, ok := strings.Cut(string(line), ":")
	if !ok {
		return text, nil, false
	}
	if names, ok = p.names[string(line)]; ok {
		return text, names, true
	}
	for _, name := range strings.Fields(rest) {
		names = append(names, text+"."+name)
	}
	if p.names == nil || len(p.names) >= mostHeads {
		p.names = map[string][]string{}
	}
	p.names[string(line)] = names
	return text, names, true
}

// mostHeads is far above the number of groups that a kernel has.
const mostHeads = 64

// ParseNetstat is Netstat.Parse for a file that is read once.
func ParseNetstat(b []byte, into map[string]int64) error { return new(Netstat).Parse(b, into) }
