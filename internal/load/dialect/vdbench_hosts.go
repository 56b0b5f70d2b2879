package dialect

import (
	"fmt"
	"slices"
	"strings"
)

// hd is a host that runs the load. How it is reached is the user's own (--on): its words on
// that say nothing here.
func (v *vdbench) hd(d definition) error {
	system := d.name
	for _, w := range d.words {
		switch value := w.values[0]; {
		case w.name == "system":
			system = value
		case slices.Contains([]string{"user", "shell", "vdbench", "jvms"}, w.name):
		case w.name == "clients" && value == "1":
		default:
			return wrong(w.line, "hd=%s: %s=%s is not supported", d.name, w.name, strings.Join(w.values, ","))
		}
	}
	if to, ok := v.o.Map[system]; ok {
		system = to
	}
	if slices.Contains(v.hosts, system) {
		return wrong(d.line, "hd=%s: %s is another hd's host already", d.name, system)
	}
	v.hosts, v.order.hds = append(v.hosts, system), append(v.order.hds, d.name)
	if len(v.hosts) > maxTargets {
		return wrong(d.line, "more than %d hosts", maxTargets)
	}
	return nil
}

// here accepts words that choose hosts.
func here(w word) bool { return w.name == "host" || w.name == "hosts" || w.name == "hd" }

// everyHost refuses a choice of some of the hosts: all make the same load here.
func (v *vdbench) everyHost(w word) error {
	if len(v.hosts) == 0 {
		return nil
	}
	some, err := namesOf(w, v.order.hds)
	if err == nil && len(some) < len(v.hosts) {
		err = fmt.Errorf("some of the hosts: all make the same load here")
	}
	return err
}

// alone tells whether this host is the only one.
func (v *vdbench) alone() bool {
	return len(v.hosts) == 0 || len(v.hosts) == 1 && v.hosts[0] == "localhost"
}

// share divides a rate among the hosts, as vdbench does.
func (v *vdbench) share(j *Job) {
	if n := len(v.hosts); n > 1 && j.Shape.Rate > 0 {
		j.Notes = append(j.Notes, fmt.Sprintf("%g requests/s of %d hosts together", j.Shape.Rate, n))
		j.Shape.Rate /= float64(n)
	}
}
