package storage

import (
	"errors"
	"fmt"
	"os"

	"linerate/internal/kernel"
	"linerate/internal/load"
	"linerate/internal/load/block"
	"linerate/internal/unit"
)

// ownMemory is what a generator needs besides the requests in flight.
const ownMemory = 64 * unit.MiB

// roomFor refuses runs whose requests leave nothing of the limit.
func (h Hooks) roomFor(specs ...block.Spec) error {
	if h.Memory == nil {
		return nil
	}
	need := ownMemory
	for _, s := range specs {
		need += s.Memory()
	}
	if most := h.Memory().Most; need > most {
		return load.Refuse("limit memory to %v: the program and its requests in flight need %v: choose more, or fewer --qd and --threads", most, need)
	}
	return nil
}

// memory is what a run was held to.
func (h Hooks) memory() *block.Memory {
	if h.Memory == nil {
		return nil
	}
	return h.Memory()
}

// Limited makes f's loads under a limit on this process and on what the page cache holds
// for it, 0: under none. A client that keeps a whole file in memory says nothing of its
// server. A refusal says what is missing.
func Limited(most unit.Bytes, h Hooks, f func(Hooks) error) (err error) {
	switch {
	case most == 0:
		return f(h)
	case most < ownMemory:
		return load.Refuse("limit memory to %v: the program itself needs %v", most, ownMemory)
	}
	c, err := kernel.CapMemory("/", os.Getpid(), most)
	if err != nil {
		return load.Refuse("limit memory to %v: %w; be root, or without --ram begin the whole command with: systemd-run --user --scope -p MemoryMax=%d", most, err, int64(most))
	}
	defer func() {
		if eerr := c.End(os.Getpid()); eerr != nil {
			err = errors.Join(err, fmt.Errorf("after the load: %w", eerr))
		}
	}()
	h.Memory = func() *block.Memory {
		peak, _ := c.Peak() // 0 where this kernel does not tell
		return &block.Memory{Most: c.Most, Peak: peak, V2: c.V2}
	}
	return f(h)
}
