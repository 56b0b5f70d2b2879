package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"linerate/internal/app/copy"
	"linerate/internal/failure"
	"linerate/internal/reach"
	"linerate/internal/report/document"
	"linerate/internal/unit"
)

// maxMem bounds a run from memory to memory.
const maxMem = time.Hour

// copyFarFlags are the flags of copies between hosts.
func copyFarFlags(cmd *cobra.Command, f *copyFlags) {
	flags := cmd.Flags()
	flags.IntVar(&f.Far.Streams, "streams", 0, "between hosts: connections that carry data, 1 to 32; default: 4, and up to 16 while more of them raise the rate")
	flags.BoolVar(&f.Far.Plain, "plain", false, "between hosts: do not encrypt the data; for labs and networks that you trust")
	flags.StringVar(&f.Far.Via, "via", "", "between hosts: data address of the end that listens (the other host; of two other hosts the target)")
	flags.Uint16Var(&f.Far.Port, "port", 0, "between hosts: TCP port for the data; default: any that is free")
	flags.BoolVar(&f.Far.ThroughSSH, "through-ssh", false, "between hosts: send the data through ssh, which is slow, where no port can be opened")
	flags.StringVar(&f.Far.Congestion, "congestion", "", "between hosts: congestion control of the connections that send, as bbr; default: the host's own")
	timeFlag(cmd, &f.Far.Mem, "mem", "copy no files, but memory to memory for so long: linerate copy --mem 60s [FROM] TO")
}

// copyArgs are sources and a target; with --mem one or two hosts.
func copyArgs(f *copyFlags) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if f.Far.Mem == 0 {
			return cobra.MinimumNArgs(2)(cmd, args)
		}
		if len(args) < 1 || len(args) > 2 {
			return fmt.Errorf("--mem: name the host that receives, or the one that sends and the one that receives: got %s", unit.Count(len(args), "word"))
		}
		return nil
	}
}

// sides takes the arguments.
func (f *copyFlags) sides(args []string) error {
	if f.spread != "" {
		return f.spreadSides(args)
	}
	if f.Far.Mem > 0 && len(args) == 1 {
		args = []string{reach.Here, args[0]}
	}
	f.Sources, f.Target = args[:len(args)-1], args[len(args)-1]
	return nil
}

// checkFar says which flags cannot be had between hosts, or only there.
func (f *copyFlags) checkFar() error {
	o, far := f.Far, f.IsFar()
	switch {
	case o.Mem < 0 || o.Mem > maxMem:
		return failure.Of(failure.Usage, "--mem %v: want above 0 and at most %v", o.Mem, maxMem)
	case o.Mem > 0 && (f.Delete || f.dryRun || f.check):
		return failure.Of(failure.Usage, "--mem moves no files: leave out --delete, --dry-run and --check")
	case o.Streams < 0 || o.Streams > copy.MaxStreams:
		return failure.Of(failure.Usage, "--streams %d: want 1 to %d", o.Streams, copy.MaxStreams)
	case o.Congestion != "" && !copy.MaybeCongestion(o.Congestion):
		return failure.Of(failure.Usage, "--congestion %q: want the name of a congestion control, as bbr or cubic", o.Congestion)
	case !far && f.spread == "" && o != (copy.Far{}):
		return failure.Of(failure.Usage, "--streams, --plain, --congestion, --via, --port and --through-ssh are for copies between hosts: both ends are on this one")
	case o.ThroughSSH && o.Congestion != "":
		return failure.Of(failure.Usage, "--congestion is of connections between the hosts, and --through-ssh makes none: leave one out")
	case o.ThroughSSH && (o.Via != "" || o.Port != 0):
		return failure.Of(failure.Usage, "--through-ssh uses no address and no port: leave out --via and --port")
	}
	return nil
}

// wireBlocks is how the data of a copy between hosts went.
func wireBlocks(w *copy.Wire) []document.Block {
	if w == nil {
		return nil
	}
	protection := map[string]string{"tls": "encrypted (AEAD, keys of TLS 1.3)", "none": "NOT encrypted (--plain)"}[w.Encryption]
	out := []document.Block{{Text: fmt.Sprintf("Way: %s → %s, %s, %s, %s", w.From, w.To, w.Way, unit.Count(w.Streams, "stream"), protection)}}
	for i, e := range w.Ends {
		text := fmt.Sprintf("%s: %s, CPU %.2f s", []string{"Sender", "Receiver"}[i], e.Name, e.CPUSec)
		if cc := e.Sockets.Congestion; i == 0 && cc != "" && w.Way != copy.ThroughSSH {
			text += ", congestion control " + cc
		}
		if n := e.Placement; n != nil && n.Disk != nil {
			text += fmt.Sprintf("; files on CPUs %s (NUMA node %d, of %s)", unit.CPUList(n.Disk.CPUs), n.Disk.Node, n.Disk.Of)
		}
		if n := e.Placement; n != nil && n.Net != nil {
			text += fmt.Sprintf("; connections on CPUs %s (NUMA node %d, of %s)", unit.CPUList(n.Net.CPUs), n.Net.Node, n.Net.Of)
		}
		out = append(out, document.Block{Text: text})
	}
	return out
}
