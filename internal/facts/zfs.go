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
)

const zfsStats = "/proc/spl/kstat/zfs"

// readZFS reads what the module tells without its tools. Properties of file
// systems (sync, recordsize, dedup) are not there: those it names as not seen.
func readZFS(_ context.Context, src kernel.Source, f *model.Facts) error {
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
	f.ZFS = model.Known(z)
	f.CouldNotSee = append(f.CouldNotSee, model.Blind{
		What: "ZFS properties", WouldShow: "sync, recordsize, compression and dedup of each file system",
		How: "the module shows them to its own tools only: zfs get sync,recordsize,compression,dedup",
	})
	return nil
}

// parseARC reads those lines "name type data" of arcstats that rules look at
// (module/os/linux/spl/spl-kstat.c prints two lines ahead).
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
