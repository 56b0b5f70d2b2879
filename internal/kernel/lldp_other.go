//go:build !linux

package kernel

import (
	"context"
	"time"
)

// HearLLDP is not available on this operating system yet.
func HearLLDP(context.Context, time.Duration) ([]Heard, error) { return nil, notHere("hear LLDP") }
