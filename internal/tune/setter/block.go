package setter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"linerate/internal/kernel"
)

// blockPrefix is the prefix of this mechanism's ids; the name of a file in /sys/block/NAME/queue
// follows.
const blockPrefix = "linux.block."

// BlockScheduler is the id of the only setting that also changes another one.
const BlockScheduler = blockPrefix + "scheduler"

// blockLimits are the numbers of this mechanism (Documentation/ABI/stable/sysfs-block): KiB for
// the sizes. The kernel rounds read_ahead_kb to pages, raises nr_requests to 4 (BLKDEV_MIN_RQ)
// and bounds max_sectors_kb by max_hw_sectors_kb.
func blockLimits() map[string]limits {
	return map[string]limits{
		"nr_requests": {1, 1 << 16, false}, "read_ahead_kb": {0, 1 << 22, false}, "max_sectors_kb": {1, 1 << 22, false},
		"rq_affinity": {0, 2, false}, "nomerges": {0, 2, false},
	}
}

// Block sets the queue of a block device: scheduler, nr_requests, read_ahead_kb, max_sectors_kb,
// rq_affinity and nomerges. The device is named as by kernel.BlockIDs. It refuses another
// scheduler unless nr_requests is the kernel's choice: the kernel chooses it anew with each
// scheduler, and an administrator's number could not be restored (block/elevator.c,
// blk-mq-sched.c).
type Block struct{ spreads }

// NewBlock is Block on the files of a host.
func NewBlock(tree Tree) Block {
	return Block{spreads{owns: ownsBlock, of: func(at Place) spread { return blockSpread(tree, at) }}}
}

func ownsBlock(setting string) bool {
	_, ok := blockLimits()[strings.TrimPrefix(setting, blockPrefix)]
	return ok && strings.HasPrefix(setting, blockPrefix) || setting == BlockScheduler
}

func blockSpread(tree Tree, at Place) spread {
	file := strings.TrimPrefix(at.Setting, blockPrefix)
	s := spread{
		tree: tree, check: blockCheck, word: blockWord, found: trimmed, filter: trimmedShell,
		members: func(at Place) ([]member, error) {
			name, err := kernel.FindBlock(tree, at.Target)
			return []member{{"queue", "/sys/block/" + name + "/queue/" + file}}, err
		},
		list: func(at Place) (string, error) {
			find, err := shellBlock(tree.Path("/sys/block"), at.Target)
			return "dev=$(" + find + `) && echo queue ` + Quote(tree.Path("/sys/block")) + `"/$dev/queue/` + file + `"`, err
		},
	}
	if at.Setting == BlockScheduler {
		s.found, s.filter = bracketed, bracketedShell
	}
	return s
}

func blockCheck(at Place) error {
	if !ownsBlock(at.Setting) {
		return fmt.Errorf("block queue %s: want scheduler, %s: %w", at, strings.Join(slices.Sorted(maps.Keys(blockLimits())), ", "), ErrValue)
	}
	_, err := shellBlock("/sys/block", at.Target)
	return err
}

func blockWord(at Place, s string) (string, error) {
	if at.Setting == BlockScheduler {
		if s == "" || strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", fmt.Errorf("value of %s: %q is no name of a scheduler: %w", at, s, ErrValue)
		}
		return s, nil
	}
	n, err := numberIn(at, "value", s, blockLimits()[strings.TrimPrefix(at.Setting, blockPrefix)])
	return strconv.FormatInt(n, 10), err
}

// Write implements Setter. It accepts a device by its name only if that is the device's best id.
func (b Block) Write(ctx context.Context, at Place, value string) error {
	if name, ok := strings.CutPrefix(at.Target, kernel.BlockByName("")); ok {
		ids, err := kernel.BlockIDs(b.of(at).tree)
		if id := ids[name]; err == nil && id != "" && id != at.Target {
			return fmt.Errorf("write %q to %s: the name may be another disk's when this is to be undone: name it %s: %w", value, at, id, ErrValue)
		}
	}
	if at.Setting == BlockScheduler {
		if err := requestsFollow(b.of(at), at, value); err != nil {
			return fmt.Errorf("write %q to %s: %w", value, at, err)
		}
	}
	return b.spreads.Write(ctx, at, value)
}

// requestsFollow refuses another scheduler that would lose nr_requests.
func requestsFollow(s spread, at Place, value string) error {
	want, err := s.canonical(at, value)
	if err != nil {
		return err
	}
	now, all, err := s.now(at)
	if err != nil || now["queue"] == want {
		return err
	}
	dir := strings.TrimSuffix(all[0].file, "/queue/scheduler")
	number := func(file string) int {
		b, _ := s.tree.ReadFile(dir + file) // what cannot be read is 0, which no number is
		n, _ := strconv.Atoi(trimmed(string(b)))
		return n
	}
	tags, requests := number("/mq/0/nr_tags"), number("/queue/nr_requests")
	// BLKDEV_DEFAULT_RQ is 128 (include/linux/blkdev.h); none uses all tags.
	usual := 2 * min(tags, 128)
	if now["queue"] == "none" {
		usual = tags
	}
	if requests != 0 && requests != usual {
		return fmt.Errorf("nr_requests is %d, set by hand, and would be chosen anew and not come back: put %snr_requests to %d first, which is recorded and comes back: %w",
			requests, blockPrefix, usual, ErrSideEffect)
	}
	return nil
}

// shellBlock is a command that prints the only block device of an id.
func shellBlock(dir, id string) (string, error) {
	kind, rest, _ := strings.Cut(id, ":")
	if rest == "" || len(id) > 512 || strings.Contains(rest, "..") || strings.TrimFunc(rest, func(r rune) bool { return r > ' ' && r <= '~' }) != "" {
		return "", fmt.Errorf("block device %q: want wwid:, dm:, md:, serial:, at: or block: and an id without blanks: %w", id, ErrValue)
	}
	one := ` | { read -r first && ! read -r second && echo "$first"; }`
	each := "for name in $(ls " + Quote(dir) + "); do "
	switch kind {
	case "block":
		if strings.Contains(rest, "/") {
			return "", fmt.Errorf("block device %q: no name: %w", id, ErrValue)
		}
		return "cd " + Quote(dir+"/"+rest) + " && echo " + Quote(rest), nil
	case "at":
		return each + `at=$(readlink ` + Quote(dir) + `"/$name"); at=${at#*devices/}; at=${at%/*}; at=${at%/block}; [ "$at" = ` + Quote(rest) + ` ] && echo "$name"; done` + one, nil
	}
	var files []string
	for _, f := range kernel.BlockIDFiles() {
		if f[0] == kind {
			files = append(files, f[1])
		}
	}
	if files == nil {
		return "", fmt.Errorf("block device %q: want wwid:, dm:, md:, serial:, at: or block: %w", id, ErrValue)
	}
	return each + "for file in " + strings.Join(files, " ") + `; do now=$(cat ` + Quote(dir) + `"/$name/$file" 2>/dev/null) && ` +
		`[ "$(echo $now | tr ' ' _)" = ` + Quote(rest) + ` ] && echo "$name"; done; done` + one, nil
}
