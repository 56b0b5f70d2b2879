package main

import (
	"strings"
	"testing"

	"linerate/internal/model"
)

func TestJudge(t *testing.T) {
	named := condition{name: "window", right: []model.LimiterID{model.ReceiverWindow}, atMost: 100 * megabit}
	refused := condition{name: "local"}
	for _, c := range []struct {
		what           string
		cond           condition
		exit           int
		stdout, stderr string
		copied         float64
		problem        string // part of it; empty: right
	}{
		{"the right name", named, 0, `{"verdict":{"limiter":"receiver-window"}}`, "", 50 * megabit, ""},
		{"another name", named, 0, `{"verdict":{"limiter":"server-time"}}`, "", 50 * megabit, "named server-time"},
		{"no JSON", named, 0, "oops", "", 50 * megabit, "print JSON"},
		{"an error where a verdict is due", named, 3, "", "linerate: idle\n", 50 * megabit, "no verdict"},
		{"a condition that was not in force", named, 0, `{"verdict":{"limiter":"receiver-window"}}`, "", 900 * megabit, "did not hold"},
		{"an error below progress", refused, 3, "", "  0.1s  looking\nlinerate: local file system\n", 0, ""},
		{"success where an error is due", refused, 0, "{}", "linerate: fine\n", 0, "exit 0"},
		{"an error without a word", refused, 1, "", "", 0, "does not say"},
	} {
		r := row{condition: c.cond, copied: c.copied}
		r.judge(runResult{Exit: c.exit}, []byte(c.stdout), []byte(c.stderr))
		r.check()
		if (c.problem == "") != (r.problem == "") || !strings.Contains(r.problem, c.problem) {
			t.Errorf("%s: problem %q, want %q", c.what, r.problem, c.problem)
		}
	}
}

func TestConditionsByName(t *testing.T) {
	got, err := chosen("loss,window")
	if err != nil || len(got) != 2 || got[0].name != "loss" || got[1].name != "window" {
		t.Errorf("chose %v, %v", got, err)
	}
	if _, err := chosen("loss,typo"); err == nil || !strings.Contains(err.Error(), "typo") {
		t.Errorf("a typo gives %v", err)
	}
}
