package route

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"

	"linerate/internal/failure"
	"linerate/internal/move"
	"linerate/internal/unit"
)

// Lie is where sources lie, as far as a message has room for it. What is left out is counted, so that who
// reads it knows what it cannot tell.
type Lie struct {
	Spots Spots `json:"spots,omitempty"`
	// Mounts are the kernels of hosts of which mounts below a source are left out.
	Mounts []string `json:"mounts,omitempty"`
	Left   []Left   `json:"left,omitempty"`
}

// Left are sources that are left out.
type Left struct {
	Count  int    `json:"count"`
	Kernel string `json:"kernel,omitempty"` // as in Spot
	Shared bool   `json:"shared,omitempty"` // some lie on another host's file system, as in Spot
}

// IsZero reports whether there is nothing in it, as of what has no sources.
func (l Lie) IsZero() bool { return len(l.Spots)+len(l.Mounts)+len(l.Left) == 0 }

// Join is where the sources of both lie.
func (l Lie) Join(m Lie) Lie {
	return Lie{slices.Concat(l.Spots, m.Spots), slices.Concat(l.Mounts, m.Mounts), slices.Concat(l.Left, m.Left)}
}

// Within leaves out what does not go into a number of bytes as JSON: first mounts below sources, those of the
// source with the most first, then sources.
func (l Lie) Within(most int) (Lie, error) {
	l.Spots = slices.Clone(l.Spots)
	for {
		b, err := json.Marshal(l)
		if err != nil {
			return Lie{}, fmt.Errorf("tell where sources lie: %w", err)
		}
		if len(b) <= most && l.Spots.wide() <= maxWide {
			return l, nil
		}
		if !l.dropMounts(len(b) - most) {
			if len(l.Spots) == 0 {
				return l, nil
			}
			l.dropSpots(max(1, len(l.Spots)/8))
		}
	}
}

// dropMounts leaves out about so many bytes of mounts, if there are any.
func (l *Lie) dropMounts(over int) bool {
	order := make([]int, len(l.Spots))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(len(l.Spots[b].Below), len(l.Spots[a].Below)) })
	did := false
	for _, i := range order {
		s := &l.Spots[i]
		if len(s.Below) == 0 || did && over <= 0 {
			break
		}
		for _, p := range s.Below {
			over -= len(`{"fs":"","root":"","at":""},`) + len(p.FS) + len(p.Root) + len(p.At)
		}
		s.Below, did = nil, true
		if !slices.Contains(l.Mounts, s.Kernel) {
			l.Mounts = append(slices.Clip(l.Mounts), s.Kernel)
		}
	}
	return did
}

// dropSpots leaves out the last sources.
func (l *Lie) dropSpots(n int) {
	keep := len(l.Spots) - n
	left := slices.Clone(l.Left)
	for _, s := range l.Spots[keep:] {
		i := slices.IndexFunc(left, func(x Left) bool { return x.Kernel == s.Kernel })
		if i < 0 {
			i, left = len(left), append(left, Left{Kernel: s.Kernel})
		}
		left[i].Count++
		left[i].Shared = left[i].Shared || len(s.Shared) > 0
	}
	l.Spots, l.Left = l.Spots[:keep], left
}

// Untold judges what Apart was not told. It refuses that where a source might lie in the target or hold it,
// by an error of kind failure.Usage, and is else the doubt that is left; "": none.
func (l *Landing) Untold(of Lie, deletes bool, bound int) (doubt string, err error) {
	here, n := l.At.Kernel, 0
	for _, x := range of.Left {
		n += x.Count
		if deletes || here == "" || x.Kernel == "" || x.Kernel == here || x.Shared && len(l.At.Shared) > 0 {
			err = errors.New("they may lie in the target, or hold it: copy fewer of them at once, or a directory above them")
		}
	}
	if n > 0 {
		doubt = fmt.Sprintf("where the sources lie takes more than the %d KiB that one message has for it, and of %s the target was not told", bound>>10, unit.Count(n, "source"))
	}
	switch {
	case err != nil:
		return "", failure.Of(failure.Usage, "%s: %w", doubt, err)
	case n > 0:
		return doubt + ": whether one is the target by another name was not looked at", nil
	case here != "" && slices.Contains(of.Mounts, here) || len(of.Mounts) > 0 && len(l.At.Shared) > 0:
		return fmt.Sprintf("the mounts below the sources are too many for one message (%d KiB): whether the target is one of them by another name was not looked at", bound>>10), nil
	}
	return "", nil
}

// Spots are where sources lie. As JSON, directories above several of them are told once.
type Spots []Spot

// maxWide bounds the bytes of what is read, which is more than its JSON is long.
const maxWide = 16 << 20

// packed is the JSON of Spots.
type packed struct {
	Above []step `json:"above,omitempty"`
	Spots []step `json:"spots"`
}

// step is a Spot without what the directory above it tells.
type step struct {
	Up int `json:"up,omitempty"` // place in packed.Above, from 1; 0: the Spot is told whole
	// Base is the last element of its path, and with it of Root and Name where these are not
	// told; "": that is Own.
	Base move.Raw `json:"base,omitempty"`
	Spot
}

