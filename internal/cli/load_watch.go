package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app/load"
	"linerate/internal/failure"
	"linerate/internal/report/document"
)

// loadExtras are what can be asked of a load beside the load.
type loadExtras struct {
	every   time.Duration
	require []string
	checks  []load.Requirement
}

// flags adds them to a command; tcp: of a load that has no requests.
func (x *loadExtras) flags(cmd *cobra.Command, tcp bool) {
	timeFlag(cmd, &x.every, "interval", "print figures on stderr every so often, e.g. 1s; with --json one JSON object per line")
	such := "p99<5ms, iops>1000, rate>500MB/s or failed<1"
	if tcp {
		such = "rate>9Gbit"
	}
	cmd.Flags().StringArrayVar(&x.require, "require", nil, "end with exit code 5 unless the load met this condition, such as "+such+"; may be repeated")
}

const (
	shortestInterval = 100 * time.Millisecond
	longestInterval  = time.Hour
)

// read checks what was typed.
func (x *loadExtras) read(tcp bool) error {
	if x.every != 0 && (x.every < shortestInterval || x.every > longestInterval) {
		return failure.Of(failure.Usage, "--interval %v: want %v to %v", x.every, shortestInterval, longestInterval)
	}
	for _, text := range x.require {
		r, err := load.ParseRequirement(text, tcp)
		if err != nil {
			return failure.Of(failure.Usage, "--%w", err)
		}
		x.checks = append(x.checks, r)
	}
	return nil
}

// intervals is the progress of a load whose parts are told one by one.
type intervals struct {
	*progress
	every time.Duration
	json  bool
}

// Every implements load.Watcher.
func (p *intervals) Every() time.Duration { return p.every }

// Interval implements load.Watcher.
func (p *intervals) Interval(i load.Interval) {
	if !p.json {
		p.Say("%s at %v: %v", i.Work, i.At.Round(100*time.Millisecond), i)
		return
	}
	line, err := json.Marshal(i)
	if err != nil {
		p.Say("interval at %v: %v", i.At, err)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.w, "%s\n", line)
}

// saidSections are doubts about a load as a whole, and what it was to reach.
func saidSections(v load.Value) (out []document.Section) {
	doubts, checks := v.Said()
	for _, text := range doubts {
		out = append(out, document.Paragraph("warning: "+text))
	}
	if len(checks) == 0 {
		return out
	}
	t := document.Table{Head: document.Columns("Required", "Run", "#Measured", "")}
	for _, c := range checks {
		t.Row(c.Require, c.Of, dashed(c.Measured), map[bool]string{false: "NOT met", true: "met"}[c.Met])
	}
	return append(out, document.Section{Blocks: []document.Block{t.Block()}})
}

// unmet is the end of a load that did not reach what it was to; nil: it did.
func unmet(v load.Value) error {
	_, checks := v.Said()
	var missed []string
	for _, c := range checks {
		if !c.Met {
			missed = append(missed, fmt.Sprintf("%s (measured %s)", c.Require, dashed(c.Measured)))
		}
	}
	if len(missed) == 0 {
		return nil
	}
	return failure.Of(failure.Found, "the load did not reach what was required: %s", strings.Join(missed, "; "))
}
