package macos

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"linerate/internal/model"
	"linerate/internal/systems/frame"
)

// NettopScript is a script for sh that asks nettop(1) for the TCP connections, and changes nothing;
// Connections reads its answer.
func NettopScript() string { return frame.Shell("look nettop nettop -L 1 -n -x -m tcp\n") }

// Connection is a connection and the process that holds it.
type Connection struct {
	model.Conn
	PID int
}

// Connections reads the answer to NettopScript.
func Connections(answer []byte) ([]Connection, error) {
	frames, err := frame.Parse(answer)
	if err != nil {
		return nil, fmt.Errorf("read nettop: %w", err)
	}
	text, ok := frames.Text("nettop").Get()
	if !ok {
		return nil, fmt.Errorf("read nettop: %s", frames.Text("nettop").Why)
	}
	return parseNettop(text)
}

// parseNettop reads the comma-separated form (-L): a line of the columns' names, and below the line of
// each process ("NAME.PID") those of its connections ("tcp4 LOCAL<->REMOTE"). The columns differ between
// releases and are found by name; what a connection has no value for is left out with it.
func parseNettop(text string) ([]Connection, error) {
	var out []Connection
	var columns []string
	pid := 0
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimRight(line, "\r\n"), ",")
		if strings.HasSuffix(cells[0], "time") { // control characters may come before the first
			columns = cells
			continue
		}
		if len(columns) < 2 || len(cells) < 2 {
			continue
		}
		kind, ends, isConn := strings.Cut(cells[1], " ")
		if isConn && (kind == "tcp4" || kind == "tcp6") && strings.Contains(ends, "<->") {
			if c, ok := nettopConn(kind, ends, func(name string) string { return cell(columns, cells, name) }); ok {
				out = append(out, Connection{c, pid})
			}
			continue
		}
		pid, _ = strconv.Atoi(cells[1][strings.LastIndexByte(cells[1], '.')+1:]) // 0: not a process
	}
	if columns == nil {
		return nil, errors.New("read nettop: no line has the names of its columns")
	}
	return out, nil
}

func cell(columns, cells []string, name string) string {
	for i, c := range columns {
		if i > 1 && c == name && i < len(cells) {
			return strings.TrimSpace(cells[i])
		}
	}
	return ""
}

// nettopConn is an established connection with all that is judged; others are not ok.
func nettopConn(kind, ends string, value func(name string) string) (c model.Conn, ok bool) {
	near, far, _ := strings.Cut(ends, "<->")
	var err1, err2 error
	if c.Local, err1 = nettopEnd(kind, near); err1 == nil {
		c.Remote, err2 = nettopEnd(kind, far)
	}
	in, ok1 := count(value("bytes_in"))
	sent, ok2 := count(value("bytes_out"))
	again, ok3 := count(value("re-tx"))
	if err1 != nil || err2 != nil || !ok1 || !ok2 || !ok3 || value("state") != "Established" {
		return model.Conn{}, false
	}
	c.From, c.State, c.CC = model.FromNettop, 1, strings.Trim(value("cc_algo"), "-")
	c.BytesReceived, c.BytesSent, c.BytesAcked, c.BytesRetrans = in, sent, sent, again
	c.SndWnd, _ = count(value("tx_win"))
	c.RTT = meanTrip(value("rtt_avg"))
	return c, true
}

// nettopEnd is an address and port, which a colon joins for IPv4 and a point for IPv6.
func nettopEnd(kind, s string) (netip.AddrPort, error) {
	at := strings.LastIndexByte(s, ':')
	if kind == "tcp6" {
		at = strings.LastIndexByte(s, '.')
	}
	if at < 0 {
		return netip.AddrPort{}, fmt.Errorf("read address %q: no port", s)
	}
	addr, err := netip.ParseAddr(s[:at])
	if err != nil {
		return netip.AddrPort{}, err
	}
	port, err := strconv.ParseUint(s[at+1:], 10, 16)
	return netip.AddrPortFrom(addr.Unmap(), uint16(port)), err
}

func count(s string) (int64, bool) {
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil && v >= 0
}

// meanTrip reads "20.00 ms"; 0: it is something else.
func meanTrip(s string) time.Duration {
	number, ok := strings.CutSuffix(s, " ms")
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(v > 0 && v < 1e6) {
		return 0
	}
	return time.Duration(v * float64(time.Millisecond))
}
