package onefs

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"linerate/internal/model"
	"linerate/internal/systems/bsd"
)

// cluster are the sysctls of all nodes, as isi_sysctl_cluster printed them. Public scripts show that it
// reads what follows it, and no public source shows what it prints. So only the two forms of sysctl itself are
// taken, with or without a node's name before them as isi_for_array prints it; what is otherwise is told, and
// nothing of that sysctl is taken. It must also agree with what sysctl said here.
func cluster(r bsd.Reading, here map[string]string, names []string) {
	failed, first := 0, ""
	for _, name := range names {
		text := r.Frames.Text("cluster:" + name)
		why, values := text.Why, map[string]string(nil)
		if said, ok := text.Get(); ok {
			var err error
			if values, err = perNode(name, said); err == nil {
				err = agrees(values, r.F.Hostname, here[name])
			}
			if err != nil {
				why, values = err.Error(), nil
			}
		}
		for node, value := range values {
			r.F.Settings["onefs.sysctl."+name+"@"+node] = model.Known(value)
		}
		if values == nil {
			if failed++; failed == 1 {
				first = name + ": " + why
			}
		}
	}
	if failed > 0 {
		r.Blind(fmt.Sprintf("isi_sysctl_cluster of %d of %d sysctls", failed, len(names)), "whether all nodes have the value that this one has", first)
	}
}

// whole is the node whose name was not printed.
const whole = "cluster"

// perNode takes what was printed of one sysctl apart, by the names of nodes. Its error says what was not
// understood.
func perNode(name, said string) (map[string]string, error) {
	form := regexp.MustCompile(`^(?:([A-Za-z0-9][A-Za-z0-9._-]*): )?` + regexp.QuoteMeta(name) + `(?:: |=)(-?[0-9]{1,18})$`)
	out := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(said), "\n") {
		m := form.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			return nil, fmt.Errorf("the line %q was not understood: it is kept in a recording, send us that", line)
		}
		node := m[1]
		if node == "" {
			node = whole
		}
		if _, twice := out[node]; twice {
			return nil, fmt.Errorf("it has two lines of %s: it is kept in a recording, send us that", node)
		}
		out[node] = m[2]
	}
	if _, unnamed := out[whole]; unnamed && len(out) > 1 {
		return nil, errors.New("some of its lines name a node and others do not: it is kept in a recording, send us that")
	}
	return out, nil
}

// agrees compares the value of this node, which has to be there, with the one that sysctl printed here; without
// that one it does not agree.
func agrees(values map[string]string, host, here string) error {
	short, _, _ := strings.Cut(host, ".")
	found := false
	for node, value := range values {
		if node != whole && node != host && node != short {
			continue
		}
		switch found = true; {
		case here == "":
			return fmt.Errorf("it has %s for this node, and sysctl shows none here to compare with: none is taken for any node", value)
		case value != here:
			return fmt.Errorf("it has %s for this node, and sysctl has %s: neither is taken for the other nodes'", value, here)
		}
	}
	if !found {
		return fmt.Errorf("no line of it is of this node (%s): it is kept in a recording, send us that", short)
	}
	return nil
}
