package loop

import (
	"context"
	"testing"
)

// A panic of what reads a host goes on, after what the view has to do before: its terminal is given back.
func TestAPanicOfWhatReadsAHostIsToldFirst(t *testing.T) {
	told := false
	e := &liveEnd{LiveEnd: LiveEnd{Dial: func(context.Context) (LiveAgent, error) { panic("unforeseen") }}, crashed: func() { told = true }, done: make(chan struct{})}
	defer func() {
		if x := recover(); x != "unforeseen" || !told {
			t.Errorf("it ends with %v, told first: %v", x, told)
		}
	}()
	e.follow(t.Context())
	t.Error("it goes on")
}
