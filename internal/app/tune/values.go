package tune

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"linerate/internal/app"
	"linerate/internal/model"
	"linerate/internal/tune"
	"linerate/internal/tune/file"
	"linerate/internal/tune/profile"
)

// Proposal is the changes that a host is to get, with what is not changed and why; after
// Apply also what became of each.
type Proposal struct {
	V       int       `json:"v"`
	Host    string    `json:"host"`
	Profile string    `json:"profile"`
	Chosen  string    `json:"chosen,omitempty"` // why this profile, where none was named
	Path    Path      `json:"path"`
	Plan    []Line    `json:"plan"`
	Refused []Refusal `json:"rejected"`
	DryRun  bool      `json:"dry_run,omitempty"`
	// Of an application.
	ID       string     `json:"plan_id,omitempty"`
	Deadline *time.Time `json:"deadline,omitempty"` // for the confirmation, by the host's clock; none: nothing waits for one
	Notes    []string   `json:"notes,omitempty"`
	// Files are what --persist writes, or would; Written: it has.
	Files   []File `json:"files,omitempty"`
	Written bool   `json:"written,omitempty"`

	// Partly: a part is confirmed already, and only the rest waits.
	Partly bool `json:"-"`
}

// Sum tells plans apart: those that make the same changes in the same order, and write the same
// files, have the same.
func (p Proposal) Sum() string {
	h := sha256.New()
	for _, l := range p.Plan {
		for _, part := range []string{l.Host, l.Setting, l.Target, l.From, l.To} {
			fmt.Fprintf(h, "%d:%s", len(part), part)
		}
	}
	for _, f := range p.Files {
		for _, part := range []string{f.Host, f.Path, f.Before, f.After} {
			fmt.Fprintf(h, "%d:%s", len(part), part)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Path is the path that the values are for.
type Path struct {
	Peer     string   `json:"peer,omitempty"`
	Dev      string   `json:"dev,omitempty"`
	RateBPS  *float64 `json:"rate_bps"`
	RateFrom string   `json:"rate_from,omitempty"`
	RTT      *int64   `json:"rtt"`
	RTTFrom  string   `json:"rtt_from,omitempty"`
	Streams  int      `json:"streams"`
	// Stated: linerate cannot measure it from this host.
	Stated bool `json:"-"`
}

// RoundTrip is RTT for people; empty: not known.
func (p Path) RoundTrip() string {
	if p.RTT == nil {
		return ""
	}
	return profile.Duration(time.Duration(*p.RTT))
}

// Line is one change.
type Line struct {
	Setting string `json:"setting"`
	Host    string `json:"host"`
	Target  string `json:"target,omitempty"` // stable id of the device
	Device  string `json:"device,omitempty"` // its name now
	From    string `json:"from"`
	To      string `json:"to"`
	Reason  string `json:"reason"`
	Source  string `json:"source"`
	Risk    string `json:"risk"`
	Needs   string `json:"needs"`
	Trades  string `json:"trades,omitempty"`
	Cuts    bool   `json:"cuts,omitempty"`
	Typed   bool   `json:"typed,omitempty"`
	// Of an application; nil: it was not applied yet.
	Applied   *bool  `json:"applied,omitempty"`
	Effective string `json:"effective,omitempty"`
	Observed  string `json:"observed,omitempty"`
}

// Refusal is a setting that is not changed, or a line of a paper that is not
// taken, and why.
type Refusal struct {
	Setting string `json:"setting"`
	Why     string `json:"why"`
	Device  string `json:"device,omitempty"`
	Value   string `json:"value,omitempty"` // what runs; of a paper's line, what it has
	Source  string `json:"source,omitempty"`
	Paper   bool   `json:"paper,omitempty"` // advice of the profile's sources, not about this host
	So      bool   `json:"-"`               // what runs is what is recommended
}

func (d *drafted) view() Path {
	v := Path{Peer: d.path.Peer, Dev: d.path.Dev, RateFrom: d.path.RateFrom, RTTFrom: d.path.RTTFrom, Streams: max(d.path.Streams, 1), Stated: d.foreign != nil}
	if d.path.Rate > 0 {
		rate := float64(d.path.Rate)
		v.RateBPS = &rate
	}
	if d.path.RTT > 0 {
		rtt := int64(d.path.RTT)
		v.RTT = &rtt
	}
	return v
}

// noOp ends the reason of advice that asks for the default.
const noOp = "(no-op)"

// plan words the plans of the draft: the very changes that apply makes, in the
// order in which it makes them.
func (d *drafted) plan() Proposal {
	doc := Proposal{V: 1, Host: d.name, Profile: d.profile.Name, Chosen: d.why, Path: d.view(), Plan: []Line{}, Refused: []Refusal{}}
	for _, p := range d.plans {
		for _, c := range p.Changes {
			doc.Plan = append(doc.Plan, lineOf(p.name, c))
		}
	}
	for _, r := range d.rows {
		if !r.Change {
			doc.Refused = append(doc.Refused, Refusal{Setting: r.Setting, Why: r.Why, Device: r.Device, Value: r.Now, So: r.To != "" && r.To == r.Now})
		}
	}
	for _, r := range d.profile.Rejected {
		if os, _, _ := strings.Cut(r.Setting, "."); d.foreign != nil && os != "any" && os != d.facts.OS {
			continue // advice about another system
		}
		planned := slices.ContainsFunc(doc.Plan, func(l Line) bool { return l.Setting == r.Setting })
		if planned && strings.HasSuffix(r.Why, noOp) {
			continue // it changes nothing where it is the default, which it is not here
		}
		doc.Refused = append(doc.Refused, Refusal{Setting: r.Setting, Why: r.Why, Value: r.Value, Source: r.Source, Paper: true})
	}
	return doc
}

func lineOf(host string, c model.Change) Line {
	return Line{
		Setting: c.Setting, Host: host, Target: c.Target, Device: c.Device, From: c.From, To: c.To,
		Reason: c.Why, Source: c.Source, Risk: c.Risk, Needs: c.Needs, Trades: c.Trades, Cuts: c.Cuts, Typed: c.Typed,
	}
}

// Panel is the settings of a host beside what its work wants of them.
type Panel struct {
	V        int    `json:"v"`
	Host     string `json:"host"`
	Profile  string `json:"profile"`
	Chosen   string `json:"chosen,omitempty"`
	Mine     string `json:"mine_profile,omitempty"`
	Path     Path   `json:"path"`
	Settings []Row  `json:"settings"`

	For string `json:"-"` // what the profile is made for
}

// Row is a setting of the panel; empty values are not known, or there is
// none.
type Row struct {
	Setting     string `json:"setting"`
	Host        string `json:"host"`
	Target      string `json:"target,omitempty"`
	Device      string `json:"device,omitempty"`
	Current     string `json:"current"`
	Default     string `json:"default"`
	Recommended string `json:"recommended"`
	Mine        string `json:"mine"`
	Change      bool   `json:"change"` // recommended is not what runs
	Reason      string `json:"reason"`
	Source      string `json:"source"`
}

// MakePanel looks at a host. It changes nothing.
func MakePanel(ctx context.Context, e app.Env, o Request, p app.Progress) (Panel, error) {
	d, err := draft(ctx, e, o, p)
	if err != nil {
		return Panel{}, err
	}
	defer d.close()
	doc := Panel{V: 1, Host: d.name, Profile: d.profile.Name, For: d.profile.For, Chosen: d.why, Path: d.view(), Settings: []Row{}}
	if o.Mine != nil {
		doc.Mine = o.Mine.Name
	}
	for _, r := range d.rows {
		doc.Settings = append(doc.Settings, Row{
			Setting: r.Setting, Host: d.name, Target: r.Target, Device: r.Device, Current: r.Now, Default: r.Default,
			Recommended: r.To, Mine: d.mine[r.Place], Change: r.Change, Reason: r.Why, Source: r.Source,
		})
	}
	return doc, nil
}

// ShortName is a setting as people know it, with its device:
// "net.ipv4.tcp_rmem", "link.mtu@eth0". A value is typed for it by that name.
func ShortName(setting, device string) string {
	if path, ok := strings.CutPrefix(setting, file.Prefix); ok {
		return path
	}
	name := strings.TrimPrefix(strings.TrimPrefix(setting, "linux."), "sysctl.")
	if device != "" {
		name += "@" + device
	}
	return name
}

// File is a file of a host that makes settings outlive a restart.
type File struct {
	Host string `json:"host"`
	tune.FileChange
}

func filesOf(host string, files []tune.FileChange) []File {
	out := []File{}
	for _, f := range files {
		out = append(out, File{host, f})
	}
	return out
}
