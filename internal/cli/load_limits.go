package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/load/block"
	"linerate/internal/load/storage"
	"linerate/internal/unit"
)

// ramFlag is what a load and its page cache may take.
func ramFlag(cmd *cobra.Command, to *unit.Bytes) {
	blockFlag(cmd, to, "ram", "the memory that the load and this host's page cache for it have at most (a control group; as root)")
}

// loadRateFlag takes rates as load generators do, too: 5g is 5 Gbit/s, as for iperf3.
func loadRateFlag(cmd *cobra.Command, to *unit.BitRate, name, help string) {
	quantityFlag(cmd, &quantity[unit.BitRate]{to: to, kind: "rate", parse: positive(parseLoadRate)}, name, help)
}

func parseLoadRate(text string) (unit.BitRate, error) {
	letters := map[string]string{"k": "kbit", "m": "Mbit", "g": "Gbit"}
	if n := len(text); n > 1 {
		if u := letters[strings.ToLower(text[n-1:])]; u != "" {
			text = text[:n-1] + u
		}
	}
	return unit.ParseBitRate(text)
}

// limited are the hooks of a load whose memory is limited, 0: not. unlimited ends that;
// it is never nil where err is.
func (p *progress) limited(ram unit.Bytes) (h storage.Hooks, unlimited func() error, err error) {
	h = p.hooks()
	if ram == 0 {
		return h, func() error { return nil }, nil
	}
	m, err := storage.LimitMemory(ram)
	if err != nil {
		return h, nil, err
	}
	h.Memory = m.Seen
	return h, m.End, nil
}

// stuckFlag is how long a target may take to answer.
func stuckFlag(cmd *cobra.Command, to *time.Duration) {
	timeFlag(cmd, to, "stuck", "give up when the target has not answered a request for so long, and say which; default 1m")
}

// interruptedLoad is the end of a load by Ctrl-C: it has changed no setting, and
// what it has written cannot be taken back. A load that ended by itself gets what to
// do about a target that does not answer.
func interruptedLoad(ctx context.Context, err error, path string, wrote bool) error {
	if ctx.Err() == nil {
		return adviseStuck(err)
	}
	stays := "nothing was written"
	if wrote {
		stays = "what was written to " + path + " stays"
	}
	var stuck *block.StuckError
	if errors.As(err, &stuck) {
		stays += fmt.Sprintf(" (%v)", stuck)
	}
	return failure.Of(failure.Interrupted, "interrupted; %s", stays)
}

// adviseStuck says what to do about a target that does not answer.
func adviseStuck(err error) error {
	var stuck *block.StuckError
	if !errors.As(err, &stuck) {
		return err
	}
	return fmt.Errorf("%w; see whether its server and the path to it are up (a hard NFS mount and an iSCSI disk wait for them, and the kernel may keep this program until they are back); what it had acknowledged is what load verify can find again", err)
}
