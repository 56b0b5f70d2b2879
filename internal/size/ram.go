package size

import (
	"errors"
	"math"

	"linerate/internal/unit"
)

// What ZFS keeps in memory, per source.
const (
	// systemRAM is NAPPIT's figure for a stable Solaris or illumos, without deduplication.
	systemRAM = 2 * unit.GB
	// Write cache: NAPPIT's "10% of RAM up to 4 GB" is OpenZFS's
	// zfs_dirty_data_max and its cap (zfs(4)).
	dirtyShare = 0.10
	dirtyMost  = 4 * unit.GiB
	// metadataShare: NAPPIT's 1% of active data.
	metadataShare = 0.01
)

// RAMInput describes a ZFS server. Zero values are not given.
type RAMInput struct {
	RAM      unit.Bytes `json:"ram_bytes,omitempty"`
	System   unit.Bytes `json:"system_bytes"`           // 0: 2 GB
	Active   unit.Bytes `json:"active_bytes,omitempty"` // data in use
	Record   unit.Bytes `json:"record_bytes"`           // average block of it
	Dedup    unit.Bytes `json:"dedup_bytes,omitempty"`  // unique data under dedup=on
	Entry    int        `json:"ddt_entry_bytes"`        // memory of a dedup table entry; 0: 320
	L2ARC    unit.Bytes `json:"l2arc_bytes,omitempty"`  // cache device
	L2Record unit.Bytes `json:"l2arc_record_bytes"`     // average block on it; 0: Record
	L2Header int        `json:"l2arc_header_bytes"`     // memory per block there; 0: 128
}

func (in *RAMInput) check() error {
	if in.System == 0 {
		in.System = systemRAM
	}
	if in.Entry == 0 {
		in.Entry = 320
	}
	if in.L2Header == 0 {
		in.L2Header = 128
	}
	if in.L2Record == 0 {
		in.L2Record = in.Record
	}
	return first("ram",
		optional(in.RAM != 0, checkBytes("RAM", in.RAM, 256*unit.MiB, 1<<50)),
		checkBytes("system", in.System, unit.MiB, unit.Bytes(1)<<40),
		optional(in.Active != 0, checkBytes("active data", in.Active, unit.MB, maxStorage)),
		checkBytes("record", in.Record, 512, 16*unit.MiB),
		optional(in.Dedup != 0, checkBytes("deduplicated data", in.Dedup, unit.MB, maxStorage)),
		checkCount("table entry", in.Entry, 64, 1024),
		optional(in.L2ARC != 0, checkBytes("L2ARC", in.L2ARC, unit.MB, maxStorage)),
		checkBytes("L2ARC record", in.L2Record, 512, 16*unit.MiB),
		checkCount("L2ARC header", in.L2Header, 64, 512))
}

// fixed adds what does not depend on the size of the memory; the sum is in bytes.
func (in RAMInput) fixed(a *Answer) float64 {
	sum := float64(in.System)
	a.add("system", sum, Bytes, "stated, or NAPPIT's")
	if in.Active > 0 {
		v := metadataShare * float64(in.Active)
		a.add("metadata of active data", v, Bytes, "%g × %sB", metadataShare, decimal(float64(in.Active)))
		sum += v
	}
	if in.Dedup > 0 {
		n := math.Ceil(float64(in.Dedup) / float64(in.Record))
		a.add("dedup table", n*float64(in.Entry), Bytes, "%sB / %d B × %d B", decimal(float64(in.Dedup)), in.Record, in.Entry)
		sum += n * float64(in.Entry)
		per := float64(in.Entry) / float64(in.Record) * 1e12
		a.add("dedup table per TB", per, Bytes, "1 TB / %d B × %d B", in.Record, in.Entry)
	}
	if in.L2ARC > 0 {
		n := math.Ceil(float64(in.L2ARC) / float64(in.L2Record))
		a.add("L2ARC headers", n*float64(in.L2Header), Bytes, "%sB / %d B × %d B", decimal(float64(in.L2ARC)), in.L2Record, in.L2Header)
		sum += n * float64(in.L2Header)
	}
	return sum
}

