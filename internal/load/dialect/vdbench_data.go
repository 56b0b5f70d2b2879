package dialect

import (
	"fmt"
	"strconv"
	"strings"

	"linerate/internal/unit"
)

// vdData is what the data of a run are like (compratio=, dedupratio=, dedupunit=, Vdbench
// Users Guide 5.04, "Data Compression and Deduplication").
type vdData struct {
	compress, dedup float64
	unit            unit.Bytes
	line            int
}

// general reads parameters that hold for every run behind them.
func (v *vdbench) general(d definition) error {
	for _, w := range d.words {
		var err error
		ratio := func() (float64, error) {
			x, err := strconv.ParseFloat(w.values[0], 64)
			if err != nil || !(x >= 1 && x <= 64) || len(w.values) > 1 {
				return 0, fmt.Errorf("want one ratio from 1 to 64")
			}
			return x, nil
		}
		switch w.name {
		case "compratio":
			v.data.compress, err = ratio()
		case "dedupratio":
			v.data.dedup, err = ratio()
		case "dedupunit":
			v.data.unit, err = parseSize(w.values[0], 1)
		default:
			err = fmt.Errorf("it is not supported")
		}
		if err != nil {
			return wrong(w.line, "%s=%s: %v", w.name, strings.Join(w.values, ","), err)
		}
		v.data.line = w.line
	}
	return nil
}

// put gives a job its data.
func (v *vdbench) put(j *Job) error {
	x := v.data
	j.Compress, j.Dedup = x.compress, x.dedup
	if x.compress > 1 {
		j.Notes = append(j.Notes, fmt.Sprintf("what is written compresses by %g", x.compress))
	}
	if x.dedup > 1 {
		j.Notes = append(j.Notes, fmt.Sprintf("each block of what is written comes %g times on average", x.dedup))
	}
	if x.dedup > 1 && x.unit == 0 {
		return wrong(x.line, "dedupratio= needs dedupunit=")
	}
	if x.dedup > 1 && (len(j.Shape.Sizes) != 1 || j.Shape.Sizes[0].Size != x.unit) {
		return wrong(x.line, "dedupunit=%d is not the xfersize of %s: blocks that come again are whole requests here", x.unit, j.Name)
	}
	return nil
}

// vdRange is a part of a lun: from and to, as shares of it or in bytes.
type vdRange struct {
	from, to   float64
	fromB, toB unit.Bytes // in bytes, where to is 0
}

// rangeWord reads (40,60), percent of a lun, or (1g,2g).
func rangeWord(values []string) (*vdRange, error) {
	if len(values) != 2 {
		return nil, fmt.Errorf("want two places, as (40,60) percent or (1g,2g)")
	}
	if from, err := parseShare(values[0]); err == nil {
		to, err := parseShare(values[1])
		if err != nil || !(from < to) {
			return nil, fmt.Errorf("want two percentages of the lun up to 100, the smaller first")
		}
		return &vdRange{from: from, to: to}, nil
	}
	from, err1 := parseSize(values[0], 1)
	to, err2 := parseSize(values[1], 1)
	if err1 != nil || err2 != nil || from >= to {
		return nil, fmt.Errorf("want two places, as (40,60) percent or (1g,2g), the smaller first")
	}
	return &vdRange{fromB: from, toB: to}, nil
}

// within is the part of a target, whose size has to be known for percentages.
func (r *vdRange) within(t Target) (Target, error) {
	if r == nil {
		return t, nil
	}
	from, to := r.fromB, r.toB
	if to == 0 {
		if t.Size == 0 {
			return t, fmt.Errorf("a range in percent needs the size of %s: add size= to its sd", t.Name)
		}
		const page = 4 * unit.KiB // what direct requests are aligned to
		from, to = unit.Bytes(r.from*float64(t.Size))/page*page, unit.Bytes(r.to*float64(t.Size))/page*page
	}
	if t.Size > 0 && to > t.Size || from >= to {
		return t, fmt.Errorf("the range from %v to %v does not lie within %s", from, to, t.Name)
	}
	t.From, t.Size = t.From+from, to-from
	return t, nil
}
