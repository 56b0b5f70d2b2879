package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"linerate/internal/failure"
	"linerate/internal/size"
	"linerate/internal/unit"
)

func sizePoolCommand(env *environment) *cobra.Command {
	// A 7,200 rpm disk as NAPPIT reckons it.
	in := size.PoolInput{Layout: "raidz2", Vdevs: 1, DiskRate: 150e6, DiskIOPS: 100}
	cmd := calculate(env, &in, size.Pool, size.PoolFor)
	cmd.Use, cmd.Short = "pool", "Streaming, IOPS and capacity of RAID, RAID-Z and OneFS layouts"
	cmd.Long = `pool computes what equal groups of equal disks give. RAID-Z has the random IOPS of
one disk per vdev, not per data disk. For onefs-LEVEL, --vdevs is the number of
nodes and --disk-size the raw size of a node; only the overhead is computed.`
	cmd.Example = `  linerate size pool --layout raidz2 --vdevs 4 --width 6 --disk-size 10TB
  linerate size pool --layout raid6 --width 12 --disk-iops 180 --read 67
  linerate size pool --layout onefs-+2d:1n --vdevs 5 --disk-size 108TB
  linerate size pool --reverse --layout raidz2 --width 8 --rate 1.2GB/s --iops 500`
	f := cmd.Flags()
	f.StringVar(&in.Layout, "layout", in.Layout, strings.Join(size.LayoutNames(), ", ")+", or onefs-LEVEL")
	f.IntVar(&in.Vdevs, "vdevs", in.Vdevs, "groups that are striped (OneFS: nodes)")
	f.IntVar(&in.Width, "width", 0, "disks of a group (raid10: disks in pairs)")
	bytesFlag(cmd, &in.DiskSize, "disk-size", "capacity of a disk (OneFS: of a node)")
	byteRateFlag(cmd, &in.DiskRate, "disk-rate", "streaming rate of a disk")
	f.Float64Var(&in.DiskIOPS, "disk-iops", in.DiskIOPS, "random IOPS of a disk")
	f.Var(share{&in.Read}, "read", "reads among the random I/O, for mixed IOPS")
	byteRateFlag(cmd, &in.WantRate, "rate", "with --reverse: streaming rate wanted")
	f.Float64Var(&in.WantIOPS, "iops", 0, "with --reverse: random IOPS wanted")
	return completeFlags(cmd, map[string][]string{"layout": append(size.LayoutNames(), size.OneFSNames()...)}, "vdevs", "width", "disk-iops", "read", "iops")
}

func sizeRAMCommand(env *environment) *cobra.Command {
	in := size.RAMInput{Record: 128 * unit.KiB}
	cmd := calculate(env, &in, size.RAM, size.RAMFor)
	cmd.Use, cmd.Short = "ram", "Memory of a ZFS server: ARC, metadata, dedup table, L2ARC headers"
	cmd.Long = `ram computes where the memory of a ZFS server goes and what is left to cache file
data. NAPPIT's rules of thumb are said to be such; --reverse computes the need.`
	cmd.Example = `  linerate size ram --ram 64GiB --active 2TB --l2arc 1TB
  linerate size ram --ram 40GiB --dedup 5TB --record 64KiB
  linerate size ram --reverse --active 500GB --dedup 2TB`
	bytesFlag(cmd, &in.RAM, "ram", "memory of the server")
	bytesFlag(cmd, &in.System, "system", "for the operating system (default 2 GB)")
	bytesFlag(cmd, &in.Active, "active", "data in active use")
	bytesFlag(cmd, &in.Record, "record", "average block")
	bytesFlag(cmd, &in.Dedup, "dedup", "unique data under deduplication")
	cmd.Flags().IntVar(&in.Entry, "ddt-entry", 0, "memory of a dedup table entry in bytes (default 320)")
	bytesFlag(cmd, &in.L2ARC, "l2arc", "size of the L2ARC device")
	bytesFlag(cmd, &in.L2Record, "l2arc-record", "average block on it (default --record)")
	cmd.Flags().IntVar(&in.L2Header, "l2arc-header", 0, "memory per block there in bytes (default 128)")
	return completeFlags(cmd, nil, "ddt-entry", "l2arc-header")
}

func sizeStreamsCommand(env *environment) *cobra.Command {
	in := size.StreamsInput{Format: "hd1080", Pixel: "yuv422-10", FPS: 25, MTU: 1500}
	var spare *float64
	with := func(f func(size.StreamsInput) (size.Answer, error)) func(size.StreamsInput) (size.Answer, error) {
		return func(in size.StreamsInput) (size.Answer, error) {
			if spare != nil {
				in.Spare = *spare
			}
			if in.Width != 0 || in.Height != 0 {
				in.Format = ""
			}
			return f(in)
		}
	}
	cmd := calculate(env, &in, with(size.Streams), with(size.StreamsFor))
	cmd.PreRunE = oneStream
	cmd.Use, cmd.Short = "streams", "How many video streams a link and a pool carry"
	cmd.Long = `streams computes the rate of an uncompressed format from its pixels, or takes that
of a compressed one, and counts how many streams fit. The papers give no rate of a
compressed format, so none is known by name: read it off the camera or the codec.`
	cmd.Example = `  linerate size streams --format uhd --pixel rgb-10 --fps 24 --rate 10Gbit --mtu 9000
  linerate size streams --stream-rate 220Mbit --rate 10Gbit --pool 1GB/s --spare 20
  linerate size streams --reverse --streams 4 --format dci4k --pixel rgb-16 --rate 25Gbit`
	f := cmd.Flags()
	f.StringVar(&in.Format, "format", in.Format, strings.Join(size.Formats(), ", "))
	f.IntVar(&in.Width, "width", 0, "pixels of a line, instead of --format")
	f.IntVar(&in.Height, "height", 0, "lines, instead of --format")
	f.StringVar(&in.Pixel, "pixel", in.Pixel, strings.Join(size.Pixels(), ", "))
	f.Float64Var(&in.FPS, "fps", in.FPS, "frames per second")
	rateFlag(cmd, &in.Stream, "stream-rate", "rate of a compressed stream, instead of a format")
	rateFlag(cmd, &in.Rate, "rate", "line rate of the link")
	f.IntVar(&in.MTU, "mtu", in.MTU, "MTU in bytes")
	byteRateFlag(cmd, &in.Pool, "pool", "what the pool streams")
	f.Var(share{&spare}, "spare", "share to keep free")
	f.IntVar(&in.Count, "streams", 0, "with --reverse: streams wanted")
	return completeFlags(cmd, map[string][]string{"format": size.Formats(), "pixel": size.Pixels()}, "width", "height", "fps", "mtu", "spare", "streams")
}

// oneStream refuses two descriptions of a stream, of which one would be ignored.
func oneStream(cmd *cobra.Command, _ []string) error {
	given := cmd.Flags().Changed
	for _, name := range []string{"format", "width", "height", "pixel", "fps"} {
		if given("stream-rate") && given(name) {
			return failure.Of(failure.Usage, "size streams: --stream-rate and --%s are two descriptions of a stream; give one", name)
		}
	}
	if given("format") && (given("width") || given("height")) {
		return failure.Of(failure.Usage, "size streams: --format has a width and height of its own; give one of both")
	}
	return nil
}
