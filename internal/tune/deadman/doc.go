// Package deadman starts the process that undoes a plan unless somebody
// confirms it: a transient timer of systemd where systemd is this host's first
// process, else a child in a session of its own that outlives the agent, its
// parents and the ssh session, and leaves the control groups of that session.
//
// It refuses to say that a watcher is armed before that has been seen to run:
// the very binary that will have to act is started and has to answer. It
// decides nothing about when to act and what to undo; that is tune.Watch.
package deadman
