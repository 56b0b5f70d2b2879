package explain

import (
	"fmt"
	"math"
	"strings"
	"time"

	"linerate/internal/model"
	"linerate/internal/unit"
)

// scene is all a detector may look at: one flow, both hosts, the ceiling.
// snd or rcv is nil when that side of the flow was not seen.
type scene struct {
	c       *views
	flow    flow
	span    span
	minRTT  time.Duration
	snd     *sndView
	rcv     *rcvView
	sender  *hostView // nil with its End
	reader  *hostView
	ceiling float64 // bit/s of payload for all flows together; NaN: not known
	total   float64 // goodput of all flows together
	bytes   float64 // moved by this flow: its weight in the vote
	// elected is the verdict that the connections voted for; nil before the vote.
	// A scene with it is that of the calls, and has no flow.
	elected *model.Verdict
}

// atCeiling is the share of the ceiling from which a path counts as healthy.
const atCeiling = 0.9

// missing is the share of the ceiling that is not reached; 0 when unknown.
func (s *scene) missing() float64 { return over(s.total/s.ceiling, atCeiling, 0) }

// n is the number of samples behind the flow's features.
func (s *scene) n() int {
	if s.snd != nil {
		return s.snd.n
	}
	if s.rcv != nil {
		return s.rcv.n
	}
	return 0
}

// mss is the payload of a full segment; 0 when neither end told.
func (s *scene) mss() int {
	if s.snd != nil && s.snd.last.SndMSS > 0 {
		return s.snd.last.SndMSS
	}
	if s.rcv != nil {
		return s.rcv.last.RcvMSS
	}
	return 0
}

// modelBased tells whether the congestion control sets its rate by a model of
// the path rather than by losses: then losses alone do not slow it down.
func (s *scene) modelBased() bool {
	return s.snd != nil && strings.HasPrefix(s.snd.last.CC, "bbr")
}

// finding is what a detector saw when it fired.
type finding struct {
	id   model.LimiterID
	host string
	// cause tells variants of one limiter apart, for the fix.
	cause cause
	// margin is how far the deciding feature is past its threshold, 0..1.
	margin   float64
	evidence []model.Evidence
	alts     []model.Alternative
	notes    []string
	advice   string // for an operator, where more is known than the limiter's usual
	// cap is the most confidence the signature alone can carry; 0: no cap.
	cap float64
	// costs: the signature shows a fault, but only a goodput below a known ceiling
	// shows that the fault costs anything.
	costs bool
	// lift is by how much its removal raises the ceiling itself; 0: it does not.
	lift float64
	// waived are signs of the limiter's row by which this variant of it does not go.
	waived []model.Sign
	// keeps: the elected verdict stands. The evidence is added to its own, and cap
	// is the most confidence in it; 0: no cap.
	keeps bool
	// bound is the goodput of all flows together that this limiter allows,
	// bit/s; unknown where it cannot be computed. It is set by outlook alone.
	bound float64
}

// ceilingWithout is the ceiling once the limiter is gone.
func (s *scene) ceilingWithout(f *finding) float64 {
	if f.lift > 0 {
		return s.ceiling * f.lift
	}
	return s.ceiling
}

type cause string

const (
	causeSysctl     cause = "sysctl"      // the buffer is at the limit of tcp_rmem or tcp_wmem
	causeSocket     cause = "socket"      // the application fixed the buffer
	causeOpen       cause = "open"        // the buffer is small, and not pinned: why is not seen
	causeRoute      cause = "route"       // the route to the sender limits the window
	causeCapped     cause = "capped"      // the application asked for more than net.core allows
	causeAutotuning cause = "autotuning"  // tcp_moderate_rcvbuf is 0
	causeScaling    cause = "scaling"     // no window scaling
	causeUnknown    cause = "not visible" // the end that holds the buffer was not seen
	causeTx         cause = "tx"          // segmentation offload off at the sender
	causeRx         cause = "rx"          // GRO off at the receiver
	causeProbed     cause = "probed"      // MTU probing rescued the connection
	causeQuota      cause = "quota"
	causeCopies     cause = "copies"   // packets arrive twice
	causeOneCore    cause = "one core" // all packets pass one core, others idle
	causeThreads    cause = "threads"  // the kernel's NFS server has no idle thread
	causeOwnCPU     cause = "own cpu"
	causeNoCore     cause = "no core" // the whole host is out of CPU time
)

// say adds a piece of evidence; what is a format for args. A value that is
// not finite is no evidence.
func (f *finding) say(h string, metric string, v float64, u string, n int, what string, args ...any) {
	if known(v) {
		f.evidence = append(f.evidence, model.Evidence{
			What: fmt.Sprintf(what, args...), Metric: metric, Value: round(v), Unit: u, Host: h, N: n})
	}
}

// scoped marks the evidence of metric as the machine's, not the host's alone.
func (f *finding) scoped(c *views, metrics ...string) {
	if !c.oneKernel() {
		return
	}
	for i := range f.evidence {
		for _, m := range metrics {
			if f.evidence[i].Metric == m {
				f.evidence[i].Scope = "machine"
			}
		}
	}
}

func (f *finding) or(id model.LimiterID, probe string) {
	f.alts = append(f.alts, model.Alternative{Limiter: id, Probe: probe})
}

// round keeps four significant digits of a computed value: it carries no more.
// Whole numbers (buffer sizes, counts) are exact and stay so.
func round(v float64) float64 {
	if v == math.Trunc(v) || !known(v) {
		return v
	}
	p := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	if !known(p) || p == 0 || !known(v*p) {
		return v
	}
	return math.Round(v*p) / p
}

// pct prints a share; a share that is not known prints as "an unknown share".
func pct(v float64) string {
	switch {
	case !known(v):
		return "an unknown share"
	case v > 0 && v < 0.01:
		return unit.PercentDigits(v, 3)
	}
	return unit.Percent(v)
}

func size(v float64) string {
	if !known(v) || math.Abs(v) > math.MaxInt64/2 {
		return "an unknown amount"
	}
	return unit.Bytes(v).String()
}

func bits(v float64) string { return unit.BitRate(v).String() }

func ms(d time.Duration) string { return seconds(d.Seconds()) }

// seconds prints a time given in seconds with three digits, never as a power.
func seconds(s float64) string {
	switch {
	case !known(s):
		return "an unknown time"
	case math.Abs(s) >= 99.95:
		return fmt.Sprintf("%.0f s", s)
	case math.Abs(s) >= 0.9995:
		return fmt.Sprintf("%.3g s", s)
	}
	return fmt.Sprintf("%.3g ms", s*1e3)
}
