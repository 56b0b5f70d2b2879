package explain

import (
	"fmt"
	"math"
	"time"

	"linerate/internal/model"
)

const (
	// fullWatch is how long a transfer has to be watched to see more than its
	// start-up, the recovery from one loss, or a neighbour's burst: a CUBIC sender
	// is back at its window 4 s after a loss at 1 Gbit/s and 1 ms, later on longer
	// paths (RFC 9438, section 4.2: K = ∛((1 − 0.7) W/0.4), W = 86 segments).
	fullWatch = 5 * time.Second
	// briefCap caps the confidence of a watch of no time; each second up to
	// fullWatch adds briefPerSecond to that cap.
	briefCap       = 0.35
	briefPerSecond = 0.10
	// unseenTaskCap caps the confidence in a lack of CPU when no task was seen to
	// wait for one.
	unseenTaskCap = 0.50
)

// narrow lowers the confidence of a verdict from one end, and notes the reason: the
// watch was brief, or a lack of CPU is named and no program was seen to lack it.
func narrow(v *model.Verdict, c Case) {
	end := c.Sender
	if end == nil {
		end = c.Receiver
	}
	if !c.OneEnd || end == nil || v.Limiter == model.Undetermined || len(end.Samples) == 0 {
		return
	}
	// The first sample is a moment after the start, the last one before the end.
	if d := (end.Samples[len(end.Samples)-1].At - end.Samples[0].At).Round(time.Second); d < fullWatch {
		most := math.Round(100*(briefCap+briefPerSecond*max(0, d.Seconds()))) / 100
		atMost(v, most, fmt.Sprintf("watched for %s only: what comes and goes more slowly is not seen; watch for %s or more (--for 12s) to be surer", seconds(d.Seconds()), fullWatch))
	}
	if (v.Limiter == model.ReceiverCPU || v.Limiter == model.SenderCPU) && !hasTasks(end) {
		atMost(v, unseenTaskCap, "no program of these connections was seen to wait for a CPU: what fills the cores may take nothing from them")
	}
}

func hasTasks(e *End) bool {
	for _, s := range e.Samples {
		if len(s.Tasks) > 0 {
			return true
		}
	}
	return false
}

// atMost caps the confidence, of the first cause too, and says why.
func atMost(v *model.Verdict, most float64, why string) {
	v.Confidence = min(v.Confidence, most)
	if len(v.Causes) > 0 {
		v.Causes[0].Confidence = min(v.Causes[0].Confidence, most)
	}
	v.Notes = append(v.Notes, why)
}