// RAM computes where a server's memory goes, and what is left for file data.
func RAM(in RAMInput) (Answer, error) {
	if err := in.check(); err != nil {
		return Answer{}, err
	}
	if in.RAM == 0 {
		return Answer{}, errors.New("size ram: give the RAM of the server, or ask in reverse how much it needs")
	}
	a := newAnswer("ram", in)
	ram := float64(in.RAM)
	used := in.fixed(a)
	dirty := min(dirtyShare*ram, float64(dirtyMost))
	a.add("write cache", dirty, Bytes, "the smaller of %g × %s and %s", dirtyShare, in.RAM, dirtyMost)
	left := ram - used - dirty
	a.add("left to cache file data", left, Bytes, "%s − %sB − %sB", in.RAM, decimal(used), decimal(dirty))
	if left < 0 {
		a.note("It does not fit: what exceeds the memory is read from disk again and again.")
	}
	if in.Active > 0 && left > 0 {
		a.add("share of the active data cached", min(1, left/float64(in.Active)), Share, "%sB / %sB, at most 1", decimal(left), decimal(float64(in.Active)))
	}
	if in.L2ARC > 0 {
		a.add("L2ARC over RAM", float64(in.L2ARC)/ram, Count, "%sB / %sB", decimal(float64(in.L2ARC)), decimal(ram))
	}
	ramNotes(a, in)
	return *a, nil
}

// RAMFor computes the memory that caching metadata, tables and all active data needs.
func RAMFor(in RAMInput) (Answer, error) {
	if in.RAM != 0 {
		return Answer{}, errors.New("size ram: in reverse the RAM is the answer; leave it away")
	}
	if err := in.check(); err != nil {
		return Answer{}, err
	}
	a := newReverse("ram", in)
	used := in.fixed(a)
	least := withDirty(used)
	a.add("RAM for the above and the write cache", least, Bytes, "the smaller of %[1]sB / (1 − %[2]g) and %[1]sB + %[3]s", decimal(used), dirtyShare, dirtyMost)
	if in.Active > 0 {
		all := withDirty(used + float64(in.Active))
		a.add("RAM to cache all active data too", all, Bytes, "the smaller of %[1]sB / (1 − %[2]g) and %[1]sB + %[3]s", decimal(used+float64(in.Active)), dirtyShare, dirtyMost)
		a.note("NAPPIT's rule of thumb, 1-2 GB of RAM per TB of data, would say %sB to %sB: it is about what fits a budget, not about a hit rate. Look at the ARC hit rate instead.",
			decimal(float64(in.Active)/1000), decimal(float64(in.Active)/500))
	}
	ramNotes(a, in)
	return *a, nil
}

// withDirty adds the write cache, a tenth of the whole, to used bytes.
func withDirty(used float64) float64 {
	return min(used/(1-dirtyShare), used+float64(dirtyMost))
}

func ramNotes(a *Answer, in RAMInput) {
	a.note("NAPPIT (2016) is the source of 2 GB for the system and 1%% for metadata; both are rules of thumb of illumos filers. Small records need more metadata than 1%%.")
	if in.Dedup > 0 {
		a.note("NAPPIT's 2-5 GB per TB holds for records of about 64-128 KiB only; a zvol of 8 KiB blocks needs 16 times the table of 128 KiB records. Entries were seen between about 140 and 400 B; zpool status -D prints the pool's own. Count unique blocks, after dedup and at their average size.")
	}
	if in.L2ARC > 0 {
		a.note("NAPPIT's limit for L2ARC of 5-10 × RAM stems from headers of 240 B (before illumos 5408, 2015). Since then they take about 96-128 B: with 128 KiB records ten times the RAM costs about 1%% of it, with 8 KiB records 16%%.")
	}
}
