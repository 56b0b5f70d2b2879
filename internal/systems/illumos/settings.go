package illumos

import (
	"strconv"
	"strings"

	"linerate/internal/model"
	"linerate/internal/systems/frame"
)

// tcp are the properties of TCP, by ipadm's names.
func (r reading) tcp() {
	for _, name := range []string{"tcp", "tcp_private"} {
		for _, line := range r.Lines(name, "the buffers of TCP") {
			w := frame.Split(line)
			if len(w) != 7 || w[0] != "tcp" || w[1] == "" {
				r.Odd(name, line)
				continue
			}
			id := "illumos.ipadm.tcp." + w[1]
			switch w[3] {
			case "", "?", "--":
				r.F.Settings[id] = model.Unknown[string](model.Absent, "ipadm shows no current value")
			default:
				r.F.Settings[id] = model.Known(w[3])
			}
		}
	}
}

func (r reading) sharectl() {
	for _, line := range r.Lines("nfs", "the threads of the NFS server") {
		name, value, ok := strings.Cut(line, "=")
		if !ok || name == "" {
			r.Odd("nfs", line)
			continue
		}
		r.F.Settings["illumos.sharectl.nfs."+name] = present(value)
	}
}

// present is a value, or its absence where the system shows an empty one.
func present(value string) model.Fact[string] {
	if value == "" {
		return model.Unknown[string](model.Absent, "it is not set")
	}
	return model.Known(value)
}

// files are those that are read at boot: they hold what was asked for then, and what runs may
// differ if they were changed since. The ids say so by their mechanism.
func (r reading) files() {
	for _, line := range optional(r, "system", atBootSet) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '*' || line[0] == '#' {
			continue
		}
		rest, ok := strings.CutPrefix(line, "set ")
		name, value, assigned := strings.Cut(rest, "=")
		if !ok || !assigned {
			continue // exclude, forceload and the like
		}
		name = strings.ReplaceAll(strings.TrimSpace(name), ":", ".")
		r.F.Settings["illumos.system."+name] = present(strings.TrimSpace(value))
	}
	for _, line := range optional(r, "ixgbe", atBootSet) {
		line, _, _ = strings.Cut(line, "#")
		if name, value, ok := strings.Cut(strings.TrimSuffix(strings.TrimSpace(line), ";"), "="); ok {
			r.F.Settings["illumos.driver.ixgbe."+strings.TrimSpace(name)] = present(strings.TrimSpace(value))
		}
	}
}

// atBootSet is what the files show that are read at boot.
const atBootSet = "what is set at boot"

// optional are the lines of what many hosts do not have, and what they would show.
func optional(r reading, name, shows string) []string {
	if s := r.Frames.Text(name).State; s == model.Absent || s == model.Unsupported {
		return nil
	}
	return r.Lines(name, shows)
}

// counters are those of links and of TCP since the host started.
func (r reading) counters() {
	names := map[string]string{"ierrors": "rx_errors", "oerrors": "tx_errors", "norcvbuf": "rx_dropped", "rbytes64": "rx_bytes", "obytes64": "tx_bytes"}
	for _, line := range r.Lines("counters", "errors of the links") {
		where, n, ok := count(line)
		if !ok {
			r.Odd("counters", line)
			continue
		}
		nic, name := r.nic(where[2]), names[where[3]]
		if nic == nil || name == "" {
			continue
		}
		if nic.Counters.State != model.Present {
			nic.Counters = model.Known(map[string]int64{})
		}
		nic.Counters.Value[name] = n
	}
	tcp := map[string]int64{}
	lines := r.Lines("tcpcount", "how much was sent again")
	for _, line := range lines {
		where, n, ok := count(line)
		if !ok {
			r.Odd("tcpcount", line)
			continue
		}
		if name := map[string]string{"retransSegs": "Tcp.RetransSegs", "outDataSegs": "Tcp.OutSegs"}[where[3]]; name != "" {
			tcp[name] = n
		}
	}
	switch {
	case len(tcp) == 2:
		r.F.NetCounters = model.Known(tcp)
	case len(lines) > 0: // one of them alone would look as if the other were 0
		r.Blind("tcpcount", "how much was sent again", "retransSegs and outDataSegs are not both there")
	}
}

// count reads "module:instance:name:statistic" and a number.
func count(line string) ([]string, int64, bool) {
	name, value, ok := strings.Cut(line, "\t")
	where := strings.Split(name, ":")
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
	return where, n, ok && err == nil && len(where) == 4
}
