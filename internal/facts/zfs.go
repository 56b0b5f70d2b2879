package facts

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/kernel"
	"linerate/internal/model"
	"linerate/internal/unit"
)

const zfsStats = "/proc/spl/kstat/zfs"

// readZFS reads what the module shows, and what only its tools show: properties of file systems
// (sync, recordsize, dedup) and of pools. The tools run only if the module is loaded, since they
// would load it.
func readZFS(ctx context.Context, src kernel.Source, f *model.Facts) error {
	b, err := src.ReadFile(zfsStats + "/arcstats")
	if errors.Is(err, fs.ErrNotExist) {
		f.ZFS = lost[model.ZFS](err)
		return nil
	}
	if err != nil {
		return err
	}
	z := model.ZFS{Version: word(src, "/sys/module/zfs/version").Value, ARC: parseARC(string(b)), Params: map[string]string{}, Pools: map[string]string{}}
	for _, name := range []string{"zfs_prefetch_disable", "zfs_arc_max", "zfs_dirty_data_max", "zfs_txg_timeout", "zfs_compressed_arc_enabled", "zfs_nocacheflush"} {
		if v, ok := word(src, "/sys/module/zfs/parameters/"+name).Get(); ok {
			z.Params[name] = v
		}
	}
	names, err := src.ReadDir(zfsStats)
	if err != nil {
		return err
	}
	for _, pool := range names {
		if state, ok := word(src, zfsStats+"/"+pool+"/state").Get(); ok {
			z.Pools[pool] = state
		}
	}
	err = askZFS(ctx, src, &z)
	f.ZFS = model.Known(z)
	if err == nil {
		return nil
	}
	f.CouldNotSee = append(f.CouldNotSee, model.Blind{
		What: "ZFS properties", WouldShow: "sync, recordsize, compression and dedup of each file system, and how full each pool is", How: "zfs get and zpool get tell them on that host: " + err.Error(),
	})
	return nil
}

// askZFS runs the tools.
func askZFS(ctx context.Context, src kernel.Source, z *model.ZFS) error {
	sets, err := src.Ask(ctx, kernel.ZFSProperties)
	if err == nil {
		z.Datasets = parseDatasets(string(sets))
	}
	pools, err2 := src.Ask(ctx, kernel.PoolProperties)
	if err2 != nil {
		return errors.Join(err, err2)
	}
	z.Store = parsePools(string(pools))
	devices, err3 := src.Ask(ctx, kernel.PoolDevices)
	if err3 == nil {
		addPoolDevices(z.Store, string(devices))
	}
	return errors.Join(err, err3)
}

// eachProperty passes the lines "name TAB property TAB value TAB source" on.
func eachProperty(s string, take func(name, property, value string)) {
	for line := range strings.Lines(s) {
		if f := strings.Split(strings.TrimRight(line, "\n"), "\t"); len(f) >= 3 {
			take(f[0], f[1], f[2])
		}
	}
}

// parseDatasets reads zfs-get(8), -H -p.
func parseDatasets(s string) []model.ZFSDataset {
	at := map[string]int{}
	var out []model.ZFSDataset
	eachProperty(s, func(name, property, value string) {
		if _, ok := at[name]; !ok {
			at[name] = len(out)
			out = append(out, model.ZFSDataset{Name: name})
		}
		d := &out[at[name]]
		switch property {
		case "type":
			d.Volume = value == "volume"
		case "sync":
			d.Sync = value
		case "recordsize", "volblocksize":
			if n, err := strconv.ParseUint(value, 10, 40); err == nil {
				d.Record = unit.Bytes(n)
			}
		case "dedup":
			d.Dedup = value
		case "compression":
			d.Compression = value
		case "logbias":
			d.LogBias = value
		case "primarycache":
			d.Cache = value
		case "sharenfs", "sharesmb":
			d.Shared = d.Shared || value != "off" && value != "-"
		}
	})
	return out
}

// parsePools reads zpool-get(8), -H -p.
func parsePools(s string) map[string]model.ZFSPool {
	out := map[string]model.ZFSPool{}
	whole := func(value string) model.Fact[int] {
		n, err := strconv.ParseUint(strings.TrimSuffix(value, "%"), 10, 31)
		if err != nil {
			return model.Unknown[int](model.Unsupported, "zpool prints no number")
		}
		return model.Known(int(n))
	}
	eachProperty(s, func(name, property, value string) {
		p := out[name]
		switch property {
		case "capacity":
			p.Capacity = whole(value)
		case "fragmentation":
			p.Fragments = whole(value)
		case "ashift":
			p.Ashift = whole(value)
		case "dedupratio":
			if r, err := strconv.ParseFloat(strings.TrimSuffix(value, "x"), 64); err == nil && r >= 1 && r < 1e6 {
				p.Dedup = model.Known(r)
			}
		}
		out[name] = p
	})
	return out
}

// addPoolDevices reads zpool-list(8), -v -H -p: pools flush left, the groups
// "logs" and "cache" among their devices, indented or flush by version.
func addPoolDevices(pools map[string]model.ZFSPool, s string) {
	name := ""
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		p, known := pools[f[0]]
		switch {
		case known && !strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, " "):
			name = f[0]
			continue
		case f[0] == "logs" || f[0] == "log":
			p = pools[name]
			p.Log = true
		case f[0] == "cache":
			p = pools[name]
			p.Cache = true
		default:
			continue
		}
		if name != "" {
			pools[name] = p
		}
	}
}

// parseARC reads the lines "name type data" of arcstats that rules use
// (module/os/linux/spl/spl-kstat.c prints two lines first).
func parseARC(s string) map[string]int64 {
	want := []string{"size", "c", "c_max", "c_min", "hits", "misses", "demand_data_hits", "demand_data_misses", "memory_throttle_count", "l2_hdr_size", "l2_size"}
	out := map[string]int64{}
	for line := range strings.Lines(s) {
		f := strings.Fields(line)
		if len(f) != 3 || !slices.Contains(want, f[0]) {
			continue
		}
		if v, err := strconv.ParseInt(f[2], 10, 64); err == nil && v >= 0 {
			out[f[0]] = v
		}
	}
	return out
}
