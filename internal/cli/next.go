package cli

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"linerate/internal/failure"
	"linerate/internal/reach"
)

// steps are what to type after an error, with what it is done to.
var steps = map[failure.Next]string{
	failure.SeeHistory:      "look with linerate tune history %s",
	failure.SeeHistoryLater: "once that is mended, look with linerate tune history %s",
	failure.PutBack:         "linerate tune undo %s puts them back",
	failure.PutBackOne:      "linerate tune undo %s puts it back",
	failure.SeeAndPutBack:   "look with linerate tune history %[1]s, put all back with linerate tune undo %[1]s",
	failure.CloseJournal:    "once it can be written, linerate tune undo %s closes what it has open",
	failure.ReadScript:      "or read what linerate tune script %s writes, and run it there yourself",
	failure.WaitLonger:      "give more time with --confirm-within, e.g. 5m",
	failure.ResumeWaves:     "linerate tune resume goes on",
	failure.LookAtWaves:     "linerate tune resume looks again",
	failure.ResumeOrUndo:    "linerate tune resume goes on once that is mended, linerate tune undo --site %s --plan %s takes all back",
	failure.UndoWaves:       "linerate tune undo --site %s --plan %s takes all back",
	failure.ListProfiles:    "linerate profile list shows all",
	failure.ListSite:        "linerate agent list shows those that there are, with their labels",
	failure.ListRuns:        "see linerate runs",
	failure.MakeRun:         "start with linerate demo",
	failure.ListStudies:     "linerate study list shows them",
	failure.ListTemplates:   "linerate study new lists templates to begin with",
	failure.KeepHistory:     "linerate serve keeps history",
	failure.NameAddress:     "name it with --via",
	failure.NameStorage:     "name a path on an NFS or SMB mount or an iSCSI disk, or use --attach HOST:PORT",
	failure.NameServer:      "name the server, e.g. --attach nas1:445 (ports: SMB 445, iSCSI 3260, NFS 2049)",
	failure.RecordAgain:     "record the host again with linerate check --snapshot DIR",
	failure.BringLabUp:      "bring one up with: linerate lab up cluster",
	failure.SayWhichLab:     "say which with --name",
	failure.SayWhichSite:    "say which, as site:%[1]s/HOST or --of %[1]s",
	failure.RestartDesk:     "start linerate serve anew",
	failure.AskByScripts:    "linerate check and linerate tune do so by scripts",
	failure.ScriptsOrThere:  "linerate check reads it, linerate tune changes it; for all else start linerate there",
	failure.ListFaults:      "linerate lab fault catalogue lists all",
	failure.ListenElsewhere: "choose another address or port with --listen",
	failure.Secure:          "give all three of --tls-cert, --tls-key and --token-file, or serve 127.0.0.1:8470 and reach that by ssh -L 8470:127.0.0.1:8470",
	failure.ListFormats:     "see linerate load frames --list",
	failure.NameDirectory:   "name that with --dir",
	failure.MapPath:         "say what stands for it with --map %s=PATH",
	failure.NameWatched:     "name two hosts or more, --attach HOST:PORT or --attach PID; a recorded run is shown by linerate watch --replay RUN",
	failure.OpenPort:        "open one TCP port and name it with --port, name another address with --via, or use --through-ssh, which is slow",
	failure.SayTargets:      "say how many are, as --spread=%d",
	failure.AllowMore:       "see --dry-run, and allow more with --max-delete",
	failure.PlanInstead:     "use linerate tune plan and linerate tune apply",
	failure.StartDesk:       "start one on this machine, as this user, with: linerate serve --nats embedded --site NAME",
	failure.NewToken:        "have a new one made with: linerate agent token",
	failure.Enrol:           "linerate agent token makes a token where the site is kept; here: linerate agent enrol --token-file FILE",
	failure.ForgetPlace:     "--replace forgets that",
}

// worded has the words of a step. A command on this host needs no name.
func worded(s *failure.Advised) string {
	const unnamed = "\x00"
	of := slices.Clone(s.Of)
	for i, v := range of {
		if v == reach.Here {
			of[i] = unnamed
		}
	}
	return strings.ReplaceAll(fmt.Sprintf(steps[s.Next], of...), " "+unnamed, "")
}

// withSteps is the text of an error and what its user can do, each once.
func withSteps(err error) string { return stepsAfter(err.Error(), err) }

// stepsAfter is a text about an error, and what its user can do.
func stepsAfter(text string, err error) string {
	var out []string
	for _, s := range failure.Steps(err) {
		step := worded(s)
		if s.Next == failure.NameMount {
			step = nameMount(fmt.Sprint(s.Of...))
		}
		if !slices.Contains(out, step) {
			out = append(out, step)
		}
	}
	switch {
	case out == nil:
		return text
	case strings.HasSuffix(text, "?"):
		text += " "
	default:
		text += "; "
	}
	return text + strings.Join(out, "; ")
}

// nameMount says what to name instead of a path that is not there. What is written like no path may
// be meant as a host's name, an address or a process.
func nameMount(name string) string {
	const paths = "name a mount point or a file on it, as findmnt -t nfs,nfs4,cifs lists them, or an iSCSI disk"
	switch {
	case strings.ContainsRune(name, '/'):
		return paths
	case strings.Trim(name, "0123456789") == "":
		return fmt.Sprintf("if it is a process: --attach %s; else "+paths, name)
	}
	at := name
	if _, _, err := net.SplitHostPort(name); err != nil {
		at = net.JoinHostPort(strings.Trim(name, "[]"), "PORT")
	}
	return fmt.Sprintf("if it is a host: --attach %s looks at this machine's connections to it (ports: NFS 2049, SMB 445, iSCSI 3260), and two hosts are seen from both ends; else "+paths, at)
}
