// Package rules concludes from the facts of one host what may keep a transfer from running at
// line rate, before anything was measured: one file per rule, Facts → Finding. Rules are pure.
// They read nothing, change nothing and never guess a missing fact: a rule whose facts are absent
// or denied stays silent, because facts.CouldNotSee already says so. A finding is a possibility
// with a bound, not a verdict: verdicts come from measurement (package explain).
package rules
