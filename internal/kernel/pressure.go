package kernel

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParsePressure reads a file of /proc/pressure: for how long at least one task was short
// of the resource, since boot (Documentation/accounting/psi.rst).
func ParsePressure(b []byte) (time.Duration, error) {
	for line := range strings.Lines(string(b)) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), "some ")
		if !ok {
			continue
		}
		for _, field := range strings.Fields(rest) {
			if total, ok := strings.CutPrefix(field, "total="); ok {
				n, err := strconv.ParseInt(total, 10, 64)
				if err != nil || n < 0 || n > int64(time.Duration(1<<63-1)/time.Microsecond) {
					return 0, fmt.Errorf("parse pressure: total %q", total)
				}
				return time.Duration(n) * time.Microsecond, nil
			}
		}
	}
	return 0, errors.New("parse pressure: no total of some")
}
