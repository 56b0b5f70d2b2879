// Package experiment makes the runs of a study over any number of hosts: it puts
// them into the state that a run asks for, looks whether the run can count, makes
// it, and writes down what came out; at the end it puts everything back.
//
// Every change goes through the journal of its host. A treatment is undone by the
// host itself when nobody does so in time; a step of the baseline, which holds for
// the whole study, is kept in the host's journal and undone at the end or when the
// study is taken up again. What several hosts change together all of them change,
// or none does.
//
// It refuses to choose what is run next, and to conclude anything: the first is
// the Director's, the second of whoever reads its record. It knows no way to reach
// a host, no lab and no file format, and it never counts a run that it could not
// vouch for.
package experiment
