package setter

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/kernel"
)

// Ids of this mechanism.
const (
	QdiscSetting     = "linux.tc.qdisc"
	FQMaxRateSetting = "linux.tc.fq_maxrate"
)

const (
	qdiscDefault = "default"
	noRate       = "none"
)

// Disciplines reads and changes the queue of an interface; the kernel package implements it by
// rtnetlink. An empty kind is the kernel's default; rates are bytes/s.
type Disciplines interface {
	Get(ifname string) (kernel.Qdisc, error)
	Set(ifname, kind string) error
	SetMaxRate(ifname string, rate uint32) error
}

// Queue sets the queueing discipline at the root of an interface, and the highest rate of each
// connection of an fq (bit/s, or "none"). "default" is the kernel's own choice. It refuses to
// replace a discipline that an administrator configured, at the root or below: its parameters
// could not be restored.
type Queue struct {
	Disciplines Disciplines
	// Interface finds the present interface name of a model.NIC.Device.
	Interface func(device string) (ifname string, err error)
}

// qdiscKinds are those that linerate sets, all with the kernel's default parameters.
func qdiscKinds() []string { return []string{"fq", "fq_codel", "mq", "pfifo_fast"} }

// maxFQRate is the highest rate that fq's 32 bits of bytes/s can hold (net/sched/sch_fq.c,
// TCA_FQ_FLOW_MAX_RATE), in bit/s.
const maxFQRate = (kernel.NoMaxRate - 1) * 8

func (Queue) Owns(setting string) bool { return setting == QdiscSetting || setting == FQMaxRateSetting }

func (q Queue) Canonical(at Place, value string) (string, error) {
	if !q.Owns(at.Setting) {
		return "", fmt.Errorf("queue %s: want %s or %s: %w", at, QdiscSetting, FQMaxRateSetting, ErrValue)
	}
	if _, err := shellInterface(at.Target); err != nil {
		return "", err
	}
	words, err := fields(at, value)
	if err != nil {
		return "", err
	}
	if at.Setting == QdiscSetting {
		if len(words) != 1 || words[0] != qdiscDefault && !slices.Contains(qdiscKinds(), words[0]) {
			return "", fmt.Errorf("value %q of %s: want default, %s: %w", value, at, strings.Join(qdiscKinds(), ", "), ErrValue)
		}
		return words[0], nil
	}
	if len(words) == 1 && words[0] == noRate {
		return noRate, nil
	}
	s, err := oneNumber(at, value, limits{8, maxFQRate, false})
	if err != nil {
		return "", err
	}
	if n, err := strconv.ParseInt(s, 10, 64); err != nil || n%8 != 0 {
		return "", fmt.Errorf("value %q of %s: want whole bytes per second, a multiple of 8 bit/s: %w", value, at, ErrValue)
	}
	return s, nil
}

func (q Queue) Read(_ context.Context, at Place, _ string) (string, error) {
	_, now, err := q.now(at)
	if err != nil {
		return "", err
	}
	switch {
	case at.Setting == QdiscSetting && now.Default:
		return qdiscDefault, nil
	case at.Setting == QdiscSetting:
		return now.Kind, nil
	case now.Kind != "fq" || now.Default:
		return "", fmt.Errorf("read %s: the queue is %q and not an fq that was put there: set %s to fq first: %w", at, now.Kind, QdiscSetting, ErrUnsupported)
	case now.MaxRate == kernel.NoMaxRate:
		return noRate, nil
	}
	return strconv.FormatInt(int64(now.MaxRate)*8, 10), nil
}

func (q Queue) now(at Place) (string, kernel.Qdisc, error) {
	if !q.Owns(at.Setting) {
		return "", kernel.Qdisc{}, fmt.Errorf("queue %s: want %s or %s: %w", at, QdiscSetting, FQMaxRateSetting, ErrValue)
	}
	if _, err := shellInterface(at.Target); err != nil {
		return "", kernel.Qdisc{}, err
	}
	ifname, err := q.Interface(at.Target)
	if err != nil {
		return "", kernel.Qdisc{}, fmt.Errorf("find the interface of %s: %w", at.Target, err)
	}
	now, err := q.Disciplines.Get(ifname)
	if err != nil {
		return "", now, fmt.Errorf("read %s (now %s): %w", at, ifname, err)
	}
	return ifname, now, nil
}

