package host

import (
	"net/netip"
	"time"

	"github.com/creachadair/jrpc2"

	"linerate/internal/kernel"
	"linerate/internal/load"
	"linerate/internal/load/storage"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/probe"
	"linerate/internal/tune"
)

// Protocol is the version of the agent's protocol; both ends must have the same.
const Protocol = 1

// Methods of an agent, each with its parameters and result.
const (
	methodHello        = "hello"            // none → Hello
	methodClock        = "clock"            // none → clockResult
	methodFacts        = "facts"            // factsParams → model.Facts
	methodThermal      = "thermal"          // none → model.Thermal
	methodFiles        = "files"            // none → model.HostFiles
	methodRead         = "setting.read"     // readParams → readResult
	methodApply        = "plan.apply"       // model.Plan → tune.Result
	methodUndo         = "plan.undo"        // tune.UndoRequest → tune.Result
	methodConfirm      = "plan.confirm"     // planParams → none
	methodPersist      = "plan.persist"     // persistParams → []tune.FileChange
	methodPlanFiles    = "plan.files"       // model.Plan → []tune.FileChange
	methodWaiting      = "plan.waiting"     // none → waitingResult
	methodProbe        = "path.probe"       // probeParams → none
	methodJournal      = "journal.open"     // none → []tune.Entry
	methodHistory      = "journal.history"  // none → []tune.Entry
	methodLeave        = "leave"            // none → tune.LeaveResult
	methodSample       = "sample.start"     // sampleParams → idResult
	methodSampleStop   = "sample.stop"      // idParams → sampledResult
	methodWorker       = "worker.start"     // workerParams → startedResult
	methodConnected    = "worker.connected" // idParams → load.Event
	methodGo           = "worker.go"        // idParams → none
	methodWait         = "worker.wait"      // idParams → load.Result
	methodWorkerStop   = "worker.stop"      // idParams → none
	methodProbeOpen    = "probe.open"       // probe.Spec → openedResult
	methodProbeSend    = "probe.send"       // sendProbeParams → probe.Sent
	methodProbeAwait   = "probe.await"      // awaitProbeParams → probe.Heard
	methodProbeEcho    = "probe.echo"       // echoProbeParams → rttResult
	methodProbeClose   = "probe.close"      // idParams → none
	methodToward       = "path.toward"      // towardParams → probe.Toward
	methodSwitch       = "switch.hear"      // hearParams → Plugged
	methodStorage      = "storage.start"    // storage.Task → idResult
	methodStorageEvent = "storage.event"    // eventParams → storage.Event
	methodStorageArm   = "storage.arm"      // armParams → none
	methodStorageSeen  = "storage.seen"     // idParams → storage.Work
	methodStorageStop  = "storage.stop"     // idParams → none
	methodStorageEnd   = "storage.end"      // idParams → none
	notifySample       = "sample"           // samplePush, from the agent
)

// codeNotInForce marks a *tune.NotInForceError, which is the error's data: a
// treatment without effect is an outcome of a study, not a failure of it.
const codeNotInForce jrpc2.Code = 1

// codeUnreached marks a *load.UnreachedError, which is the error's data: it is
// diagnosed, not reported.
const codeUnreached jrpc2.Code = 2

// codeRefused marks a *load.RefusedError, which is the error's data: to ask again
// would change nothing.
const codeRefused jrpc2.Code = 3

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

type planParams struct {
	Plan string `json:"plan"`
}

type persistParams struct {
	Plan string `json:"plan"`
	Dry  bool   `json:"dry,omitempty"`
}

// probeParams ask for packets of Size octets that nobody may fragment.
type probeParams struct {
	To   netip.Addr `json:"to"`
	Size int        `json:"size"`
}

// waitingResult is the plan that waits for its confirmation, if one does.
type waitingResult struct {
	Waiting *tune.Waiting `json:"waiting,omitempty"`
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

// openedResult is an open probe, and the port that it hears on.
type openedResult struct {
	ID   int    `json:"id"`
	Port uint16 `json:"port"`
}

type sendProbeParams struct {
	ID    int         `json:"id"`
	Batch probe.Batch `json:"batch"`
}

type awaitProbeParams struct {
	ID    int         `json:"id"`
	Await probe.Await `json:"await"`
}

type echoProbeParams struct {
	ID   int        `json:"id"`
	Echo probe.Echo `json:"echo"`
}

type rttResult struct {
	RTT model.RTT `json:"rtt"`
}

// eventParams ask for the first event of one of these kinds in a phase, or for
// the one that tells that there will be none.
type eventParams struct {
	ID    int          `json:"id"`
	Kind  storage.Kind `json:"kind"`
	Phase int          `json:"phase"`
}

// armParams have a phase begin at an instant of the agent's clock.
type armParams struct {
	ID int       `json:"id"`
	At time.Time `json:"at"`
}

type hearParams struct {
	For time.Duration `json:"for"` // 0: tell the hardware addresses alone
}

// Plugged is what can be heard of the switches that a host is plugged into.
type Plugged struct {
	Heard []kernel.Heard    `json:"heard"`
	MACs  map[string]string `json:"macs"` // by interface
	// Denied says what privilege was missing to hear.
	Denied string `json:"denied,omitempty"`
}

type towardParams struct {
	From netip.Addr `json:"from"`
	To   netip.Addr `json:"to"`
}
