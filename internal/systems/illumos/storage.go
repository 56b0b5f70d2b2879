package illumos

import (
	"regexp"
	"strings"

	"linerate/internal/model"
)

var (
	unitName  = regexp.MustCompile(`^LU Name: ([0-9A-F]{32}|[0-9]{32})$`) // the second is what stands for one in a recording
	unitCache = regexp.MustCompile(`^ +Writeback Cache +: (Enabled|Disabled)$`)
)

// units are the logical units of COMSTAR, as "stmfadm list-lu -v" prints them; a host need not have it. The
// value is that of the property wcd, "write cache disabled".
func (r reading) units() {
	unit := ""
	for _, line := range optional(r, "lus", "the write caches of logical units") {
		if m := unitName.FindStringSubmatch(line); m != nil {
			unit = m[1]
		} else if m := unitCache.FindStringSubmatch(line); m != nil && unit != "" {
			r.F.Settings["illumos.stmf.write_cache@"+unit] = model.Known(map[string]string{"Enabled": "false", "Disabled": "true"}[m[1]])
		}
	}
}

// pools tells of each pool whether it has a log device, by the table of "zpool status". That it has none shows
// only at the table's end, which is the line of errors.
func (r reading) pools() {
	pool, table, logs := "", false, "none"
	end := func() {
		if pool != "" {
			r.Blind("pools", "whether the pool "+pool+" has a log device", "what zpool status printed of it has no end")
		}
	}
	for _, line := range optional(r, "pools", "which pools have a log device") {
		w := strings.Fields(line)
		switch {
		case len(w) == 2 && w[0] == "pool:":
			end()
			pool, table, logs = w[1], false, "none"
		case strings.Join(w, " ") == "NAME STATE READ WRITE CKSUM":
			table = true
		case table && len(w) == 1 && w[0] == "logs":
			logs = "log device"
		case len(w) > 0 && w[0] == "errors:":
			if table {
				r.F.Settings["any.zfs.slog@"+pool] = model.Known(logs)
			}
			pool, table = "", false
		}
	}
	end()
}
