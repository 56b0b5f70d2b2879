// Package fault is the catalogue of what can be wrong on purpose: in a link, a
// switch, a host, a server or an application. It puts a fault into a running
// lab through a small interface, takes it out again exactly as it was, and
// reads and writes faults as words, from the catalogue ("loss-random severe")
// or set by hand ("link:client1-switch loss=0.1% delay=5ms").
//
// The way through it: lab.go (what is asked of a lab), fault.go (what a fault
// is), catalogue.go (the list), path.go, host.go, application.go, storage.go
// (the faults), effect.go (the steps they are made of), site.go (where in a
// topology they act), injection.go and free.go (faults as words), squeeze.go
// (the process that takes the CPU away).
//
// It measures nothing and judges nothing: whether a fault binds is measured by
// the caller of Inject. It refuses what the lab at hand cannot do, and says which
// lab could; it never pretends. It touches nothing outside the lab it is given.
//
// To add a fault: one entry in the list of its file. docs/faults.md is
// generated from the lists (go test ./internal/lab/fault -update).
package fault
