package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// netemResult is what one pass of the loop over a netem link gave.
type netemResult struct {
	Expected model.LimiterID `json:"expected"`
	Topology string          `json:"topology"`
	Verdict  model.Verdict   `json:"verdict"`
	Goodput  unit.BitRate    `json:"goodput_bps"`
	MinRTT   time.Duration   `json:"min_rtt"`
	// Lost is the share of data segments that were sent again.
	Lost    float64  `json:"lost"`
	LeftOut []string `json:"left_out"`
	Error   string   `json:"error,omitempty"`
}

// runNetem boots one kernel and has it run the lab, with netem for a link,
// once per fault.
func runNetem(ctx context.Context, o options, work string) error {
	m, err := boot(ctx, work, "lab", "", 1024)
	if err != nil {
		return err
	}
	defer m.halt()
	if err := m.call(ctx, "modules", []string{"veth", "bridge", "sch_netem", "sch_tbf"}, nil); err != nil {
		return err
	}
	rate, err := unit.ParseBitRate(o.rate)
	if err != nil {
		return fmt.Errorf("-rate: %w", err)
	}
	fmt.Printf("%-10s %9s %9s %8s  %-5s  %s\n", "fault", "goodput", "min RTT", "resent", "", "verdict")
	failed := 0
	for _, fault := range list(o.faults) {
		res, err := m.netemPass(ctx, work, fault, rate)
		if err != nil {
			return err
		}
		if !res.print(fault) {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d faults were not named", failed, len(list(o.faults)))
	}
	return nil
}

func (m *machine) netemPass(ctx context.Context, work, fault string, rate unit.BitRate) (netemResult, error) {
	var res netemResult
	var run runResult
	name := "netem-" + fault
	argv := []string{guestBin + "/kernelhost", labArg, fault, strconv.FormatFloat(float64(rate), 'f', 0, 64)}
	if err := m.call(ctx, "run", runArgs{Name: name, Argv: argv, Timeout: 90 * time.Second}, &run); err != nil {
		return res, err
	}
	b, err := os.ReadFile(filepath.Join(work, name+".out"))
	if err != nil {
		return res, err
	}
	if err := json.Unmarshal(b, &res); err != nil {
		said, _ := os.ReadFile(filepath.Join(work, name+".err")) // it only explains the error
		return res, fmt.Errorf("fault %s: exit %d, said %q: %w", fault, run.Exit, said, err)
	}
	return res, nil
}

func (r netemResult) print(fault string) bool {
	right := r.Error == "" && r.Verdict.Limiter == r.Expected
	mark := map[bool]string{true: "right", false: "WRONG"}[right]
	said := r.Verdict.Line
	if r.Error != "" {
		said = r.Error
	}
	fmt.Printf("%-10s %9s %9s %7.3f%%  %-5s  %s\n", fault, rate(float64(r.Goodput)), r.MinRTT.Round(10*time.Microsecond), r.Lost*100, mark, said)
	return right
}
