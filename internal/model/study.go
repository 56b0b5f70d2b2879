package model

import "time"

// Study is a controlled experiment and what it found: in results.json of its
// bundle, and what study show --json prints.
type Study struct {
	V        int           `json:"v"`
	Name     string        `json:"name"`
	Question string        `json:"question"`
	File     StudyFile     `json:"file"` // as it was run, defaults filled in
	Protocol string        `json:"protocol"`
	Primary  string        `json:"primary"`
	Started  time.Time     `json:"started"`
	Took     time.Duration `json:"took_ns"`
	// Runs are all that were made, in their order, also those that do not count.
	Runs        []StudyRun        `json:"runs"`
	Comparisons []StudyComparison `json:"comparisons"`
	// Discarded are the groups of runs that protocol "paper" made again.
	Discarded []StudyDiscarded `json:"discarded"`
	// Search is how design "search" came to the state that it compared; missing:
	// another design.
	Search *StudySearch `json:"search,omitempty"`
	// AA is what identical runs differ by, of each workload that had A/A blocks.
	AA []StudyAA `json:"aa"`
	// Recommended are the settings with a proven gain of the primary outcome,
	// after correction for all factors of it.
	Recommended []StudyAdvice `json:"recommended"`
	// Reverted is every change that was made, each put back unless Restored is
	// false.
	Reverted []StudyAdvice `json:"reverted"`
	Restored bool          `json:"restored"`
	Ended    string        `json:"ended"`    // why no more runs were made
	Complete bool          `json:"complete"` // every comparison came to its end
	// Assumptions are what the conclusions rest on; Threats what speaks against
	// them in this very study.
	Assumptions []string  `json:"assumptions"`
	Threats     []Warning `json:"threats"`
}

// StudyNotOver is Ended of a study that runs, or that was interrupted and can be resumed: whether its
// changes are in force is then not known.
const StudyNotOver = "it is not over"

// StudyVersion is the version of Study that this build writes.
const StudyVersion = 1

// StudyRun is one run of one workload in one state.
type StudyRun struct {
	N     int    `json:"n"`     // from 1, in the order they were made
	Label string `json:"label"` // of the run's samples in the bundle
	Stage string `json:"stage"` // "a/a", "search", "compare", "reference"
	Block int    `json:"block"` // from 1 within a comparison; of "paper": the group of runs
	// Factor and Level are empty for the baseline.
	Factor  string `json:"factor,omitempty"`
	Level   string `json:"level,omitempty"`
	Against string `json:"against,omitempty"` // of a baseline run: "factor level" that it stands beside
	// Levels are the levels of all factors that are not at their baseline, by
	// factor: of designs that vary several at once; Factor is then empty.
	Levels map[string]string `json:"levels,omitempty"`
	// Steps is how many steps of the file's baseline were in force.
	Steps    int           `json:"steps,omitempty"`
	Workload string        `json:"workload"`
	Started  time.Time     `json:"started"`
	Took     time.Duration `json:"took_ns"` // overhead included
	// Value is the outcome, in Unit ("bit/s", "1/s"). null: the run failed.
	Value *float64 `json:"value"`
	Unit  string   `json:"unit"`
	// Counted: it entered a comparison. Why says what kept it out.
	Counted bool   `json:"counted"`
	Why     string `json:"why,omitempty"`
	// Effective: the treatment was seen in force during the run; null: not checked,
	// or nothing was changed.
	Effective *bool `json:"effective,omitempty"`
	// Retransmitted is the share of segments that were sent again; null: not seen.
	Retransmitted *float64 `json:"retransmitted"`
	// CPU is the busy share of each host's cores, 0..1, by host; Softirq the part
	// of it in interrupts. What several hosts share is marked in Scope.
	CPU     map[string]float64 `json:"cpu,omitempty"`
	Softirq map[string]float64 `json:"softirq,omitempty"`
	Scope   string             `json:"scope,omitempty"` // "machine" where CPU is of all hosts together
	// PerCore is the busy share of each core, by host.
	PerCore map[string][]float64 `json:"per_core,omitempty"`
	// PerSecond is the outcome in each second, in Unit.
	PerSecond []float64 `json:"per_second,omitempty"`
	// PerFrame is the outcome of each frame of a stream, in Unit; of several streams,
	// and where FramesEach is more than one of so many frames, the slowest; 0: one was
	// dropped.
	PerFrame   []float64 `json:"per_frame,omitempty"`
	FramesEach int       `json:"per_frame_each,omitempty"`
	// PerClient is the outcome of each client, by host.
	PerClient map[string]float64 `json:"per_client,omitempty"`
	// Latency from the intended start; 0: not measured.
	P50      time.Duration `json:"p50_ns,omitempty"`
	P99      time.Duration `json:"p99_ns,omitempty"`
	Max      time.Duration `json:"max_ns,omitempty"`
	Warnings []Warning     `json:"warnings,omitempty"`
}

