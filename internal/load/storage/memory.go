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

// Memory is a limit that this process has put on itself and on what the page cache
// holds for it: a client that keeps a whole file in memory says nothing of its server.
type Memory struct{ cap *kernel.MemoryCap }

// ownMemory is what a generator needs besides the requests in flight.
const ownMemory = 64 * unit.MiB

// LimitMemory puts the limit on; End takes it away. A refusal says what is missing.
func LimitMemory(most unit.Bytes) (*Memory, error) {
	if most < ownMemory {
		return nil, load.Refuse("limit memory to %v: the program itself needs %v", most, ownMemory)
	}
	c, err := kernel.CapMemory("/", os.Getpid(), most)
	if err != nil {
		return nil, load.Refuse("limit memory to %v: %w; be root, or without --ram begin the whole command with: systemd-run --user --scope -p MemoryMax=%d", most, err, int64(most))
	}
	return &Memory{c}, nil
}

// Seen is the limit, and what was taken.
func (m *Memory) Seen() *block.Memory {
	peak, _ := m.cap.Peak() // 0 where this kernel does not tell
	return &block.Memory{Most: m.cap.Most, Peak: peak, V2: m.cap.V2}
}

// End takes the limit away.
func (m *Memory) End() error { return m.cap.End(os.Getpid()) }

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

// Limited makes f's loads under a limit, 0: under none.
func Limited(most unit.Bytes, h Hooks, f func(Hooks) error) (err error) {
	if most == 0 {
		return f(h)
	}
	m, err := LimitMemory(most)
	if err != nil {
		return err
	}
	defer func() {
		if eerr := m.End(); eerr != nil {
			err = errors.Join(err, fmt.Errorf("after the load: %w", eerr))
		}
	}()
	h.Memory = m.Seen
	return f(h)
}
