package bsd

import (
	"strings"

	"linerate/internal/model"
)

// ZFS are the properties of data sets as "any.zfs.PROPERTY", where all of them agree: a value of one data
// set must not stand for another, nor for one whose line was not understood. lines are those of "zfs get -Hp -o
// name,property,value,source".
func (r Reading) ZFS(lines []string) {
	values, whole := map[string]map[string]bool{}, true
	for _, line := range lines {
		w := strings.Split(line, "\t")
		if len(w) != 4 {
			r.Odd("zfs", line)
			whole = false
			continue
		}
		if values[w[1]] == nil {
			values[w[1]] = map[string]bool{}
		}
		values[w[1]][w[2]] = true
	}
	for property, seen := range values {
		v := model.Unknown[string](model.Absent, "data sets differ")
		for value := range seen {
			switch {
			case len(seen) > 1:
			case !whole:
				v = model.Unknown[string](model.Absent, "a line was not understood, so that data sets may differ")
			case value == "":
				v = model.Unknown[string](model.Absent, "it is not set")
			default:
				v = model.Known(value)
			}
		}
		r.F.Settings["any.zfs."+property] = v
	}
}
