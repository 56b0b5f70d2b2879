package kernel

import (
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// Uptime is how long the host runs, suspended time included (proc(5), /proc/uptime); 0 where it
// cannot be read.
func (r Root) Uptime() time.Duration {
	b, err := r.ReadFile("/proc/uptime")
	if err != nil {
		return 0
	}
	return parseUptime(string(b))
}

// parseUptime reads the first field, seconds with two decimals.
func parseUptime(text string) time.Duration {
	first, _, _ := strings.Cut(text, " ")
	seconds, err := strconv.ParseFloat(first, 64)
	if err != nil || !(seconds >= 0 && seconds < 1e9) {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// SpareFromOOM asks the kernel never to end this process for lack of memory (proc(5),
// oom_score_adj). It takes CAP_SYS_RESOURCE, which root of a container may lack. A system
// without that file has nothing to ask for.
func SpareFromOOM() error {
	err := Root("").WriteFile("/proc/self/oom_score_adj", []byte("-1000"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
