package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"syscall"
)

// slewed has the clock of the host that has a kernel of its own run faster or slower by so many
// parts in a million from then on, until the host is gone: ntpd slews by 500, chronyd by default
// by as much as 83,333 (chrony.conf(5), maxslewrate).
func slewed(ppm int64) func(context.Context, *station, *strike) error {
	return func(ctx context.Context, s *station, x *strike) error {
		self, err := os.Executable()
		if err != nil || !x.moment(ctx, s) {
			return err
		}
		x.hit = true
		_, err = s.Run(ctx, onHost(kernelHost, self, "-slew", strconv.FormatInt(ppm, 10))...)
		return err
	}
}

// The fields of struct timex that adjtimex(2) is to take, and the length of a tick in microseconds
// at the 100 ticks a second of the interface.
const (
	adjFrequency, adjTick = 0x0002, 0x4000
	tick                  = 10000
)

// slewMain sets the rate of this kernel's clock: by its tick as chronyd does, in steps of 100 ppm,
// and the rest by its frequency as ntpd does.
func slewMain(ppm int64) error {
	ticks := int64(math.Round(float64(ppm) / 100))
	if ppm >= -500 && ppm <= 500 {
		ticks = 0
	}
	const scale = 1 << 16 // of timex.freq
	t := syscall.Timex{Modes: adjFrequency | adjTick, Tick: tick + ticks, Freq: (ppm - 100*ticks) * scale}
	if _, err := syscall.Adjtimex(&t); err != nil {
		return fmt.Errorf("slew the clock by %d ppm: %w", ppm, err)
	}
	return nil
}
