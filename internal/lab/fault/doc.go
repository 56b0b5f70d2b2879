// Package fault is the catalogue of faults that can be injected on purpose: into a link, a
// switch, a host, a server or an application. It injects a fault into a running lab through a
// small interface, removes it and restores exactly what was there, and reads and writes faults
// as words, from the catalogue ("loss-random severe") or set by hand ("link:client1-switch
// loss=0.1% delay=5ms").
//
// Read it in this order: lab.go (what a fault needs of a lab), fault.go (what a fault is),
// catalogue.go (the list), path.go, host.go, application.go, storage.go (the faults),
// effect.go (the steps that faults consist of), site.go (where in a topology they act),
// injection.go and free.go (faults as words), squeeze.go (the process that takes CPU time
// away).
//
// It measures nothing and judges nothing: whether a fault binds is measured by
// the caller of Inject. It refuses a fault that the given lab cannot have, and says which lab
// can. It touches nothing outside that lab.
//
// To add a fault: one entry in the list of its file. docs/faults.md is
// generated from the lists (go test ./internal/lab/fault -update).
package fault