// Conclusions of a comparison.
const (
	StudyGain         = "gain"
	StudyLoss         = "loss"
	StudyNoEffect     = "no effect above margin" // the whole interval lies within the margin
	StudyUndecided    = "undecided"              // neither shown nor excluded
	StudyNotInForce   = "not in force"           // the treatment did not take effect
	StudyNotTried     = "not tried"
	StudyInForce      = "in force already"  // before anything was changed: not compared
	StudyNotConverged = "runs never agreed" // of "paper"
)

// StudyComparison is what was found of one level of one factor on one workload.
type StudyComparison struct {
	Factor     string        `json:"factor"`
	Level      string        `json:"level"`
	Workload   string        `json:"workload"`
	Primary    bool          `json:"primary"` // false: exploratory
	N          int           `json:"n"`       // blocks, or of "paper" runs kept
	Made       int           `json:"made"`    // runs made for it, counted or not
	Took       time.Duration `json:"took_ns"`
	Baseline   float64       `json:"baseline"` // mean outcome beside it, in Unit
	Treated    float64       `json:"treated"`
	Unit       string        `json:"unit"`
	Ratio      *float64      `json:"ratio"` // treated over baseline; null: nothing to divide by
	CILow      *float64      `json:"ci_low"`
	CIHigh     *float64      `json:"ci_high"`   // null: unbounded, or of "paper"
	P          *float64      `json:"p"`         // of this comparison alone; null of "paper"
	PHolm      *float64      `json:"p_holm"`    // after correction; null: exploratory
	Effective  *bool         `json:"effective"` // the treatment was seen in force; null: not looked
	Conclusion string        `json:"conclusion"`
	Why        string        `json:"why,omitempty"`
	// Smallest is the smallest ratio that so many blocks would have shown nine
	// times in ten.
	Smallest *float64 `json:"smallest"`
}

// StudyAA is what two identical runs in a row differ by: what the path does by
// itself.
type StudyAA struct {
	Workload string   `json:"workload"`
	N        int      `json:"n"`     // A/A blocks
	Ratio    *float64 `json:"ratio"` // second over first run, on average; null: a run moved nothing
	P        *float64 `json:"p"`     // that the order makes no difference
	// Noise is the relative standard deviation of a single run, as the blocks show
	// it: without what drifts slowly. null: fewer than two blocks.
	Noise *float64 `json:"noise"`
	// Looks are what the planned looks of one comparison show at this noise.
	Looks []StudyPlanLook `json:"looks"`
}

// StudyDiscarded is a group of runs that did not agree.
type StudyDiscarded struct {
	Factor   string    `json:"factor"`
	Level    string    `json:"level"`
	Workload string    `json:"workload"`
	Runs     []int     `json:"runs"` // StudyRun.N
	Values   []float64 `json:"values"`
	RSD      float64   `json:"rsd"`
}

// StudyAdvice is one setting with what it was and what it should be.
type StudyAdvice struct {
	Host    string `json:"host"`
	Setting string `json:"setting"` // empty: Instruct
	Target  string `json:"target,omitempty"`
	Default string `json:"default"` // the kernel's own; empty: not known
	Before  string `json:"before"`
	Value   string `json:"value"`
	// Instruct is an operator's change.
	Instruct string `json:"instruct,omitempty"`
	Factor   string `json:"factor"`
	Why      string `json:"why"`
}

// StudySearch is a search over the levels of a study's factors.
type StudySearch struct {
	Steps []StudySearchStep `json:"steps"` // in their order
	// Found is the level of each factor that is not at its baseline, by factor:
	// what was then compared with the baseline. Empty: the search is not over, or
	// nothing was better by more than the margin.
	Found map[string]string `json:"found"`
	Over  bool              `json:"over"`
}

// StudySearchStep is one step of a search: all factors together, or one of them.
type StudySearchStep struct {
	Factor string             `json:"factor,omitempty"` // missing: all together
	States []StudySearchState `json:"states"`           // the one nearest to the baseline first
}

// StudySearchState is one state that a step of a search measured.
type StudySearchState struct {
	Levels map[string]string `json:"levels"` // by factor; empty: the baseline
	Runs   int               `json:"runs"`
	Value  float64           `json:"value"` // geometric mean of their outcomes, in Unit
	Unit   string            `json:"unit"`
	Found  bool              `json:"found"`            // the step went on from it
	Barred string            `json:"barred,omitempty"` // why it was taken out
}
