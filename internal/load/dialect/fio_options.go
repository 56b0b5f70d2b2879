package dialect

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"linerate/internal/load/shape"
	"linerate/internal/unit"
)

// fioOptions is how each option that is known is read. An option that only changes what fio
// prints or keeps has printed as its reader; one that is not here is refused by its name.
var fioOptions = map[string]func(s *fioSection, value string) error{
	"rw": fioPattern, "readwrite": fioPattern,
	"rwmixread":           func(s *fioSection, v string) (err error) { s.read, err = parseShare(v); return err },
	"rwmixwrite":          fioMixWrite,
	"bs":                  fioBlock,
	"blocksize":           fioBlock,
	"bssplit":             fioSplit,
	"size":                func(s *fioSection, v string) (err error) { s.size, err = fioSize(v); return err },
	"filesize":            func(s *fioSection, v string) (err error) { s.size, err = fioSize(v); return err },
	"filename":            fioFileName,
	"directory":           func(s *fioSection, v string) error { s.dir = v; return nil },
	"ioengine":            fioEngine,
	"iodepth":             func(s *fioSection, v string) (err error) { s.depth, err = parseCount(v, 1024); return err },
	"numjobs":             func(s *fioSection, v string) (err error) { s.jobs, err = parseCount(v, maxTargets); return err },
	"direct":              func(s *fioSection, v string) (err error) { s.direct, err = fioBool(v); return err },
	"buffered":            func(s *fioSection, v string) (err error) { s.direct, err = fioNot(v); return err },
	"sync":                fioSync,
	"end_fsync":           func(s *fioSection, v string) (err error) { s.flush, err = fioBool(v); return err },
	"fsync_on_close":      func(s *fioSection, v string) (err error) { s.flush, err = fioBool(v); return err },
	"fsync":               fioNever,
	"fdatasync":           fioNever,
	"norandommap":         func(s *fioSection, v string) (err error) { s.noMap, err = fioBool(v); return err },
	"time_based":          func(s *fioSection, v string) (err error) { s.timed, err = fioBool(v); return err },
	"runtime":             func(s *fioSection, v string) (err error) { s.run, err = fioTime(v, time.Second); return err },
	"ramp_time":           func(s *fioSection, v string) (err error) { s.ramp, err = fioTime(v, time.Second); return err },
	"stonewall":           func(s *fioSection, v string) (err error) { s.alone, err = fioBool(v); return err },
	"rate_iops":           fioIOPS,
	"rate":                func(s *fioSection, v string) (err error) { s.bytesPerSecond, err = fioSize(v); return err },
	"rate_process":        fioProcess,
	"thinktime":           func(s *fioSection, v string) (err error) { s.think, err = fioTime(v, time.Microsecond); return err },
	"loops":               fioOnce,
	"nrfiles":             fioOnce,
	"invalidate":          fioInvalidate,
	"random_generator":    fioNoted("numbers are drawn by linerate's own generator"),
	"random_distribution": fioDistribution,
	"wait_for_previous":   func(s *fioSection, v string) (err error) { s.alone, err = fioBool(v); return err },
	"fallocate":           fioNoted("files are filled before they are read"),

	"name": fioPrinted, "description": fioPrinted, "group_reporting": fioPrinted, "new_group": fioPrinted, "thread": fioPrinted,
	"randrepeat": fioPrinted, "randseed": fioPrinted, "refill_buffers": fioPrinted, "unlink": fioPrinted, "disk_util": fioPrinted,
	"percentile_list": fioPrinted, "clat_percentiles": fioPrinted, "lat_percentiles": fioPrinted, "slat_percentiles": fioPrinted,
	"write_bw_log": fioPrinted, "write_lat_log": fioPrinted, "write_iops_log": fioPrinted, "log_avg_msec": fioPrinted,
	"log_hist_msec": fioPrinted, "bwavgtime": fioPrinted, "iopsavgtime": fioPrinted, "gtod_reduce": fioPrinted,
	"unified_rw_reporting": fioPrinted, "per_job_logs": fioPrinted, "create_on_open": fioPrinted, "create_serialize": fioPrinted,
}

// fioPrinted reads what changes no request: names, what is printed and kept, and seeds (every
// block that is written here is new).
func fioPrinted(*fioSection, string) error { return nil }

func fioNoted(text string) func(*fioSection, string) error {
	return func(s *fioSection, _ string) error { s.note(text); return nil }
}

func (s *fioSection) note(text string) {
	if !slices.Contains(s.notes, text) {
		s.notes = append(s.notes, text)
	}
}

func fioPattern(s *fioSection, v string) error {
	if !slices.Contains([]string{"read", "write", "randread", "randwrite", "rw", "readwrite", "randrw"}, v) {
		return errors.New("want read, write, randread, randwrite, rw or randrw")
	}
	s.pattern = v
	return nil
}

func fioMixWrite(s *fioSection, v string) error {
	w, err := parseShare(v)
	s.read = 1 - w
	return err
}

// fioBlock reads one size, or the same for reads and writes.
func fioBlock(s *fioSection, v string) error {
	parts := strings.Split(v, ",")
	for _, p := range parts[1:] {
		if p != parts[0] {
			return errors.New("requests that are larger one way than the other are not supported")
		}
	}
	b, err := fioSize(parts[0])
	if err == nil && b < 1 {
		err = errors.New("nothing is that small")
	}
	s.sizes = one(b)
	return err
}

