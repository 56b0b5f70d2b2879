// Package experiment makes the runs of a study over any number of hosts: it puts
// them into the state that a run needs, checks whether the run can count, makes it,
// and records the outcome; at the end it puts everything back.
//
// Every change goes through the journal of its host. A host undoes a treatment by
// itself if that is not done in time; a step of the baseline, which holds for the
// whole study, is kept in the host's journal and undone at the end or when the study
// is resumed. A change of several hosts is made on all of them or on none.
//
// It refuses to choose the next run, which is the Director's part, and to conclude
// anything, which is the part of package drive. It knows no way to reach a host, no
// lab and no file format, and counts no run that it has reason to doubt.
package experiment
