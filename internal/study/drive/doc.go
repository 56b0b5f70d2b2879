// Package drive says which run of a study comes next, and what the runs say.
//
// It is a state machine without effects: New takes a study file, Add the runs in
// the order they were made, Next names the run to make or says that there is
// none. Its state is the runs and nothing else, so a study that was killed goes
// on by adding the runs on record again. Every random order is drawn from the
// file's seed.
//
// Protocol "linerate": blocks in which treatment and baseline stand side by side
// in random order, A/A blocks first, the test with planned looks of package study,
// Holm over everything that was declared, and the time budget spent where it
// decides most. Protocol "paper": groups of runs that have to agree, one
// baseline, a fixed margin.
//
// It refuses runs that are not of the file's plan, and conclusions between
// planned looks.
package drive