// MarshalJSON implements json.Marshaler.
func (s Spots) MarshalJSON() ([]byte, error) {
	p := packer{at: map[string]int{}, out: packed{Spots: []step{}}}
	for _, x := range s {
		one, err := p.pack(x)
		if err != nil {
			return nil, err
		}
		p.out.Spots = append(p.out.Spots, one)
	}
	return json.Marshal(p.out)
}

type packer struct {
	at   map[string]int // by what a directory is as JSON
	wide int            // of the directories above, as for maxWide
	out  packed
}

// pack makes the step of one, and those of what is above it.
func (p *packer) pack(s Spot) (step, error) {
	up, one, is := s.up()
	if p.wide += up.wide(); !is || p.wide > maxWide || !reflect.DeepEqual(up.down(one), s) {
		return step{Spot: s}, nil
	}
	key, err := json.Marshal(up)
	if err != nil {
		return step{}, err
	}
	if p.at[string(key)] == 0 {
		above, err := p.pack(up)
		if err != nil {
			return step{}, err
		}
		p.out.Above = append(p.out.Above, above)
		p.at[string(key)] = len(p.out.Above)
	}
	one.Up = p.at[string(key)]
	return one, nil
}

// up is what a Spot tells of the directory above it, if there is one, and the step from there. Whether down
// leads back is not looked at.
func (s *Spot) up() (up Spot, one step, is bool) {
	one.Spot = *s
	base := path.Base(string(s.Path))
	if len(s.Nodes) < 2 || s.Path == "" || base == "/" {
		return Spot{}, step{}, false
	}
	if one.Base = move.Raw(base); one.Base == s.Own {
		one.Base = ""
	}
	up = Spot{Kernel: s.Kernel, Path: move.Raw(path.Dir(string(s.Path))), Nodes: s.Nodes[1:]}
	one.Kernel, one.Path, one.Nodes = "", "", s.Nodes[:1]
	if len(s.Shared) > 1 {
		up.Shared, one.Shared = s.Shared[1:], s.Shared[:1]
	}
	if !slices.ContainsFunc(s.Parts, func(p Part) bool { return p.Root == "/" || path.Base(string(p.Root)) != base }) {
		up.Parts, one.Parts = slices.Clone(s.Parts), nil
		for i := range up.Parts {
			up.Parts[i].Root = move.Raw(path.Dir(string(up.Parts[i].Root)))
		}
	}
	if path.Base(string(s.Name)) == base {
		up.Name, one.Name = move.Raw(path.Dir(string(s.Name))), ""
	}
	return up, one, true
}

// down is the Spot that lies a step below one.
func (s *Spot) down(one step) Spot {
	out := one.Spot
	base := string(cmp.Or(one.Base, one.Own))
	below := func(at move.Raw) move.Raw { return move.Raw(path.Join(string(at), base)) }
	out.Kernel, out.Path, out.Nodes = s.Kernel, below(s.Path), slices.Concat(one.Nodes, s.Nodes)
	if len(s.Shared) > 0 {
		out.Shared = slices.Concat(one.Shared, s.Shared)
	}
	if len(out.Parts) == 0 && len(s.Parts) > 0 {
		out.Parts = slices.Clone(s.Parts)
		for i := range out.Parts {
			out.Parts[i].Root = below(out.Parts[i].Root)
		}
	}
	if out.Name == "" && s.Name != "" {
		out.Name = below(s.Name)
	}
	return out
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Spots) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var in packed
	if err := d.Decode(&in); err != nil {
		return err
	}
	above := make([]Spot, 0, len(in.Above))
	left := maxWide
	read := func(one step) (Spot, error) {
		if one.Up < 0 || one.Up > len(above) {
			return Spot{}, fmt.Errorf("it lies below place %d of %d", one.Up, len(above))
		}
		out := one.Spot
		if one.Up > 0 {
			out = above[one.Up-1].down(one)
		}
		if left -= out.wide(); left < 0 {
			return Spot{}, fmt.Errorf("more than %d bytes of where sources lie", maxWide)
		}
		return out, nil
	}
	for _, one := range in.Above {
		x, err := read(one)
		if err != nil {
			return err
		}
		above = append(above, x)
	}
	left = maxWide
	*s = nil
	for _, one := range in.Spots {
		x, err := read(one)
		if err != nil {
			return err
		}
		*s = append(*s, x)
	}
	return nil
}

// wide is about how many bytes it takes.
func (s *Spot) wide() int {
	n := len(s.Kernel) + len(s.Path) + len(s.Name)
	for _, p := range s.Parts {
		n += len(p.FS) + len(p.Root) + len(p.Shared)
	}
	for _, x := range [][]string{s.Nodes, s.Shared} {
		n += 16 * len(x)
	}
	return n
}

func (s Spots) wide() (n int) {
	for i := range s {
		n += s[i].wide()
	}
	return n
}
