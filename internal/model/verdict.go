package model

import "linerate/internal/unit"

// Where names the place of a limiter.
type Where string

// The places of the limiter vocabulary.
const (
	AtSender      Where = "sender"
	AtReceiver    Where = "receiver"
	AtPath        Where = "path"
	AtServer      Where = "server storage"
	AtApplication Where = "application"
	Nowhere       Where = "none"
)

// FixKind tells who can remove a limiter.
type FixKind string

// A setting is applied, proved and undone by linerate; an operator is told
// what to do; for none there is nothing to be done.
const (
	FixSetting  FixKind = "setting"
	FixOperator FixKind = "operator"
	FixNone     FixKind = "none"
)

// Fix is what would remove the limiter. Setting, Host, From and To are set
// for FixSetting only.
type Fix struct {
	Kind    FixKind `json:"kind"`
	Setting string  `json:"setting"`
	Target  string  `json:"target,omitempty"` // device of a per-device setting, as NIC.Device
	Host    string  `json:"host"`
	From    string  `json:"from"`
	To      string  `json:"to"`
	Advice  string  `json:"advice"`
	// Because is the observation that the advice follows from.
	Because string `json:"because,omitempty"`
}

// Gain is the goodput expected once the limiter is gone, as a range, and the
// mechanism that bounds it.
type Gain struct {
	Low  unit.BitRate `json:"low_bps"`
	High unit.BitRate `json:"high_bps"`
	Why  string       `json:"why"`
}

// Evidence is one observation that speaks for (or against) a verdict.
type Evidence struct {
	What   string  `json:"what"`   // one line for people
	Metric string  `json:"metric"` // machine name, e.g. "rwnd_limited_share"
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Host   string  `json:"host"`
	N      int     `json:"n"`               // samples behind it
	Scope  string  `json:"scope,omitempty"` // "machine" where it cannot be attributed to the host alone
}

// Verdict is the diagnosis in the words of the limiter vocabulary.
type Verdict struct {
	Limiter        LimiterID     `json:"limiter"`
	Where          Where         `json:"where"`
	Host           string        `json:"host,omitempty"`
	ShareOfCeiling *float64      `json:"share_of_ceiling"` // null: the ceiling is not known
	Ceiling        *unit.BitRate `json:"ceiling_bps"`
	Measured       unit.BitRate  `json:"measured_bps"`
	Confidence     float64       `json:"confidence"` // 0..1
	Line           string        `json:"line"`       // the verdict in one sentence
	Evidence       []Evidence    `json:"evidence"`
	Fix            Fix           `json:"fix"`
	ExpectedGain   *Gain         `json:"expected_gain"`
	// Causes are all limiters that were found, in the order in which they
	// bind; the first is Limiter. Empty when none was named.
	Causes    []Cause    `json:"causes"`
	NextLimit *NextLimit `json:"next_limit"` // null: not known
	Probe     *Probe     `json:"probe"`      // null: nothing is confused with it
	// Alternatives are limiters that the evidence does not tell from the
	// named one, each with the probe that would.
	Alternatives []Alternative `json:"alternatives,omitempty"`
	// Account of what is missing; nil where no ceiling is known, next to nothing is
	// missing, or the sending end was not seen.
	Account *Account `json:"account,omitempty"`
	// Contradictions are signs that the limiter does not cause and yet were seen,
	// and signs that it causes and were not. Any of them caps the confidence.
	Contradictions []Contradiction `json:"contradictions,omitempty"`
	CouldNotSee    []Blind         `json:"could_not_see,omitempty"`
	Notes          []string        `json:"notes,omitempty"`
}

// Account is what the ceiling allows and the path did not carry, split by what the
// connections were doing when it was missing.
type Account struct {
	Missing unit.BitRate  `json:"missing_bps"`
	Parts   []AccountPart `json:"parts"` // the largest first; they add up to Missing
	// Unexplained is the sum of the parts that no limiter of the verdict causes.
	Unexplained unit.BitRate `json:"unexplained_bps"`
	Closes      bool         `json:"closes"` // at most 15% is not explained
}

