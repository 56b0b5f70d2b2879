package guide

import (
	"context"
	"slices"
	"time"

	"linerate/internal/failure"
	catalogue "linerate/internal/guide"
	"linerate/internal/model"
	"linerate/internal/unit"
)

// Setting is an entry of the catalogue with what is known beside it: the advice,
// and its value on this host.
type Setting struct {
	catalogue.Setting
	Advice    []catalogue.Mention  `json:"advice"`
	Conflicts []catalogue.Conflict `json:"conflicts,omitempty"`
	// Running are the values here, by device where it has any; Current that of
	// a sysctl; SetBy the lines of this host's files that set it.
	Running []model.Running  `json:"running,omitempty"`
	Current string           `json:"current,omitempty"`
	SetBy   []catalogue.Item `json:"set_by"`
	ShownBy string           `json:"shown_by,omitempty"` // command that shows it
	// Kernel is the release whose default Default is; both empty: not known.
	Kernel  string             `json:"kernel,omitempty"`
	Default *catalogue.Default `json:"default,omitempty"`
	Also    []string           `json:"also,omitempty"` // other settings of that name
	ForPath *PathValue         `json:"for_path,omitempty"`
}

// PathValue is a value worked out for a path.
type PathValue struct {
	RateBPS float64       `json:"rate_bps"`
	RTT     time.Duration `json:"rtt"`
	Value   string        `json:"value"`
	Default bool          `json:"is_default"` // the default reaches that far
}

// ReadSetting reads this host for the first of the settings that were found by a
// name. Where the host cannot be read, the entry is all there is.
func ReadSetting(ctx context.Context, found []catalogue.Setting) Setting {
	s := found[0]
	v := Setting{Setting: s, ShownBy: s.ShownBy(), SetBy: []catalogue.Item{}}
	v.Advice = append([]catalogue.Mention{}, catalogue.AdviceOn(s.ID)...)
	for _, c := range catalogue.Conflicts() {
		if slices.Contains(c.Settings, s.ID) {
			v.Conflicts = append(v.Conflicts, c)
		}
	}
	for _, other := range found[1:] {
		v.Also = append(v.Also, other.ID)
	}
	host, err := FilesHere(ctx)
	if err != nil {
		return v // a system without such files
	}
	v.Running = catalogue.Current(host, s)
	if len(v.Running) == 1 && v.Running[0].Device == "" {
		v.Current = v.Running[0].Value
	}
	for _, it := range catalogue.Audit(host).Items {
		if it.Setting == s.ID {
			v.SetBy = append(v.SetBy, it)
		}
	}
	if release, err := catalogue.ParseRelease(host.Kernel); err == nil && s.OS() == "linux" {
		if d, ok := s.DefaultOn(release); ok {
			v.Kernel, v.Default = host.Kernel, &d
		}
	}
	return v
}

// WorkOut works the value out for one connection over a path of this rate and round
// trip.
func (v *Setting) WorkOut(rate unit.BitRate, rtt time.Duration) error {
	d := v.Defaults[len(v.Defaults)-1]
	if v.Default != nil {
		d = *v.Default
	}
	value, ok := v.ValueFor(d, rate, rtt)
	if !ok {
		return failure.Of(failure.Usage, "work out a value: %s has none that follows from a rate and a round trip; its rule is: %s", v.ID, v.Value)
	}
	if n := v.Connections(rate, rtt); n > 1 {
		return failure.Of(failure.Usage, "work out a value: one connection cannot fill that path, which takes a window of more than 1 GiB or a buffer of more than %d B: give the rate of one of %d connections or more", v.Largest(), n)
	}
	v.ForPath = &PathValue{RateBPS: float64(rate), RTT: rtt, Value: value, Default: value == d.Value}
	return nil
}