// fioSplit reads SIZE/PERCENT:SIZE/PERCENT; those without a percentage share what is left.
func fioSplit(s *fioSection, v string) error {
	if strings.Contains(v, ",") {
		return errors.New("requests that are larger one way than the other are not supported")
	}
	parts := strings.Split(v, ":")
	if len(parts) > shape.MaxSizes {
		return fmt.Errorf("more than %d sizes", shape.MaxSizes)
	}
	out, left, open := []shape.SizeShare(nil), 1.0, 0
	for _, p := range parts {
		text, share, given := strings.Cut(p, "/")
		b, err := fioSize(text)
		if err != nil || b < 1 {
			return fmt.Errorf("%q is no size", text)
		}
		z := shape.SizeShare{Size: b}
		if given && share != "" {
			if z.Share, err = parseShare(share); err != nil {
				return err
			}
			left -= z.Share
		} else {
			z.Share, open = -1, open+1
		}
		out = append(out, z)
	}
	if left < -1e-6 || open == 0 && left > 1e-6 {
		return errors.New("the percentages do not add up to 100")
	}
	s.sizes = nil
	for _, z := range out {
		if z.Share < 0 {
			z.Share = left / float64(open)
		}
		if z.Share > 1e-9 {
			s.sizes = append(s.sizes, z)
		}
	}
	return nil
}

func fioFileName(s *fioSection, v string) error {
	if v == "" || strings.Contains(v, ":") {
		return errors.New("want one file or device")
	}
	s.file = v
	return nil
}

// Engines of fio: those whose requests wait in a queue, and those that make one at a time.
var (
	fioQueued = []string{"libaio", "io_uring", "posixaio", "windowsaio", "solarisaio"}
	fioSimple = []string{"sync", "psync", "vsync", "pvsync", "pvsync2"}
)

func fioEngine(s *fioSection, v string) error {
	if !slices.Contains(fioQueued, v) && !slices.Contains(fioSimple, v) {
		return fmt.Errorf("want one that makes requests of files: %s", strings.Join(slices.Concat(fioQueued, fioSimple), ", "))
	}
	s.engine = v
	return nil
}

func fioSync(s *fioSection, v string) error {
	switch v {
	case "sync", "dsync", "1", "":
		s.durable = true
	case "none", "0":
		s.durable = false
	default:
		return errors.New("want none, sync or dsync")
	}
	return nil
}

func fioNever(_ *fioSection, v string) error {
	if v != "0" {
		return errors.New("a sync after so many writes is not supported: sync=dsync makes every write durable, end_fsync=1 syncs once")
	}
	return nil
}

func fioOnce(_ *fioSection, v string) error {
	if v != "1" {
		return errors.New("only 1 is supported")
	}
	return nil
}

func fioInvalidate(s *fioSection, v string) error {
	on, err := fioBool(v)
	if err == nil && !on {
		s.note("invalidate=0: the cache is dropped here before the run all the same")
	}
	return err
}

func fioIOPS(s *fioSection, v string) error {
	n, err := strconv.ParseFloat(v, 64)
	if err != nil || !(n > 0 && n <= 1e8) {
		return errors.New("want one number of requests per second")
	}
	s.iops = n
	return nil
}

func fioProcess(s *fioSection, v string) error {
	if v != "linear" && v != "poisson" {
		return errors.New("want linear or poisson")
	}
	s.poisson = v == "poisson"
	return nil
}

func fioDistribution(s *fioSection, v string) error {
	kind, value, _ := strings.Cut(v, ":")
	switch kind {
	case "random":
		s.theta = 0
		return nil
	case "zipf":
		theta, err := strconv.ParseFloat(value, 64)
		if err != nil || !(theta > 0 && theta <= 5) {
			return errors.New("want zipf:THETA, above 0 and at most 5")
		}
		s.theta = theta
		return nil
	}
	return errors.New("want random or zipf:THETA")
}

func fioBool(v string) (bool, error) {
	switch v {
	case "", "1", "true":
		return true, nil
	case "0", "false":
		return false, nil
	}
	return false, errors.New("want 0 or 1")
}

func fioNot(v string) (bool, error) {
	on, err := fioBool(v)
	return !on, err
}

// fioSize reads a size as fio does with its kb_base of 1024: k, K, ki, kb and KiB are all
// 1024 bytes (fio(1), "int").
func fioSize(v string) (unit.Bytes, error) {
	n := strings.ToLower(strings.TrimSpace(v))
	n = strings.TrimSuffix(strings.TrimSuffix(n, "b"), "i")
	if n == "" || strings.HasSuffix(n, "b") || strings.HasSuffix(n, "i") {
		return 0, fmt.Errorf("%q is no size in bytes", v)
	}
	return parseSize(n, 1)
}

// fioTime reads a time whose plain number is in each.
func fioTime(v string, each time.Duration) (time.Duration, error) {
	units := []struct {
		name string
		d    time.Duration
	}{{"us", time.Microsecond}, {"ms", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}}
	n := strings.TrimSpace(v)
	for _, u := range units {
		if text, ok := strings.CutSuffix(n, u.name); ok {
			n, each = text, u.d
			break
		}
	}
	i, err := strconv.ParseInt(n, 10, 64)
	if err != nil || i < 0 || i > int64(30*24*time.Hour/each) {
		return 0, fmt.Errorf("%q is no time", v)
	}
	return time.Duration(i) * each, nil
}
