package load

import (
	"time"

	"linerate/internal/host"
	"linerate/internal/load/block"
	"linerate/internal/load/dialect"
	"linerate/internal/load/frames"
	"linerate/internal/load/named"
	"linerate/internal/load/shape"
	"linerate/internal/load/storage"
	"linerate/internal/load/tcp"
	"linerate/internal/unit"
)

// What the surface needs of the rooms below to say what is wanted of a load, and to
// print what it came to.
type (
	Task           = storage.BlockTask
	Spec           = block.Spec
	Steady         = block.Steady
	Engine         = block.Engine
	Sync           = block.Sync
	Arrivals       = shape.Arrivals
	Workload       = named.Workload
	Job            = dialect.Job
	VdbenchOptions = dialect.VdbenchOptions
	FioOptions     = dialect.FioOptions
	FramesSpec     = frames.Spec
	FramesVerdict  = frames.Verdict
	Summary        = block.Summary
	ChangeKind     = block.Kind
	Quantiles      = block.Quantiles
	RunFigures     = storage.RunFigures
	End            = tcp.End
	StuckError     = block.StuckError
	HostName       = host.Name
)

// Values of those that are chosen or printed differently.
const (
	NoTarget       = block.Null
	Cliff          = block.Cliff
	Rise           = block.Rise
	AfterWrites    = block.After
	EveryWrite     = block.Every
	ThousandthFrom = block.ThousandthFrom
	MostStreams    = frames.MaxStreams
	Sustained      = frames.Sustained
	Drops          = frames.Drops
	Behind         = frames.Behind
	Impossible     = frames.Impossible
)

// Workloads are those that have a name, in the order of their papers.
func Workloads() []Workload { return named.All() }

// FindWorkload is the workload of that name.
func FindWorkload(name string) (Workload, bool) { return named.Find(name) }

// ByHand is what a workload begins with that is not named.
func ByHand() Workload {
	return Workload{Name: "by hand", Threads: 1, Depth: 32,
		Shape: shape.Shape{Pattern: shape.Random, Read: 1, Sizes: []shape.SizeShare{{Size: 4 * unit.KiB, Share: 1}}, Arrivals: shape.Closed}}
}

// ParsePattern reads where requests go.
func ParsePattern(text string, s *shape.Shape) error { return shape.ParsePattern(text, s) }

// ParseSizes reads how large requests are, and ParseSize one size.
func ParseSizes(text string) ([]shape.SizeShare, error) { return shape.ParseSizes(text) }

// ParseSize reads a size as load generators do: 4k is 4096.
func ParseSize(text string) (unit.Bytes, error) { return shape.ParseSize(text) }

// Vdbench reads a vdbench parameter file.
func Vdbench(text string, o VdbenchOptions) (dialect.VdbenchRuns, error) {
	return dialect.Vdbench(text, o)
}

// Iozone reads iozone's options.
func Iozone(args []string) ([]Job, error) { return dialect.Iozone(args) }

// IozoneClients takes iozone's file of clients out of its options.
func IozoneClients(args []string) (file string, rest []string, err error) {
	return dialect.IozoneClients(args)
}

// IozoneCluster reads such a file.
func IozoneCluster(text string) (dialect.Cluster, error) { return dialect.IozoneCluster(text) }

// Filebench reads a filebench workload, which runs for so long unless it says otherwise.
func Filebench(text string, run time.Duration) (Job, error) { return dialect.Filebench(text, run) }

// Fio reads a job file of fio.
func Fio(text string, o FioOptions) (dialect.FioJobs, error) { return dialect.Fio(text, o) }

// FrameFormats are the formats that video has.
func FrameFormats() []frames.Format { return frames.Formats() }

// FindFormat is the format of that name.
func FindFormat(name string) (frames.Format, error) { return frames.Find(name) }

// ParseFrameRate reads frames per second.
func ParseFrameRate(text string) (frames.Rate, error) { return frames.ParseRate(text) }
