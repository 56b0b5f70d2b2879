//go:build !linux

package cli

import "errors"

// speakLLDP needs packet sockets.
func speakLLDP(string) error { return errors.New("no packet sockets on this system") }
