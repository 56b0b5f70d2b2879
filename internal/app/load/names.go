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
	// Task is a workload on one file or device that exists.
	Task = storage.BlockTask
	// Spec is one run on a file or device.
	Spec = block.Spec
	// Steady is how a target settles before it is measured.
	Steady = block.Steady
	// Engine moves the requests.
	Engine = block.Engine
	// Sync is when writes become durable.
	Sync = block.Sync
	// Arrivals are the gaps between requests that come at a rate.
	Arrivals = shape.Arrivals
	// Workload is a shape that has a name.
	Workload = named.Workload
	// Job is one run in another load generator's words.
	Job = dialect.Job
	// VdbenchOptions say what stands for what in a vdbench file.
	VdbenchOptions = dialect.VdbenchOptions
	// FramesSpec is one recording, or one playing.
	FramesSpec = frames.Spec
	// FramesVerdict is what a format is on a target.
	FramesVerdict = frames.Verdict
	// Summary is a load on blocks in figures.
	Summary = block.Summary
	// Quantiles are of times of requests.
	Quantiles = block.Quantiles
	// RunFigures are what one target did in one run of several.
	RunFigures = storage.RunFigures
	// Round is a run of each of two targets alone, and of both.
	Round = storage.PoolRound
	// End is what one host of a TCP load took.
	End = tcp.End
	// StuckError: a target does not answer.
	StuckError = block.StuckError
	// HostName is a host as its user named it.
	HostName = host.Name
)

// Values of those that are chosen or printed differently.
const (
	NoTarget       = block.Null
	AfterWrites    = block.After
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
func Vdbench(text string, o VdbenchOptions) ([]Job, error) { return dialect.Vdbench(text, o) }

// Iozone reads iozone's options.
func Iozone(args []string) ([]Job, error) { return dialect.Iozone(args) }

// Filebench reads a filebench workload, which runs for so long unless it says otherwise.
func Filebench(text string, run time.Duration) (Job, error) { return dialect.Filebench(text, run) }

// FrameFormats are the formats that video has.
func FrameFormats() []frames.Format { return frames.Formats() }

// FindFormat is the format of that name.
func FindFormat(name string) (frames.Format, error) { return frames.Find(name) }

// ParseFrameRate reads frames per second.
func ParseFrameRate(text string) (frames.Rate, error) { return frames.ParseRate(text) }
