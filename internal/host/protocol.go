package host

import (
	"time"

	"github.com/creachadair/jrpc2"

	"linerate/internal/load"
	"linerate/internal/measure"
	"linerate/internal/model"
)

// Protocol is the version of the agent's protocol; both ends must have the same.
const Protocol = 1

// Methods of an agent, each with its parameters and result.
const (
	methodHello      = "hello"            // none → Hello
	methodClock      = "clock"            // none → clockResult
	methodFacts      = "facts"            // factsParams → model.Facts
	methodRead       = "setting.read"     // readParams → readResult
	methodApply      = "plan.apply"       // model.Plan → tune.Result
	methodUndo       = "plan.undo"        // undoParams → tune.Result
	methodJournal    = "journal.open"     // none → []tune.Entry
	methodSample     = "sample.start"     // sampleParams → idResult
	methodSampleStop = "sample.stop"      // idParams → sampledResult
	methodWorker     = "worker.start"     // workerParams → startedResult
	methodConnected  = "worker.connected" // idParams → load.Event
	methodGo         = "worker.go"        // idParams → none
	methodWait       = "worker.wait"      // idParams → load.Result
	methodWorkerStop = "worker.stop"      // idParams → none
	notifySample     = "sample"           // samplePush, from the agent
)

// codeNotInForce marks a *tune.NotInForceError, which is the error's data: a
// treatment without effect is an outcome of a study, not a failure of it.
const codeNotInForce jrpc2.Code = 1

// Hello is how an agent introduces itself.
type Hello struct {
	Protocol     int       `json:"protocol"`
	Build        string    `json:"build"`
	BootID       string    `json:"boot_id"` // empty where the OS has none
	UID          int       `json:"uid"`     // -1 where the OS has none
	OS           string    `json:"os"`      // GOOS word
	Arch         string    `json:"arch"`    // GOARCH word
	Capabilities []string  `json:"capabilities"`
	Clock        time.Time `json:"clock"`
}

type none struct{}

type clockResult struct {
	Now time.Time `json:"now"`
}

type factsParams struct {
	Host string `json:"host"` // what the user calls this host
}

type readParams struct {
	Setting string `json:"setting"`
	Target  string `json:"target,omitempty"`
	Like    string `json:"like,omitempty"` // names the parts to read of a value that has parts
}

type readResult struct {
	Value string `json:"value"`
}

type undoParams struct {
	Plan string `json:"plan"`
}

type idParams struct {
	ID int `json:"id"`
}

type idResult struct {
	ID int `json:"id"`
}

type sampleParams struct {
	Watch    measure.Watch `json:"watch"`
	Interval time.Duration `json:"interval"`
}

// samplePush carries sample number N of sampling ID, counted from 0.
type samplePush struct {
	ID     int          `json:"id"`
	N      int          `json:"n"`
	Sample model.Sample `json:"sample"`
}

// sampledResult tells how many samples were pushed, what could not be seen,
// and what ended the sampling before it was told to.
type sampledResult struct {
	Count int           `json:"count"`
	Blind []model.Blind `json:"blind,omitempty"`
	Error string        `json:"error,omitempty"`
}

type workerParams struct {
	Spec load.Spec `json:"spec"`
}

// startedResult is a running worker. Listening is set for a sink.
type startedResult struct {
	ID        int        `json:"id"`
	PID       int        `json:"pid"`
	Listening load.Event `json:"listening"`
}
