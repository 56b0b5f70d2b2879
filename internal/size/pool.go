package size

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"linerate/internal/unit"
)

// PoolInput describes a pool of equal groups of equal disks.
type PoolInput struct {
	Layout   string     `json:"layout"`
	Vdevs    int        `json:"vdevs,omitempty"` // groups, striped
	Width    int        `json:"width"`           // disks of a group
	DiskSize unit.Bytes `json:"disk_bytes,omitempty"`
	DiskRate ByteRate   `json:"disk_bytes_per_second"`
	DiskIOPS float64    `json:"disk_iops"`
	Read     *float64   `json:"read_share"`                      // of random I/O, 0 to 1; nil: not given
	WantRate ByteRate   `json:"want_bytes_per_second,omitempty"` // reverse
	WantIOPS float64    `json:"want_iops,omitempty"`             // reverse
}

// layout is how a group of n disks spreads data: multiples of one disk.
type layout struct {
	name   string
	least  int // disks
	parity int // disks' worth of redundancy; of a mirror it follows from the width
	kind   kind
}

type kind int

const (
	striped  kind = iota // no redundancy
	mirrored             // all disks of a group hold the same
	paired               // disks in pairs, each a mirror
	raid                 // parity by block: a small read is one disk's, a small write several accesses
	raidz                // parity by record: a record is all disks', read and write
)

func layouts() []layout {
	return []layout{
		{"raid0", 1, 0, striped}, {"raid10", 2, 0, paired}, {"mirror", 2, 0, mirrored},
		{"raid5", 3, 1, raid}, {"raid6", 4, 2, raid},
		{"raidz1", 2, 1, raidz}, {"raidz2", 3, 2, raidz}, {"raidz3", 4, 3, raidz},
	}
}

// LayoutNames lists the layouts of Pool, OneFS apart.
func LayoutNames() []string {
	var out []string
	for _, l := range layouts() {
		out = append(out, l.name)
	}
	return out
}

func findLayout(name string) (layout, error) {
	for _, l := range layouts() {
		if l.name == name {
			return l, nil
		}
	}
	return layout{}, fmt.Errorf("unknown layout %q; choose one of %s, or onefs-LEVEL", name, strings.Join(LayoutNames(), ", "))
}

// term is a multiple of one disk, and the words for it.
type term struct {
	disks float64
	text  string
}

// capacity and streamed writes: the disks that hold data.
func (l layout) data(n int) term {
	switch l.kind {
	case striped:
		return term{float64(n), fmt.Sprintf("%d disks", n)}
	case mirrored:
		return term{1, "1 (a mirror)"}
	case paired:
		return term{float64(n) / 2, fmt.Sprintf("%d disks / 2 copies", n)}
	}
	return term{float64(n - l.parity), fmt.Sprintf("(%d − %d disks)", n, l.parity)}
}

// streamRead: a mirror's disks each serve a part (NAPPIT, aspect 1).
func (l layout) streamRead(n int) term {
	if l.kind == mirrored || l.kind == paired {
		return term{float64(n), fmt.Sprintf("%d disks", n)}
	}
	return l.data(n)
}

// randomRead: every disk serves a read of its own, but RAID-Z spreads each
// record over its group, which so has the IOPS of one disk. NAPPIT's heading
// "n x number of datadisks" is wrong; its own example counts groups.
func (l layout) randomRead(n int) term {
	if l.kind == raidz {
		return term{1, "1 (a RAID-Z vdev)"}
	}
	return term{float64(n), fmt.Sprintf("%d disks", n)}
}

// randomWrite: a small write to RAID 5 reads and writes data and parity, four
// accesses (Patterson, Gibson, Katz 1988), six with two parities.
func (l layout) randomWrite(n int) term {
	switch l.kind {
	case mirrored, paired:
		return l.data(n)
	case raid:
		p := 2 + 2*l.parity
		return term{float64(n) / float64(p), fmt.Sprintf("%d disks / %d accesses", n, p)}
	}
	return l.randomRead(n)
}

func (in *PoolInput) check() (layout, error) {
	l, err := findLayout(in.Layout)
	if err == nil {
		err = checkCount("width of "+l.name, in.Width, l.least, 1000)
	}
	if err == nil && l.kind == paired && in.Width%2 != 0 {
		err = fmt.Errorf("width of raid10 of %d is odd: its disks come in pairs", in.Width)
	}
	read := 0.0
	if in.Read != nil {
		read = *in.Read
	}
	return l, first("pool", err,
		checkCount("vdevs", in.Vdevs, 1, 10000),
		optional(in.DiskSize != 0, checkBytes("disk size", in.DiskSize, unit.GB, maxStorage/1000)),
		checkByteRate("disk rate", in.DiskRate, 1e5, 1e11),
		checkNumber("disk IOPS", in.DiskIOPS, 1, 1e8),
		checkNumber("read share", read, 0, 1),
		optional(in.WantRate != 0, checkByteRate("rate", in.WantRate, 1e3, 1e15)),
		optional(in.WantIOPS != 0, checkNumber("IOPS", in.WantIOPS, 1, 1e12)))
}

// mixed is the IOPS of reads and writes together: the time of each adds up.
func mixed(read, r, w float64) float64 { return 1 / (read/r + (1-read)/w) }

