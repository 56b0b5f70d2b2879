package setter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/kernel"
)

// RSSSetting is the only id of this mechanism.
const RSSSetting = "linux.ethtool.rss"

// RSSDefault is the value that leaves the table to the kernel.
const RSSDefault = "default"

// Tables reads and writes the RSS table of an interface; the kernel package implements it. With
// an empty table the kernel makes its own.
type Tables interface {
	Get(ifname string) (kernel.RSS, error)
	Set(ifname string, table []uint32) error
}

// RSS sets how a NIC spreads arriving connections over its receive queues. A value is "default"
// (evenly over all queues, following their number), "equal=N" (evenly over the first N) or
// "weight=3,1,…" (this many slots of the table for each queue, in order): the forms that
// ethtool(8) can restore too. A table of another form is reported and never changed, since no
// shell could restore it.
type RSS struct {
	Tables Tables
	// Interface finds the present interface name of a model.NIC.Device.
	Interface func(device string) (ifname string, err error)
}

func (RSS) Owns(setting string) bool { return setting == RSSSetting }

func (RSS) Canonical(at Place, value string) (string, error) {
	if at.Setting != RSSSetting {
		return "", fmt.Errorf("RSS table %s: want %s: %w", at, RSSSetting, ErrValue)
	}
	if _, err := shellInterface(at.Target); err != nil {
		return "", err
	}
	words, err := fields(at, value)
	if err != nil {
		return "", err
	}
	kind, list, ok := strings.Cut(words[0], "=")
	switch {
	case len(words) == 1 && words[0] == RSSDefault:
		return RSSDefault, nil
	case len(words) == 1 && kind == "equal" && ok:
		_, err := numberIn(at, "equal", list, limits{1, 1 << 16, false})
		return words[0], err
	case len(words) == 1 && kind == "weight" && ok:
		_, err := parseWeights(at, list)
		return words[0], err
	}
	return "", fmt.Errorf("value %q of %s: want default, equal=QUEUES or weight=SLOTS,SLOTS,…: %w", value, at, ErrValue)
}

// parseWeights parses how many slots each queue has. The last number is not 0, so that a table
// has one spelling.
func parseWeights(at Place, list string) ([]int64, error) {
	var out []int64
	var sum int64
	for s := range strings.SplitSeq(list, ",") {
		n, err := numberIn(at, "weight", s, limits{0, 1 << 16, false})
		if err != nil {
			return nil, err
		}
		out, sum = append(out, n), sum+n
	}
	if out[len(out)-1] == 0 || sum > 1<<16 {
		return nil, fmt.Errorf("weights %q of %s: the last must not be 0, and all together at most 65536: %w", list, at, ErrValue)
	}
	return out, nil
}

func (s RSS) Read(_ context.Context, at Place, like string) (string, error) {
	_, r, err := s.get(at, like)
	if err != nil {
		return "", err
	}
	form, err := tableForm(r, like)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", at, err)
	}
	return form, nil
}

func (s RSS) get(at Place, like string) (string, kernel.RSS, error) {
	if _, err := s.Canonical(at, like); err != nil {
		return "", kernel.RSS{}, err
	}
	ifname, err := s.Interface(at.Target)
	if err != nil {
		return "", kernel.RSS{}, fmt.Errorf("find the interface of %s: %w", at.Target, err)
	}
	r, err := s.Tables.Get(ifname)
	if err == nil && (len(r.Table) == 0 || r.Rings <= 0) {
		err = ErrUnsupported
	}
	if err != nil {
		return "", r, fmt.Errorf("read %s (now %s): %w", at, ifname, err)
	}
	return ifname, r, nil
}

// tableForm is a table in canonical form. If several forms describe it ("equal=8" and "default"
// on a NIC with eight queues), it is the form of like.
func tableForm(r kernel.RSS, like string) (string, error) {
	kind, _, _ := strings.Cut(like, "=")
	n := uint32(len(r.Table))
	if slices.Max(r.Table) < n {
		n = slices.Max(r.Table) + 1
	}
	even := slices.Equal(r.Table, evenTable(len(r.Table), n))
	var weights []string
	if slices.IsSorted(r.Table) {
		count := make([]int, slices.Max(r.Table)+1)
		for _, q := range r.Table {
			count[q]++
		}
		for _, c := range count {
			weights = append(weights, strconv.Itoa(c))
		}
	}
	switch {
	case weights != nil && (kind == "weight" || !even):
		return "weight=" + strings.Join(weights, ","), nil
	case even && int(n) == min(r.Rings, len(r.Table)) && kind != "equal":
		return RSSDefault, nil
	case even:
		return "equal=" + strconv.Itoa(int(n)), nil
	}
	return "", errors.New("the table has a form that no script could restore (neither even nor in blocks), so it is not changed")
}

