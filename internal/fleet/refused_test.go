package fleet

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

// What brokers say of a host that they admit no more is said with what to do, at each attempt.
func TestRefusedHostIsToldWhatToDo(t *testing.T) {
	for _, err := range []error{nats.ErrAuthorization, nats.ErrAuthRevoked, nats.ErrAuthExpired} {
		got := refused(fmt.Errorf("connect to broker: %w", err))
		if !strings.Contains(got.Error(), "this host was revoked") || !strings.Contains(got.Error(), "linerate agent enrol --replace") || !errors.Is(got, err) {
			t.Error(got)
		}
	}
	if err := errors.New("no route to host"); refused(err) != err {
		t.Error("another error is not left as it is")
	}
}