func (q Queue) Write(_ context.Context, at Place, value string) error {
	value, err := q.Canonical(at, value)
	if err != nil {
		return err
	}
	ifname, now, err := q.now(at)
	if err != nil {
		return err
	}
	if at.Setting == FQMaxRateSetting {
		rate, err := strconv.ParseInt(value, 10, 64)
		if err != nil { // none
			rate = kernel.NoMaxRate * 8
		}
		if err := q.Disciplines.SetMaxRate(ifname, uint32(rate/8)); err != nil {
			return fmt.Errorf("write %q to %s (now %s): %w", value, at, ifname, err)
		}
		return nil
	}
	if value == now.Kind && !now.Default {
		return nil // to put it there anew would lose its parameters
	}
	if err := replaceable(now); err != nil {
		return fmt.Errorf("write %q to %s (now %s): %w", value, at, ifname, err)
	}
	if value == qdiscDefault {
		value = ""
	}
	if err := q.Disciplines.Set(ifname, value); err != nil {
		return fmt.Errorf("write %q to %s (now %s): %w", value, at, ifname, err)
	}
	return nil
}

// replaceable refuses if more than the kind would be lost.
func replaceable(now kernel.Qdisc) error {
	switch {
	case !now.Default && !now.Ours:
		return fmt.Errorf("an administrator configured %s there, and its parameters could not be restored: remove it first (tc qdisc del dev … root): %w", now.Kind, ErrSideEffect)
	case len(now.Below) > 0:
		return fmt.Errorf("an administrator configured %s below it, which could not be restored: remove it first: %w", strings.Join(now.Below, ", "), ErrSideEffect)
	case now.Ours && now.Kind == "fq" && now.MaxRate != kernel.NoMaxRate:
		return fmt.Errorf("it has %s, which would not come back: put that to %s first: %w", FQMaxRateSetting, noRate, ErrSideEffect)
	}
	return nil
}

func (q Queue) Shell(at Place, like string) (Shell, error) {
	if _, err := q.Canonical(at, like); err != nil {
		return Shell{}, err
	}
	find, err := shellInterface(at.Target)
	if err != nil {
		return Shell{}, err
	}
	find = "dev=$(" + find + ")"
	if at.Setting == QdiscSetting {
		return Shell{
			Read:     find + ` && now=$(tc qdisc show dev "$dev") && printf '%s\n' "$now" | awk '$4 == "root" && $3 != "0:" { kind = $2 } END { print kind ? kind : "default" }'`,
			Write:    find + ` && if [ "$value" = default ]; then tc qdisc del dev "$dev" root; else tc qdisc replace dev "$dev" root "$value"; fi`,
			Programs: append(interfacePrograms(at.Target), "tc", "awk"),
		}, nil
	}
	// tc prints rates as 1Gbit; its JSON has them in bytes/s.
	return Shell{
		Read:     find + ` && now=$(tc -j qdisc show dev "$dev") && printf '%s\n' "$now" | tr '{' '\n' | awk ` + Quote(fqAwk),
		Write:    find + ` && if [ "$value" = none ]; then tc qdisc change dev "$dev" root fq maxrate 34359738360bit; else tc qdisc change dev "$dev" root fq maxrate "${value}bit"; fi`,
		Programs: append(interfacePrograms(at.Target), "tc", "awk"),
	}, nil
}

// fqAwk prints the maxrate of the fq at the root from the output of tc -j, one object to a line.
const fqAwk = `
/"kind":/ { fq = /"kind":"fq",/ && /"root":true/; found = found || fq }
fq && match($0, /"maxrate":[0-9]+/) { rate = substr($0, RSTART + 10, RLENGTH - 10) }
END { if (!found) exit 1; if (rate) printf "%.0f\n", rate * 8; else print "none" }`
