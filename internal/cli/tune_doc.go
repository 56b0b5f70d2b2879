package cli

import (
	"strings"
	"time"

	"linerate/internal/model"
	"linerate/internal/tune/profile"
	"linerate/internal/unit"
)

// planDocument is what tune plan and tune apply print with --json.
type planDocument struct {
	V       int        `json:"v"`
	Host    string     `json:"host"`
	Profile string     `json:"profile"`
	Chosen  string     `json:"chosen,omitempty"` // why this profile, where none was named
	Path    pathView   `json:"path"`
	Plan    []planLine `json:"plan"`
	Refused []refusal  `json:"rejected"`
	DryRun  bool       `json:"dry_run,omitempty"`
	// Of an application.
	ID       string     `json:"plan_id,omitempty"`
	Deadline *time.Time `json:"deadline,omitempty"` // for the confirmation, by the host's clock; none: nothing waits for one
	Notes    []string   `json:"notes,omitempty"`
	// Files are what --persist writes, or would; Written: it has.
	Files   []fileView `json:"files,omitempty"`
	Written bool       `json:"written,omitempty"`

	confirm, undo string // commands
	waits         string // what waits to be confirmed, if it is not all of it
}

// pathView is the path that the values are for.
type pathView struct {
	Peer     string        `json:"peer,omitempty"`
	Dev      string        `json:"dev,omitempty"`
	RateBPS  *float64      `json:"rate_bps"`
	RateFrom string        `json:"rate_from,omitempty"`
	RTT      *int64        `json:"rtt"`
	RTTFrom  string        `json:"rtt_from,omitempty"`
	Streams  int           `json:"streams"`
	rtt      time.Duration // of RTT
}

// planLine is one change.
type planLine struct {
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

// refusal is a setting that is not changed, or a line of a paper that is not
// taken, and why.
type refusal struct {
	Setting string `json:"setting"`
	Why     string `json:"why"`
	Device  string `json:"device,omitempty"`
	Value   string `json:"value,omitempty"` // what runs; of a paper's line, what it has
	Source  string `json:"source,omitempty"`
	Paper   bool   `json:"paper,omitempty"` // advice of the profile's sources, not about this host
	so      bool   // what runs is what is recommended
}

func (d *drafted) view() pathView {
	v := pathView{Peer: d.path.Peer, Dev: d.path.Dev, RateFrom: d.path.RateFrom, RTTFrom: d.path.RTTFrom, Streams: max(d.path.Streams, 1), rtt: d.path.RTT}
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

// plan words the plans of the draft: the very changes that apply makes, in the
// order in which it makes them.
func (d *drafted) plan() planDocument {
	doc := planDocument{V: 1, Host: d.name, Profile: d.profile.Name, Chosen: d.why, Path: d.view(), Plan: []planLine{}, Refused: []refusal{}}
	for _, p := range d.plans {
		for _, c := range p.Changes {
			doc.Plan = append(doc.Plan, lineOf(p.name, c))
		}
	}
	for _, r := range d.rows {
		if !r.Change {
			doc.Refused = append(doc.Refused, refusal{Setting: r.Setting, Why: r.Why, Device: r.Device, Value: r.Now, so: r.To != "" && r.To == r.Now})
		}
	}
	for _, r := range d.profile.Rejected {
		doc.Refused = append(doc.Refused, refusal{Setting: r.Setting, Why: r.Why, Value: r.Value, Source: r.Source, Paper: true})
	}
	return doc
}

func lineOf(host string, c model.Change) planLine {
	return planLine{
		Setting: c.Setting, Host: host, Target: c.Target, Device: c.Device, From: c.From, To: c.To,
		Reason: c.Why, Source: c.Source, Risk: c.Risk, Needs: c.Needs, Trades: c.Trades, Cuts: c.Cuts, Typed: c.Typed,
	}
}

// panelDocument is what tune prints with --json.
type panelDocument struct {
	V        int        `json:"v"`
	Host     string     `json:"host"`
	Profile  string     `json:"profile"`
	Chosen   string     `json:"chosen,omitempty"`
	Mine     string     `json:"mine_profile,omitempty"`
	Path     pathView   `json:"path"`
	Settings []panelRow `json:"settings"`

	again string // host, profile and peer as arguments of the next command
}

// panelRow is a setting of the panel; empty values are not known, or there is
// none.
type panelRow struct {
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

func (d *drafted) panel() panelDocument {
	again := hostArgument(d.o.host) + " --profile " + d.profile.Name
	if d.o.to != "" {
		again += " --to " + d.o.to
	}
	doc := panelDocument{V: 1, again: again, Host: d.name, Profile: d.profile.Name, Chosen: d.why, Path: d.view(), Settings: []panelRow{}}
	if d.o.own != nil {
		doc.Mine = d.o.own.Name
	}
	for _, r := range d.rows {
		doc.Settings = append(doc.Settings, panelRow{
			Setting: r.Setting, Host: d.name, Target: r.Target, Device: r.Device, Current: r.Now, Default: r.Default,
			Recommended: r.To, Mine: d.mine[r.Place], Change: r.Change, Reason: r.Why, Source: r.Source,
		})
	}
	return doc
}

// shortName is a setting as people know it, with its device:
// "net.ipv4.tcp_rmem", "link.mtu@eth0". --set takes it back.
func shortName(setting, device string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(setting, "linux."), "sysctl.")
	if device != "" {
		name += "@" + device
	}
	return name
}

// pathLine words the path.
func pathLine(p pathView) string {
	var parts []string
	if p.Peer != "" {
		parts = append(parts, "to "+p.Peer)
	}
	if p.Dev != "" {
		parts = append(parts, "by "+p.Dev)
	}
	where := strings.Join(parts, " ")
	rate, rtt := "rate not known", "round trip not known (--to PEER measures it, --rtt states it)"
	if p.RateBPS != nil {
		rate = unit.BitRate(*p.RateBPS).String() + inBrackets(p.RateFrom)
	}
	if p.rtt > 0 {
		rtt = "RTT " + profile.Duration(p.rtt) + inBrackets(p.RTTFrom)
	}
	return strings.TrimPrefix(where+": "+rate+", "+rtt, ": ")
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}
