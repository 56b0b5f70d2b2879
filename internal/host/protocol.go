package host

import (
	"net/netip"
	"time"

	"github.com/creachadair/jrpc2"

	"linerate/internal/kernel"
	"linerate/internal/load/worker"
	"linerate/internal/measure"
	"linerate/internal/model"
	"linerate/internal/move/mover"
	"linerate/internal/probe"
	"linerate/internal/tune"
)

// Protocol is the version of the agent's protocol; both ends must have the same.
const Protocol = 9

// effect is what a method does on its host.
type effect string

const (
	reads effect = "reads" // it changes nothing
	loads effect = "loads" // it sends traffic, or starts, steers or ends a load; no setting changes
	// moves is what a copy does: it reads and writes the files that its task names.
	moves  effect = "moves"
	writes effect = "writes" // it changes settings, or the journal of what was changed
)

// patience is how long a controller waits for an answer, unless its context ends before.
type patience int

const (
	soon     patience = iota // Options.CallTimeout
	changing                 // changeTime
	open                     // as long as the context
)

// method is a method of an agent with its parameters and its result. The controller calls it
// (ask) and the agent serves it (serve) with the same types.
type method[P, R any] struct {
	name   string
	effect effect
	within patience
}

// All methods of an agent. The agent's function methods registers them.
var (
	methodHello       = method[none, Hello]{"hello", reads, soon}
	methodClock       = method[none, clockResult]{"clock", reads, soon}
	methodFacts       = method[factsParams, *model.Facts]{"facts", reads, soon}
	methodThermal     = method[none, model.Thermal]{"thermal", reads, soon}
	methodFiles       = method[none, model.HostFiles]{"files", reads, soon}
	methodRead        = method[readParams, readResult]{"setting.read", reads, soon}
	methodApply       = method[model.Plan, tune.Result]{"plan.apply", writes, changing}
	methodUndo        = method[tune.UndoRequest, tune.Result]{"plan.undo", writes, changing}
	methodConfirm     = method[planParams, none]{"plan.confirm", writes, soon}
	methodPersist     = method[persistParams, []tune.FileChange]{"plan.persist", writes, changing}
	methodPlanFiles   = method[model.Plan, []tune.FileChange]{"plan.files", reads, soon}
	methodWaiting     = method[none, waitingResult]{"plan.waiting", reads, soon}
	methodProbe       = method[probeParams, none]{"path.probe", loads, soon}
	methodToward      = method[towardParams, probe.Toward]{"path.toward", reads, soon}
	methodSource      = method[towardParams, sourceResult]{"path.source", reads, soon}
	methodJournal     = method[none, []tune.Entry]{"journal.open", reads, soon}
	methodHistory     = method[none, []tune.Entry]{"journal.history", reads, soon}
	methodLeave       = method[none, tune.LeaveResult]{"leave", writes, soon}
	methodSample      = method[sampleParams, idResult]{"sample.start", reads, soon}
	methodSampleStop  = method[idParams, sampledResult]{"sample.stop", reads, soon}
	methodWorker      = method[worker.Task, startedResult]{"worker.start", loads, soon}
	methodWorkerEvent = method[eventParams, worker.Event]{"worker.event", reads, open}
	methodWorkerBegin = method[beginParams, none]{"worker.begin", loads, soon}
	methodWorkerSeen  = method[idParams, worker.Work]{"worker.seen", reads, soon}
	methodWorkerStop  = method[idParams, none]{"worker.stop", loads, soon}
	methodWorkerEnd   = method[idParams, none]{"worker.end", loads, soon} // also of a mover
	methodProbeOpen   = method[probe.Spec, openedResult]{"probe.open", loads, soon}
	methodProbeSend   = method[sendProbeParams, probe.Sent]{"probe.send", loads, soon}
	methodProbeAwait  = method[awaitProbeParams, probe.Heard]{"probe.await", reads, soon}
	methodProbeEcho   = method[echoProbeParams, rttResult]{"probe.echo", loads, soon}
	methodProbeClose  = method[idParams, none]{"probe.close", loads, soon}
	methodMover       = method[mover.Task, startedResult]{"mover.start", moves, soon}
	methodMoverTell   = method[commandParams, none]{"mover.tell", moves, soon}
	methodMoverEvents = method[idParams, moverResult]{"mover.events", reads, open}

	methodTunnelOpen    = method[tunnelParams, idResult]{"tunnel.open", loads, soon}
	methodTunnelSend    = method[pieceParams, none]{"tunnel.send", loads, open}
	methodTunnelReceive = method[idParams, pieceResult]{"tunnel.receive", reads, open}
	methodTunnelClose   = method[idParams, none]{"tunnel.close", loads, soon}

	methodSwitch = method[hearParams, Plugged]{"switch.hear", reads, open}
)

