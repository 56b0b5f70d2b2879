package host

import (
	"context"
	"testing"
	"time"

	"linerate/internal/model"
)

// The host goes on with a change whose caller is interrupted: the caller is told what was done,
// and can undo it only then.
func TestAnInterruptedChangeIsAwaited(t *testing.T) {
	t.Setenv(attackEnv, slowChange)
	sent := make(chan string, 1)
	c, err := Dial(t.Context(), localEndpoint(t, "server1"), Options{Log: func(line string) { sent <- line }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }() // how it ends says nothing
	ctx, interrupt := context.WithCancel(t.Context())
	type result struct {
		plan string
		err  error
	}
	got := make(chan result, 1)
	go func() {
		r, err := c.Apply(ctx, model.Plan{ID: "p"})
		got <- result{r.Plan, err}
	}()
	<-sent
	interrupt()
	if _, err := c.History(t.Context()); err != nil { // the agent answers both now
		t.Fatal(err)
	}
	if r := <-got; r.err != nil || r.plan != "p" {
		t.Errorf("%+v, want what the host has done", r)
	}
}

func TestAChangeWithoutAnAnswerIsSaidToBeUnanswered(t *testing.T) {
	t.Setenv(attackEnv, slowChange)
	c, err := Dial(t.Context(), localEndpoint(t, "server1"), Options{lateTime: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }() // how it ends says nothing
	ctx, interrupt := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer interrupt()
	if _, err := c.Apply(ctx, model.Plan{ID: "p"}); !Unanswered(err) {
		t.Errorf("%v", err)
	}
	if _, err := c.Undo(ctx, "p"); err == nil || Unanswered(err) {
		t.Errorf("what was never sent: %v", err)
	}
}
