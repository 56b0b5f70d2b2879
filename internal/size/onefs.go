package size

import (
	"errors"
	"fmt"
	"strings"

	"linerate/internal/unit"
)

const onefsPrefix = "onefs-"

// maxDataUnits of a OneFS stripe: N is at most 16, M at most 4.
const maxDataUnits = 16

// protection is a OneFS level: units of error correction per stripe, and how
// many units of a stripe may lie on one node.
type protection struct {
	name          string
	units, onNode int
	leastNodes    int  // with fewer OneFS mirrors instead
	ruled         bool // the rule is trusted beyond the six nodes of the chart
}

// protections are the levels of OneFS 7.2 and later. Source: the vendor's "Exploring OneFS
// storage protection overhead" (EMC community blog, 2015 and 2018), whose chart for three to six
// nodes the rule below reproduces, and the notation N+M/b explained in the vendor's forum. The
// levels with three units and several on a node depart from the rule on larger clusters.
func protections() []protection {
	return []protection{
		{"+1n", 1, 1, 3, true}, {"+2d:1n", 2, 2, 3, true}, {"+2n", 2, 1, 5, true},
		{"+3d:1n", 3, 3, 3, false}, {"+3d:1n1d", 3, 2, 3, false}, {"+3n", 3, 1, 7, true},
		{"+4d:1n", 4, 4, 3, true}, {"+4d:2n", 4, 2, 4, true}, {"+4n", 4, 1, 9, true},
	}
}

// OneFSNames lists the OneFS layouts of Pool.
func OneFSNames() []string {
	var out []string
	for _, p := range protections() {
		out = append(out, onefsPrefix+p.name)
	}
	return out
}

// findProtection accepts today's names and those of OneFS before 7.2 ("n+2:1").
func findProtection(name string) (protection, error) {
	old := map[string]string{"n+1": "+1n", "n+2:1": "+2d:1n", "n+2": "+2n", "n+3:1": "+3d:1n", "n+3": "+3n", "n+4": "+4n"}
	s := strings.ToLower(strings.TrimPrefix(name, onefsPrefix))
	if rest, ok := strings.CutPrefix(s, "n"); ok && !strings.HasPrefix(rest, "+") {
		s = "n+" + rest
	}
	if now, ok := old[s]; ok {
		s = now
	}
	for _, p := range protections() {
		if p.name == s {
			return p, nil
		}
	}
	return protection{}, fmt.Errorf("unknown OneFS protection %q; choose one of %s", name, strings.Join(OneFSNames(), ", "))
}

// stripe is N data units and M units of error correction on nodes.
func (p protection) stripe(nodes int) (data, parity int) {
	return min(nodes*p.onNode-p.units, maxDataUnits), p.units
}

// oneFS computes a protection level's overhead; in.Vdevs is the number of nodes,
// in.DiskSize the raw capacity of one.
func oneFS(in PoolInput) (Answer, error) {
	p, err := findProtection(in.Layout)
	if err == nil && (in.Width != 0 || in.Read != nil) {
		err = errors.New("OneFS layouts have nodes (vdevs) and a size of a node (disk size), no width and no share of reads")
	}
	if err := first("pool", err, checkCount("nodes", in.Vdevs, 3, 252),
		optional(in.DiskSize != 0, checkBytes("node size", in.DiskSize, unit.GB, maxStorage/1000))); err != nil {
		return Answer{}, err
	}
	if in.Vdevs < p.leastNodes {
		return Answer{}, fmt.Errorf("size pool: %s needs %d nodes; with %d OneFS mirrors instead", p.name, p.leastNodes, in.Vdevs)
	}
	if in.Vdevs > 6 && !p.ruled {
		return Answer{}, fmt.Errorf("size pool: the stripe of %s on more than 6 nodes is not known here; see the vendor's protection overhead chart", p.name)
	}
	a := newAnswer("pool", OneFSInput{in.Layout, in.Vdevs, in.DiskSize})
	n, m := p.stripe(in.Vdevs)
	text := fmt.Sprintf("stripe of %d + %d: %d nodes × %d − %d, at most %d", n, m, in.Vdevs, p.onNode, p.units, maxDataUnits)
	a.add("data units", float64(n), Count, "%s", text)
	a.add("protection overhead", float64(m)/float64(n+m), Share, "%d / (%d + %d)", m, n, m)
	a.add("share that holds data", float64(n)/float64(n+m), Share, "%d / (%d + %d)", n, n, m)
	if in.DiskSize > 0 {
		a.add("capacity", float64(in.Vdevs)*float64(in.DiskSize)*float64(n)/float64(n+m), Bytes,
			"%d nodes × %sB × %d / %d", in.Vdevs, decimal(float64(in.DiskSize)), n, n+m)
	}
	a.note("Files of 128 KiB or less are mirrored, not striped: many small files cost more. Metadata, snapshots and the virtual hot spare are not counted.")
	if in.Vdevs > 6 {
		a.note("Beyond six nodes this follows the rule (nodes × units per node, at most 16 data units), not a published chart.")
	}
	a.note("A lower level gains streaming speed at the price of data safety; +1n on large disks is below what the vendor suggests today.")
	return *a, nil
}

// OneFSInput is what a OneFS layout is computed from.
type OneFSInput struct {
	Layout   string     `json:"layout"`
	Nodes    int        `json:"nodes"`
	NodeSize unit.Bytes `json:"node_bytes,omitempty"` // raw
}
