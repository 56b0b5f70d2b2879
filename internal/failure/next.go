package failure

import "errors"

// Next is what can be done about an end without a result, by what it does. Only the
// surface knows how it is typed.
type Next int

// The steps. Behind some stands what they are done to, as Advise gets it.
const (
	SeeHistory      Next = iota + 1 // see what was changed: host
	SeeHistoryLater                 // the same, once the reason is mended: host
	PutBack                         // undo what is still changed: host
	PutBackOne                      // undo the one change that stays: host
	SeeAndPutBack                   // either, since it is not known what is so: host
	CloseJournal                    // let an undo write down that the host is as it was: host
	ReadScript                      // read the script of the plan, and run it by hand: host
	WaitLonger                      // give more time to confirm
	ResumeWaves                     // go on with a change of many hosts
	LookAtWaves                     // see what is so on those that did not answer
	ResumeOrUndo                    // go on, or take it back: selection of hosts, plan
	UndoWaves                       // take it back: selection of hosts, plan
	ListProfiles                    // see which profiles there are
	ListSite                        // see which hosts a site has
	ListRuns                        // see which runs are kept
	MakeRun                         // make a first one
	ListStudies                     // see which studies are kept
	ListTemplates                   // see which studies there are to begin with
	KeepHistory                     // have what paths carry kept
	NameAddress                     // state the address of the data path
	NameMount                       // name what is there: name that nothing has
	NameStorage                     // name storage that is reached over the network
	NameServer                      // name the server, and its port
	RecordAgain                     // record a host anew
	BringLabUp                      // start a lab
	SayWhichLab                     // name one of those that are up
	SayWhichSite                    // name one of those that are kept here: one of them
	RestartDesk                     // start the desk of the site anew, as this version of linerate
	AskByScripts                    // do what needs no agent on the host
	ScriptsOrThere                  // the same, or start linerate on the host
	ListFaults                      // see which faults there are
	ListenElsewhere                 // take another address or port
	Secure                          // give a certificate, its key and a token, or serve the loopback
	ListFormats                     // see which formats of video there are
	NameDirectory                   // name the directory of the files
	MapPath                         // say what stands for a path that this host does not have: path
	NameWatched                     // name what to watch
	OpenPort                        // open a port between the ends, or go another way
	SayTargets                      // say how many paths are targets: as many
	AllowMore                       // see what would be deleted, and allow it
	PlanInstead                     // make the plan and apply it
	StartDesk                       // start the desk of the site
	NewToken                        // have a new token made
	Enrol                           // take this host into a site
	ForgetPlace                     // let this host forget its site
)

// Advised is an error about which its reader can do something.
type Advised struct {
	Err  error
	Next Next
	Of   []any // what the step is done to
}

// Error implements error: without the step.
func (a *Advised) Error() string { return a.Err.Error() }

// Unwrap gives the cause.
func (a *Advised) Unwrap() error { return a.Err }

// Advise adds a step to an error.
func Advise(err error, next Next, of ...any) error { return &Advised{err, next, of} }

// AsAdvised adds the steps that its causes carry to an error that has only their text.
func AsAdvised(err error, causes ...error) error {
	for _, s := range Steps(errors.Join(causes...)) {
		err = Advise(err, s.Next, s.Of...)
	}
	return err
}

// Steps are those that an error and its causes carry, the outermost first.
func Steps(err error) (out []*Advised) {
	if a, ok := err.(*Advised); ok { // its causes come next
		out = append(out, a)
	}
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range all.Unwrap() {
			out = append(out, Steps(e)...)
		}
	} else if inner := errors.Unwrap(err); inner != nil {
		out = append(out, Steps(inner)...)
	}
	return out
}
