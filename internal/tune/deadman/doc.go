// Package deadman starts the process that undoes a plan unless it is confirmed: a transient timer
// of systemd if systemd is this host's first process, else a child in a session of its own that
// outlives the agent, its parents and the ssh session, and leaves the control groups of that
// session.
//
// It never reports a watcher as armed before that has been seen to run: the binary that will have
// to act is started and has to answer. It does not decide when to act and what to undo;
// tune.Watch does.
package deadman