// notifySamples carries a batchPush, from the agent.
const notifySamples = "samples"

// codeNotInForce marks a *tune.NotInForceError, which is the error's data: a treatment that is
// not in force is an outcome of a study, not a failure.
const codeNotInForce jrpc2.Code = 1

// Hello is how an agent introduces itself.
type Hello struct {
	Protocol     int       `json:"protocol"`
	Build        string    `json:"build"`
	BootID       string    `json:"boot_id"` // empty if the OS has none
	UID          int       `json:"uid"`     // -1 if the OS has none
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
	Like    string `json:"like,omitempty"` // names the parts to read if the value has parts
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

// probeParams request packets of Size octets with the don't-fragment bit set.
type probeParams struct {
	To   netip.Addr `json:"to"`
	Size int        `json:"size"`
}

// waitingResult is the plan that waits for confirmation, if there is one.
type waitingResult struct {
	Waiting   *tune.Waiting `json:"waiting,omitempty"`
	Overdue   bool          `json:"overdue,omitempty"`
	Unwatched bool          `json:"unwatched,omitempty"`
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
	// Keep is how long samples wait at the host that cannot be sent, while the controller or the way
	// to it stands still; the oldest are dropped first.
	Keep time.Duration `json:"keep"`
	// Brief is how many bytes the message of a sample may have, where some of it is to be told in turns so
	// that it has no more (see turns); 0: all is told. Where the counters of connections alone take more,
	// samples are told more seldom (see Rest of batchPush). A sample that begins a stream tells all.
	Brief int `json:"brief,omitempty"`
	// Conns is how many connections a sample may have, all told one by one; of more, some are, and sums
	// of all (model.Sample.Totals). 0: any number.
	Conns int `json:"conns,omitempty"`
}

// batchPush carries Count samples of sampling ID from number N on, counted from 0, as JSON texts
// that package delta packed. Numbers that are left out were dropped: see Keep of sampleParams.
type batchPush struct {
	ID    int    `json:"id"`
	N     int    `json:"n"`
	Count int    `json:"count"`
	Fresh bool   `json:"fresh,omitempty"` // it begins a stream
	Bytes int    `json:"bytes"`           // of Data, uncompressed
	Data  []byte `json:"data"`
	// of the samples; not all only where Count is 1
	turns
	// Rest is how many of the times at which samples were to be told are left out after it, since it
	// takes as much room as they would.
	Rest int `json:"rest,omitempty"`
}

// sampledResult has the number of samples that were pushed, how many more were dropped, what could
// not be seen, and the error that ended the sampling early.
type sampledResult struct {
	Count   int           `json:"count"`
	Dropped int           `json:"dropped,omitempty"`
	Blind   []model.Blind `json:"blind,omitempty"`
	Error   string        `json:"error,omitempty"`
}

// startedResult is a running worker or mover, and what a mover has said first.
type startedResult struct {
	ID     int           `json:"id"`
	PID    int           `json:"pid"`
	Events []mover.Event `json:"events,omitempty"`
}

// openedResult is an open probe, and the port that it listens on.
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

// eventParams request the first event of this kind in a phase, or the event after which there
// can be none.
type eventParams struct {
	ID    int         `json:"id"`
	Kind  worker.Kind `json:"kind"`
	Phase int         `json:"phase"`
}

// beginParams start a phase at an instant of the agent's clock, or at once.
type beginParams struct {
	ID int       `json:"id"`
	At time.Time `json:"at,omitzero"`
}

type hearParams struct {
	For time.Duration `json:"for"` // 0: only the hardware addresses
}

// Plugged is what the switches that a host is plugged into announce.
type Plugged struct {
	Heard []kernel.Heard    `json:"heard"`
	MACs  map[string]string `json:"macs"` // by interface
	// Denied says which privilege was missing for listening.
	Denied string `json:"denied,omitempty"`
}

type towardParams struct {
	From netip.Addr `json:"from"`
	To   netip.Addr `json:"to"`
}

// sourceResult is the host's own address towards the To of towardParams.
type sourceResult struct {
	From netip.Addr `json:"from"`
}

// moverResult is what a mover has said since it was last asked.
type moverResult struct {
	Events []mover.Event `json:"events"`
}

type commandParams struct {
	ID      int           `json:"id"`
	Command mover.Command `json:"command"`
}

// tunnelParams name a mover, and which of its other ends a tunnel is for.
type tunnelParams struct {
	ID   int `json:"id"`
	Pair int `json:"pair,omitempty"`
}

// pieceParams is a piece of what goes through a tunnel; no data at all is its end.
type pieceParams struct {
	ID   int    `json:"id"`
	Data []byte `json:"data"`
}

type pieceResult struct {
	Data []byte `json:"data"`
}
