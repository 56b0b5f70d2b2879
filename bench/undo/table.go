package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"linerate/bench/kit"
)

// table counts cases by host and plan.
type table struct {
	progress      io.Writer
	rows          []*row
	cases, broken int
}

// row is one plan on one host.
type row struct {
	host, plan     string
	steps          int // of the plan's life
	count          map[mishap]int
	forced, broken int
}

const maxShown = 20

// shared lets the table and os/exec, which copies a child's stderr in a goroutine,
// write to the same place.
type shared struct {
	mu  sync.Mutex
	out io.Writer
}

// Write implements io.Writer.
func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(b)
}

func newTable(progress io.Writer) *table { return &table{progress: &shared{out: progress}} }

func (t *table) add(host, plan string, what mishap, step int, o outcome, err error) {
	r := t.row(host, plan)
	r.steps = max(r.steps, step)
	r.count[what]++
	t.cases++
	if o.forced {
		r.forced++
	}
	if err == nil {
		return
	}
	r.broken++
	t.broken++
	if t.broken <= maxShown {
		fmt.Fprintf(t.progress, "BROKEN: %s, %s, %s at step %d (%s): %v\n", host, plan, what, step, o.name, err)
	}
}

func (t *table) row(host, plan string) *row {
	for _, r := range t.rows {
		if r.host == host && r.plan == plan {
			return r
		}
	}
	r := &row{host: host, plan: plan, count: map[mishap]int{}}
	t.rows = append(t.rows, r)
	fmt.Fprintf(t.progress, "%s: %s\n", host, plan)
	return r
}

func (t *table) print(out io.Writer, took time.Duration) {
	head := []string{"host", "plan", "steps"}
	for _, m := range mishaps() {
		head = append(head, string(m))
	}
	kit.Head(out, append(head, "three-way, then --force", "not as it was")...)
	for _, r := range t.rows {
		fmt.Fprintf(out, "| %s | %s | %d |", r.host, r.plan, r.steps)
		for _, m := range mishaps() {
			fmt.Fprintf(out, " %d |", r.count[m])
		}
		fmt.Fprintf(out, " %d | %d |\n", r.forced, r.broken)
	}
	fmt.Fprintf(out, "\n%d cases (%s), %d not as it was, %v\n", t.cases, t.kinds(), t.broken, took.Round(time.Second))
}

// kinds counts the cases of each kind of host, in the order they came.
func (t *table) kinds() string {
	var hosts []string
	count := map[string]int{}
	for _, r := range t.rows {
		if count[r.host] == 0 {
			hosts = append(hosts, r.host)
		}
		for _, n := range r.count {
			count[r.host] += n
		}
	}
	var out []string
	for _, h := range hosts {
		out = append(out, fmt.Sprintf("%s %d", h, count[h]))
	}
	return strings.Join(out, ", ")
}
