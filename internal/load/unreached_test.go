package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"linerate/internal/model"
)

func TestRefusal(t *testing.T) {
	dial := func(err error) error {
		return fmt.Errorf("worker: %w", &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)})
	}
	for _, tt := range []struct {
		name string
		err  error
		want model.Refusal // empty: it is no refusal
	}{
		{"RST", dial(syscall.ECONNREFUSED), model.Refused},
		{"an own firewall", dial(syscall.EPERM), model.Forbidden},
		{"a prohibit route", dial(syscall.EACCES), model.Forbidden},
		{"no route", dial(syscall.ENETUNREACH), model.NoRoute},
		{"no answer to ARP", dial(syscall.EHOSTUNREACH), model.HostUnreachable},
		{"the kernel gave up", dial(syscall.ETIMEDOUT), model.Unanswered},
		{"we gave up", fmt.Errorf("%w (within 10s)", errUnanswered), model.Unanswered},
		{"the dialer gave up", &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, model.Unanswered},
		{"told to stop", errStopped, ""},
		{"cancelled", context.Canceled, ""},
		{"the address is not this host's", dial(syscall.EADDRNOTAVAIL), ""},
		{"connected", nil, ""},
		{"something else", errors.New("set congestion control: no such file"), ""},
	} {
		if got, ok := refusal(tt.err); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, ok, tt.want)
		}
	}
}
