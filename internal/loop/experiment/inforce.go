package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/load/tcp"
	"linerate/internal/model"
	"linerate/internal/study/file"
	"linerate/internal/tune/setter"
)

// tcpi_options of include/uapi/linux/tcp.h.
const (
	optionTimestamps = 1
	optionSACK       = 2
	optionWScale     = 4
)

const sysctlTCP = "linux.sysctl.net.ipv4.tcp_"

// inForce reports whether the connections of a run show the treatment, as far as connections
// can show it: the kernel or the application need not use a value that reads back as written.
// With false it says why; the treatment then was not in force, whatever the outcome.
func (x *Experiment) inForce(m *work, w model.StudyWorkload, run *model.StudyRun) (bool, string) {
	if len(m.runs) == 0 {
		return true, ""
	}
	var why []string
	for _, l := range x.stack {
		for _, mk := range l.made {
			if l.factor == "" && run.Factor != file.StepFactor {
				continue // of the baseline
			}
			for _, c := range mk.plan.Changes {
				if x.covered(mk.host, c, l) {
					continue
				}
				why = append(why, m.shows(mk.host, c, w)...)
			}
		}
	}
	why = append(why, m.asSpecified(w)...)
	slices.Sort(why)
	return len(why) == 0, strings.Join(slices.Compact(why), "; ")
}

// shows returns where the connections of a host contradict a change.
func (m *work) shows(h *Host, c model.Change, w model.StudyWorkload) (against []string) {
	for i, p := range m.pairs {
		if p.from != h && p.to != h {
			continue
		}
		for _, conn := range lastConns(m.runs[i].Samples[h.At]) {
			if not := shown(conn, c, p.from == h, w); not != "" {
				against = append(against, fmt.Sprintf("%s on %s: %s", c.Setting, h.Name, not))
			}
		}
	}
	return against
}

// shown returns how a connection contradicts a change; empty: it does not.
func shown(conn model.Conn, c model.Change, sends bool, w model.StudyWorkload) string {
	switch strings.TrimPrefix(c.Setting, sysctlTCP) {
	case "congestion_control":
		if sends && conn.CC != "" && conn.CC != c.To {
			return fmt.Sprintf("the connection runs %s", conn.CC)
		}
	case "timestamps":
		return option(conn, optionTimestamps, c.To != "0", "timestamps")
	case "sack":
		return option(conn, optionSACK, c.To != "0", "selective acknowledgements")
	case "window_scaling":
		return option(conn, optionWScale, c.To != "0", "window scaling")
	case "rmem":
		if most, ok := lastNumber(c.To); ok && !sends && w.RecvBuffer == 0 && conn.RcvBuf > most {
			return fmt.Sprintf("the socket's receive buffer is %d bytes", conn.RcvBuf)
		}
	case "wmem":
		if most, ok := lastNumber(c.To); ok && sends && w.SendBuffer == 0 && conn.SndBuf > most {
			return fmt.Sprintf("the socket's send buffer is %d bytes", conn.SndBuf)
		}
	}
	if c.Setting == setter.MTUSetting && sends {
		return segments(conn, c)
	}
	return ""
}

// leastHeaders is the size of the IPv4 and TCP headers that every full-sized packet has.
const leastHeaders = 40

// segments compares the segment size with the MTU before and after a change.
func segments(conn model.Conn, c model.Change) string {
	from, err1 := strconv.Atoi(c.From)
	to, err2 := strconv.Atoi(c.To)
	if err1 != nil || err2 != nil || conn.SndMSS == 0 {
		return ""
	}
	if to > from && conn.SndMSS <= from-leastHeaders || conn.SndMSS > to-leastHeaders {
		return fmt.Sprintf("the connection sends segments of %d bytes", conn.SndMSS)
	}
	return ""
}

func option(conn model.Conn, bit uint8, want bool, what string) string {
	switch has := conn.Options&bit != 0; {
	case has && !want:
		return "the connection uses " + what
	case want && !has:
		return "the connection does not use " + what
	}
	return ""
}

func lastNumber(value string) (int64, bool) {
	words := strings.Fields(value)
	if len(words) == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(words[len(words)-1], 10, 64)
	return n, err == nil
}

// asSpecified returns where the connections differ from what the workload specifies.
func (m *work) asSpecified(w model.StudyWorkload) (against []string) {
	for i, p := range m.pairs {
		if n := len(tcp.Summarise(m.runs[i]).Streams); n > 0 && n != max(1, w.Streams) {
			against = append(against, fmt.Sprintf("%s made %d connections, not %d", p.from.Name, n, max(1, w.Streams)))
		}
		for _, c := range lastConns(m.runs[i].Samples[p.from.At]) {
			if w.Congestion != "" && c.CC != "" && c.CC != w.Congestion {
				against = append(against, fmt.Sprintf("%s runs %s, not %s as asked", p.from.Name, c.CC, w.Congestion))
			}
			if w.SendBuffer > 0 && c.SndBuf > 0 && c.SndBuf < int64(w.SendBuffer) {
				against = append(against, fmt.Sprintf("a send buffer of %v was asked for and %s gave %d bytes: net.core.wmem_max bounds it", w.SendBuffer, p.from.Name, c.SndBuf))
			}
		}
		for _, c := range lastConns(m.runs[i].Samples[p.to.At]) {
			if w.RecvBuffer > 0 && c.RcvBuf > 0 && c.RcvBuf < int64(w.RecvBuffer) {
				against = append(against, fmt.Sprintf("a receive buffer of %v was asked for and %s gave %d bytes: net.core.rmem_max bounds it", w.RecvBuffer, p.to.Name, c.RcvBuf))
			}
		}
	}
	return against
}

// lastConns is the last sample of each connection that moved data.
func lastConns(samples []model.Sample) []model.Conn {
	seen := map[connKey]model.Conn{}
	for _, s := range samples {
		for _, c := range s.Conns {
			if c.BytesAcked+c.BytesReceived > 0 {
				seen[connKey{c.Local, c.Remote}] = c
			}
		}
	}
	return slices.Collect(maps.Values(seen))
}