// Pool computes what a pool's disks can give: streaming, random I/O, capacity.
func Pool(in PoolInput) (Answer, error) {
	if err := first("pool", onlyReverse("the rate wanted", in.WantRate != 0), onlyReverse("the IOPS wanted", in.WantIOPS != 0)); err != nil {
		return Answer{}, err
	}
	if strings.HasPrefix(in.Layout, onefsPrefix) {
		return oneFS(in)
	}
	l, err := in.check()
	if err != nil {
		return Answer{}, err
	}
	a := newAnswer("pool", in)
	v := float64(in.Vdevs)
	rate := func(name string, t term) {
		a.add(name, v*t.disks*float64(in.DiskRate), BytesPerSecond, "%s × %s × %s", amount(v, "vdev"), t.text, in.DiskRate)
	}
	iops := func(name string, t term) float64 {
		n := v * t.disks * in.DiskIOPS
		a.add(name, n, PerSecond, "%s × %s × %g /s", amount(v, "vdev"), t.text, in.DiskIOPS)
		return n
	}
	rate("streaming read", l.streamRead(in.Width))
	rate("streaming write", l.data(in.Width))
	r := iops("random read IOPS", l.randomRead(in.Width))
	w := iops("random write IOPS", l.randomWrite(in.Width))
	if in.Read != nil {
		a.add("mixed IOPS", mixed(*in.Read, r, w), PerSecond, "1 / (%.4g / %.0f + %.4g / %.0f)", *in.Read, r, 1-*in.Read, w)
	}
	if d := l.data(in.Width); in.DiskSize > 0 {
		a.add("capacity", v*d.disks*float64(in.DiskSize), Bytes, "%s × %s × %sB", amount(v, "vdev"), d.text, decimal(float64(in.DiskSize)))
	}
	d := l.data(in.Width)
	a.add("share that holds data", d.disks/float64(in.Width), Share, "%s / %d", d.text, in.Width)
	poolNotes(a, l)
	return *a, nil
}

func poolNotes(a *Answer, l layout) {
	a.note("Disks alone, empty and unfragmented, without caches: a ceiling for sustained work. Disks read and write outer tracks up to twice as fast as inner ones.")
	switch l.kind {
	case striped:
		a.note("raid0 loses everything with the first disk.")
	case mirrored, paired:
		a.note("Streaming reads reach all disks of a mirror only with several readers or deep prefetch.")
	case raid:
		a.note("The small-write penalty is that of read-modify-write; full stripes and a battery-backed cache avoid it.")
	case raidz:
		a.note("RAID-Z: IOPS of one disk per vdev, for reads and writes of whole records. Writes gather into transaction groups, so asynchronous small writes do better than that. Records that fill few sectors lose capacity to parity and padding.")
	}
}

// PoolFor computes the vdevs that a rate, IOPS or both need.
func PoolFor(in PoolInput) (Answer, error) {
	if strings.HasPrefix(in.Layout, onefsPrefix) {
		return Answer{}, errors.New("size pool: OneFS layouts give protection overhead only; there is no reverse")
	}
	if in.Vdevs > 1 {
		return Answer{}, errors.New("size pool: in reverse the vdevs are the answer; leave them away")
	}
	in.Vdevs = 1
	l, err := in.check()
	if err != nil {
		return Answer{}, err
	}
	if in.WantRate == 0 && in.WantIOPS == 0 {
		return Answer{}, errors.New("size pool: in reverse, give the rate or the IOPS wanted, or both")
	}
	in.Vdevs = 0 // they are the answer
	a := newReverse("pool", in)
	vdevs := 0.0
	var each []string
	if in.WantRate > 0 {
		t := l.data(in.Width) // never more than reads give
		one := t.disks * float64(in.DiskRate)
		n := atLeast(float64(in.WantRate) / one)
		a.add("vdevs for the rate", n, Count, "⌈%s / (%s × %s)⌉", in.WantRate, t.text, in.DiskRate)
		vdevs, each = max(vdevs, n), append(each, strconv.FormatFloat(n, 'f', 0, 64))
	}
	if in.WantIOPS > 0 {
		one, text := in.vdevIOPS(l)
		n := atLeast(in.WantIOPS / one)
		a.add("vdevs for the IOPS", n, Count, "⌈%g /s / %.4g /s of a vdev, %s⌉", in.WantIOPS, one, text)
		vdevs, each = max(vdevs, n), append(each, strconv.FormatFloat(n, 'f', 0, 64))
	}
	a.add("vdevs needed", vdevs, Count, "max(%s)", strings.Join(each, ", "))
	a.add("disks needed", vdevs*float64(in.Width), Count, "%s × %d", amount(vdevs, "vdev"), in.Width)
	if d := l.data(in.Width); in.DiskSize > 0 {
		a.add("capacity", vdevs*d.disks*float64(in.DiskSize), Bytes, "%s × %s × %sB", amount(vdevs, "vdev"), d.text, decimal(float64(in.DiskSize)))
	}
	poolNotes(a, l)
	return *a, nil
}

// vdevIOPS is one vdev's, of the mix if there is one, else of the slower.
func (in PoolInput) vdevIOPS(l layout) (float64, string) {
	r, w := l.randomRead(in.Width).disks*in.DiskIOPS, l.randomWrite(in.Width).disks*in.DiskIOPS
	if in.Read != nil {
		return mixed(*in.Read, r, w), fmt.Sprintf("%g read", *in.Read)
	}
	return min(r, w), "the slower of reads and writes"
}
