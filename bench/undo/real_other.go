//go:build !linux

package main

import (
	"context"
	"errors"
)

func role([]string) (int, bool) { return 0, false }

// realKinds are Linux's.
func realKinds(string) map[string]func(context.Context, *table, int) error {
	none := func(context.Context, *table, int) error {
		return errors.New("namespaces, devices and kernels are Linux's: run it there, or with -hosts fake")
	}
	return map[string]func(context.Context, *table, int) error{"namespaces": none, "devices": none, "kernels": none}
}