// AccountPart is what is missing while the connections were in one state.
type AccountPart struct {
	What    string       `json:"what"`
	Rate    unit.BitRate `json:"bps"`
	Limiter LimiterID    `json:"limiter,omitempty"` // of the verdict that causes it; empty: none does
}

// Contradiction is one sign that speaks against a verdict.
type Contradiction struct {
	Sign    Sign   `json:"sign"`
	Missing bool   `json:"missing"` // it had to be seen and was not
	What    string `json:"what"`    // one line for people
}

// Alternative is another limiter that would look the same.
type Alternative struct {
	Limiter LimiterID `json:"limiter"`
	Probe   string    `json:"probe"`
}

// Rung is one step of the ladder. Ceiling is what facts alone allow; Predicted
// is the least of what facts and the rungs below allow, computed before the
// rung was measured and kept as it was then. nil is not known.
type Rung struct {
	Rung          string        `json:"rung"`
	Ceiling       *unit.BitRate `json:"ceiling_bps"`
	Formula       string        `json:"formula"`
	Predicted     *unit.BitRate `json:"predicted_bps"`
	PredictedFrom string        `json:"predicted_from,omitempty"` // with the numbers in it
	Measured      *unit.BitRate `json:"measured_bps"`
	Seen          bool          `json:"seen"`
	Method        string        `json:"method,omitempty"` // of a measured rung: what was run
	How           string        `json:"how,omitempty"`    // for an unseen rung: the step that would reveal it
	// Tried: the rung was to be measured; How says what kept it from being.
	Tried bool `json:"tried,omitempty"`
}

// Proof is the outcome of interleaved pairs: treatment over baseline.
type Proof struct {
	Pairs     int            `json:"pairs"`
	Looks     []int          `json:"looks,omitempty"` // pairs after which it might end, planned beforehand; absent: after Pairs alone
	Ratio     *float64       `json:"ratio"`           // geometric mean; null when a baseline moved nothing
	CILow     *float64       `json:"ci_low"`
	CIHigh    *float64       `json:"ci_high"`
	P         float64        `json:"p"`
	AARatio   *float64       `json:"aa_ratio"`
	AAPairs   int            `json:"aa_pairs"`
	AAP       float64        `json:"aa_p"`
	Effect    string         `json:"effect"` // "gain", "loss", "no effect", "not in force"; with looks also StudyNoEffect and StudyUndecided
	By        string         `json:"by"`     // "linerate", or "lab operator" where the lab played the operator
	Treatment string         `json:"treatment"`
	Baseline  []unit.BitRate `json:"baseline_bps"`
	Treated   []unit.BitRate `json:"treated_bps"`
	AA        []unit.BitRate `json:"aa_bps,omitempty"` // A1 B1 A2 B2 …
	Warnings  []string       `json:"warnings,omitempty"`
}

// Warning is a doubt about a result, as data.
type Warning struct {
	ID       string `json:"id"`
	What     string `json:"what"`
	Evidence string `json:"evidence,omitempty"`
	Next     string `json:"next"`
}

// Outcome is what demo and explain conclude: results.json of a bundle, and
// the --json contract of both commands.
type Outcome struct {
	V        int       `json:"v"`
	Verdict  Verdict   `json:"verdict"`
	Ladder   []Rung    `json:"ladder"`
	Proof    *Proof    `json:"proof"`
	Restored bool      `json:"restored"`
	Report   string    `json:"report"`
	Warnings []Warning `json:"warnings"`
	// Steps are what a fix tried, in order, and Ended why it tried no more. All
	// that was not kept was put back.
	Steps []FixStep `json:"steps,omitempty"`
	Ended string    `json:"ended,omitempty"`
}

// FixStep is one limiter that a fix met, and the change that it tried.
type FixStep struct {
	Verdict Verdict `json:"verdict"`
	Change  *Change `json:"change"` // null: none was tried
	Host    string  `json:"host,omitempty"`
	Proof   *Proof  `json:"proof"`
	// Plan is the id by which a kept change is undone.
	Plan string `json:"plan,omitempty"`
	Kept bool   `json:"kept"`
	Why  string `json:"why"` // it was kept, put back, or not tried
}

// OutcomeVersion is the version of Outcome that this build writes.
const OutcomeVersion = 1