// evenTable is the kernel's own spread (include/linux/ethtool.h, ethtool_rxfh_indir_default).
func evenTable(size int, queues uint32) []uint32 {
	t := make([]uint32, size)
	for i := range t {
		t[i] = uint32(i) % queues
	}
	return t
}

func (s RSS) Write(_ context.Context, at Place, value string) error {
	value, err := s.Canonical(at, value)
	if err != nil {
		return err
	}
	ifname, r, err := s.get(at, value)
	if err != nil {
		return err
	}
	table, err := tableOf(at, value, r)
	if err != nil {
		return err
	}
	if err := s.Tables.Set(ifname, table); err != nil {
		return fmt.Errorf("write %q to %s (now %s): %w", value, at, ifname, err)
	}
	return nil
}

// tableOf is the table that a value stands for on this device.
func tableOf(at Place, value string, r kernel.RSS) ([]uint32, error) {
	kind, list, _ := strings.Cut(value, "=")
	if kind == RSSDefault {
		return nil, nil
	}
	if kind == "equal" {
		n, err := numberIn(at, "equal", list, limits{1, int64(min(r.Rings, len(r.Table))), false})
		if err != nil {
			return nil, err
		}
		return evenTable(len(r.Table), uint32(n)), nil
	}
	weights, err := parseWeights(at, list)
	if err != nil {
		return nil, err
	}
	var table []uint32
	for q, n := range weights {
		table = append(table, slices.Repeat([]uint32{uint32(q)}, int(n))...)
	}
	if len(table) != len(r.Table) || len(weights) > r.Rings {
		return nil, fmt.Errorf("value %q of %s: the device has %d slots and %d queues, this is for %d and %d: %w",
			value, at, len(r.Table), r.Rings, len(table), len(weights), ErrValue)
	}
	return table, nil
}

func (s RSS) Shell(at Place, like string) (Shell, error) {
	if _, err := s.Canonical(at, like); err != nil {
		return Shell{}, err
	}
	find, err := shellInterface(at.Target)
	if err != nil {
		return Shell{}, err
	}
	kind, _, _ := strings.Cut(like, "=")
	return Shell{
		Read: "dev=$(" + find + `) && now=$(ethtool -x "$dev") && printf '%s\n' "$now" | awk -v like=` + kind + ` ` + Quote(rssAwk),
		Write: "dev=$(" + find + `) && case "$value" in weight=*) ethtool -X "$dev" weight $(echo "${value#*=}" | tr ',' ' ') ;; ` +
			`equal=*) ethtool -X "$dev" equal "${value#*=}" ;; *) ethtool -X "$dev" default ;; esac`,
		Programs: []string{"ethtool", "awk"},
	}, nil
}

// rssAwk is tableForm in awk, on the output of ethtool -x: a header with the number of rings,
// then "   8:  0 1 2 3 …".
const rssAwk = `
/^RX flow hash/ { for (i = 1; i < NF; i++) if ($(i + 1) == "RX" && $i ~ /^[0-9]+$/) rings = $i }
/^ *[0-9]+:/ { for (i = 2; i <= NF; i++) table[size++] = $i + 0 }
/^RSS hash key/ { exit }
END {
	if (size == 0) exit 1
	for (i = 0; i < size; i++) { count[table[i]]++; if (table[i] > top) top = table[i]; if (i && table[i] < table[i - 1]) unsorted = 1 }
	n = top + 1
	even = 1
	for (i = 0; i < size; i++) if (table[i] != i % n) even = 0
	if (!unsorted && (like == "weight" || !even)) {
		for (q = 0; q <= top; q++) line = line (q ? "," : "") count[q] + 0
		print "weight=" line
	} else if (even && n == (rings < size ? rings : size) && like != "equal") print "default"
	else if (even) print "equal=" n
	else exit 1
}`
