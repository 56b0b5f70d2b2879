package wire

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"linerate/internal/move"
)

// keeping is a source that keeps names of which it is told, and was not read whole if unread.
type keeping struct {
	*memoryTree
	keep   func(move.Name) bool
	unread int64
	fails  error
	asked  int
}

func (k *keeping) Keeps(_ context.Context, names []move.Name) (out []bool, err error) {
	k.asked++
	for _, n := range names {
		out = append(out, k.keep(n))
	}
	return out, k.fails
}

func (k *keeping) Unread(context.Context) (int64, error) { return k.unread, nil }

// tidying is a sink that asks in the end.
type tidying struct {
	*memorySink
	tidy func(context.Context, move.Keeper) error
}

func (s *tidying) Tidy(ctx context.Context, k move.Keeper) error {
	if !s.finished {
		return errors.New("asked before all was durable")
	}
	return s.tidy(ctx, k)
}

func TestASinkAsksAfterTheEndWhatItsSourceKeeps(t *testing.T) {
	l, d := parties(t, true)
	k := &keeping{memoryTree: sampleTree(3), keep: func(n move.Name) bool { return n.Directory }, unread: 7}
	long := strings.Repeat("x", 200) + "/"
	var names []move.Name
	for i := range 9000 { // more than one question may hold, by count and by bytes
		names = append(names, move.Name{Path: fmt.Sprintf("%s%s%d\xff", long, long, i), Directory: i%3 == 0})
	}
	s := &tidying{memorySink: newMemorySink()}
	s.tidy = func(ctx context.Context, of move.Keeper) error {
		if n, err := of.Unread(ctx); err != nil || n != 7 {
			t.Errorf("%d entries unread, %v", n, err)
		}
		got, err := of.Keeps(ctx, names)
		if err != nil || len(got) != len(names) {
			return fmt.Errorf("%d answers, %w", len(got), err)
		}
		for i, is := range got {
			if is != names[i].Directory {
				t.Fatalf("name %d: %v", i, is)
			}
		}
		return nil
	}
	_, _, send, receive := runEnds(t, d, l, k, s, Options{})
	if send != nil || receive != nil || k.asked < 4 {
		t.Error(send, receive, k.asked)
	}
}

// A source that cannot say what it has, or a question that is none, ends the run as failed.
func TestADoubtfulAnswerIsNone(t *testing.T) {
	for name, c := range map[string]struct {
		fails error
		ask   string
	}{"the source fails": {errors.New("stale handle"), "a"}, "no path": {nil, "../a"}} {
		l, d := parties(t, false)
		k := &keeping{memoryTree: sampleTree(3), keep: func(move.Name) bool { return false }, fails: c.fails}
		s := &tidying{memorySink: newMemorySink()}
		answered := false
		s.tidy = func(ctx context.Context, of move.Keeper) error {
			out, err := of.Keeps(ctx, []move.Name{{Path: c.ask}})
			answered = out != nil
			return err
		}
		_, _, send, receive := runEnds(t, d, l, k, s, Options{})
		if send == nil || receive == nil || answered {
			t.Errorf("%s: %v, %v, %v", name, send, receive, answered)
		}
	}
}

func TestNoQuestionIsAnsweredBeforeTheEnd(t *testing.T) {
	s := &sender{src: &keeping{memoryTree: sampleTree(3)}}
	if err := s.answerAsked(t.Context(), askMessage{{Path: "a"}}.append(nil)); !errors.Is(err, errMessage) {
		t.Error(err)
	}
}
