package model

import "time"

// StudyPlan is what a study would do, before it does anything: what study plan
// --json prints.
type StudyPlan struct {
	V        int    `json:"v"`
	Name     string `json:"name"`
	Question string `json:"question"`
	Protocol string `json:"protocol"`
	Design   string `json:"design"`
	Primary  string `json:"primary"`
	// Noise is the relative standard deviation of single runs that Smallest is
	// worked out for; NoiseFrom says where it is from.
	Noise     float64            `json:"noise"`
	NoiseFrom string             `json:"noise_from"`
	Cases     []StudyPlanCase    `json:"cases"` // in the order of the file
	Looks     []StudyPlanLook    `json:"looks"`
	Changes   []StudyPlanChange  `json:"changes"`
	Operator  []StudyPlanHands   `json:"operator"` // what hands do
	Budget    time.Duration      `json:"budget_ns"`
	Least     time.Duration      `json:"least_ns"` // when every comparison ends at its first look (of "paper": every first group agrees)
	Most      time.Duration      `json:"most_ns"`  // when every one needs its last
	LeastRuns int                `json:"least_runs"`
	MostRuns  int                `json:"most_runs"`
	Within    StudyPlanWithin    `json:"within"`
	Problems  []StudyPlanProblem `json:"problems"`
	// Looked are the hosts whose facts the plan was checked against.
	Looked []string `json:"looked"`
}

// StudyPlanVersion is the version of StudyPlan that this build writes.
const StudyPlanVersion = 1

// StudyPlanCase is one thing that blocks of runs are made for.
type StudyPlanCase struct {
	Name      string        `json:"name"` // "A/A", "FACTOR LEVEL", "12 cases of 5 factors"
	Workloads []string      `json:"workloads"`
	Block     int           `json:"block"` // runs in a block (of "paper": in a group)
	Most      int           `json:"most"`  // blocks at its last look
	Hard      bool          `json:"hard,omitempty"`
	Takes     time.Duration `json:"takes_ns"` // a block
}

// StudyPlanLook is a planned look at one comparison.
type StudyPlanLook struct {
	Blocks int `json:"blocks"`
	// After is the time at which all comparisons have had it.
	After time.Duration `json:"after_ns"`
	// Smallest is the ratio that it shows nine times in ten, at Noise and after
	// correction; null: so few blocks can show nothing.
	Smallest *float64 `json:"smallest"`
}

// StudyPlanWithin is what the budget reaches.
type StudyPlanWithin struct {
	Comparisons int      `json:"comparisons"` // that get a look at all
	Of          int      `json:"of"`
	Blocks      int      `json:"blocks"`   // of the last look that all of these reach if none ends sooner
	Smallest    *float64 `json:"smallest"` // there; null: nothing can be shown
	// Enough is a budget in which every comparison gets a look that can show
	// something.
	Enough time.Duration `json:"enough_ns"`
}

// StudyPlanChange is one setting that the study changes and puts back.
type StudyPlanChange struct {
	Host    string `json:"host"`
	Setting string `json:"setting"`
	Target  string `json:"target,omitempty"` // device, as the file names it
	Now     string `json:"now"`              // empty: not read
	To      string `json:"to"`
	Factor  string `json:"factor"` // "baseline" for its steps
	Level   string `json:"level"`
	Needs   string `json:"needs,omitempty"`  // link flap, new mount …
	Cuts    bool   `json:"cuts,omitempty"`   // can cut off whoever works over the network
	Trades  string `json:"trades,omitempty"` // data safety, security
}

// StudyPlanHands is what an operator is asked to do.
type StudyPlanHands struct {
	Factor   string      `json:"factor"`
	Level    string      `json:"level"`
	Instruct string      `json:"instruct"`
	Back     string      `json:"back"`
	Verify   StudyVerify `json:"verify"`
	// Lab is what the lab does in the operator's place; empty: it takes hands.
	Lab string `json:"lab,omitempty"`
	// Times is how often in all, there and back, if no comparison ends sooner.
	Times int `json:"times"`
}

// StudyPlanProblem is something about the study that would go wrong, or that
// its user has to know.
type StudyPlanProblem struct {
	Fatal bool   `json:"fatal"`          // study run refuses to begin
	Line  int    `json:"line,omitempty"` // of the study file; 0: of none in particular
	What  string `json:"what"`
	Next  string `json:"next"`
}
