//go:build !linux

package kernel

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"

	"linerate/internal/model"
)

// OS is the operating system by its GOOS word.
func (Live) OS() string { return runtime.GOOS }

// TCPConns is not available on this operating system yet.
func (Live) TCPConns(context.Context, TCPFilter) ([]model.Conn, error) {
	return nil, notHere("list TCP connections")
}

// TCPAgain is not available on this operating system yet.
func (Live) TCPAgain(context.Context, []model.Conn) ([]model.Conn, error) {
	return nil, notHere("look up TCP connections")
}

// Links is not available on this operating system yet.
func (Live) Links(context.Context) ([]Link, error) { return nil, notHere("list interfaces") }

// Addrs is not available on this operating system yet.
func (Live) Addrs(context.Context) (map[int][]netip.Prefix, error) {
	return nil, notHere("list addresses")
}

// Routes is not available on this operating system yet.
func (Live) Routes(context.Context) ([]model.Route, error) { return nil, notHere("list routes") }

// Qdiscs is not available on this operating system yet.
func (Live) Qdiscs(context.Context) (map[int]model.QdiscCount, error) {
	return nil, notHere("list queueing disciplines")
}

// Firewall is not available on this operating system yet.
func (Live) Firewall(context.Context) ([]model.FirewallChain, error) {
	return nil, notHere("list firewall rules")
}

// Port is not available on this operating system yet: every fact says so.
func (Live) Port(string) Port {
	why := notHere("ask the driver").Error()
	return Port{
		Driver:   model.Unknown[string](model.Unsupported, why),
		Mbps:     model.Unknown[int](model.Unsupported, why),
		Duplex:   model.Unknown[string](model.Unsupported, why),
		Features: model.Unknown[map[string]bool](model.Unsupported, why),
	}
}

// Pauses is not available on this operating system yet.
func (Live) Pauses(string) *model.PauseCount { return nil }

// ReadFeatures is not available on this operating system yet.
func ReadFeatures(string) (map[string]bool, error) { return nil, notHere("read offload features") }

// SetFeatures is not available on this operating system yet.
func SetFeatures(string, map[string]bool) error { return notHere("set offload features") }

func notHere(what string) error {
	return fmt.Errorf("%s: unsupported on %s: %w", what, runtime.GOOS, errors.ErrUnsupported)
}
