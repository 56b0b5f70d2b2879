package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app/load"
	"linerate/internal/failure"
	"linerate/internal/unit"
)

// secondsFlag is a duration typed as a plain number of seconds.
type secondsFlag struct{ to *time.Duration }

func (s secondsFlag) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v <= 1e6) {
		return fmt.Errorf("%q is no number of seconds above 0", text)
	}
	*s.to = time.Duration(v * float64(time.Second))
	return nil
}
func (s secondsFlag) String() string { return "" }
func (s secondsFlag) Type() string   { return "number" }

// ramFlag is what a load and its page cache may take.
func ramFlag(cmd *cobra.Command, to *unit.Bytes) {
	bytesFlag(cmd, to, "ram", "limit the memory of the load and its page cache on this host (a cgroup; needs root)")
}

// stuckFlag is how long a target may take to answer.
func stuckFlag(cmd *cobra.Command, to *time.Duration) {
	timeFlag(cmd, to, "stuck", "give up when a request has had no answer for this time, and name it; default 1m")
}

// onFlag names hosts, which onHosts reads.
func onFlag(cmd *cobra.Command, to *string, target string) {
	cmd.Flags().StringVar(to, "on", "", "hosts that make the load, e.g. client1,client2, all starting at the same instant; "+target)
}

// onHosts reads --on; empty: this host. path is where the load works on each of them.
func onHosts(on, path string) ([]load.HostName, error) {
	if on == "" {
		return nil, nil
	}
	if !filepath.IsAbs(path) {
		return nil, failure.Of(failure.Usage, "--on: %s is no path on another host; begin it with /", path)
	}
	hosts, err := load.ParseHosts(on)
	var twice *load.TwiceError
	if errors.As(err, &twice) {
		err = failure.Of(failure.Usage, "--on %s: %w", on, twice)
	}
	return hosts, err
}
