// Package drive decides which run of a study comes next, and what the runs show.
//
// It is a state machine without side effects: New takes a study file, Add takes the runs in
// the order in which they were run, Next returns the next run or says that there is none. The
// runs are its whole state, so that an interrupted study resumes by adding the recorded runs
// again. Every random order is drawn from the file's seed.
//
// Protocol "linerate": blocks of treatment and baseline in random order, A/A blocks first, the
// test with planned looks of package study, Holm's correction over all declared comparisons,
// and the time budget spent where it decides most. Protocol "paper": groups of runs that have
// to agree, one baseline, a fixed margin.
//
// It refuses runs that do not belong to the file's plan, and conclusions between planned
// looks.
package drive
