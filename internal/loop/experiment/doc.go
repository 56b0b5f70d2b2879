// Package experiment makes the runs of a study over any number of hosts: it puts them into the
// state that a run needs, checks whether the run can count, makes it, and records the outcome;
// at the end it undoes everything.
//
// Every change goes through the journal of its host. A host undoes a treatment by itself if
// the experiment does not do so in time. A step of the baseline, which is in force for the
// whole study, is kept in the host's journal and undone at the end or when the study is
// resumed. A change of several hosts is made on all of them or on none.
//
// It refuses to choose the next run, which is the Director's task, and to draw conclusions,
// which is the task of package drive. It does not know how hosts are reached, what a lab is,
// or any file format, and counts no run that it has reason to doubt.
package experiment
