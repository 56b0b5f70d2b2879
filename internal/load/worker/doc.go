// Package worker is the process in which a load runs. It is told what to do by one JSON
// line on its standard input, its Task. It brings that load to the barrier, waits there
// until it is told to begin, and says how far it is by JSON lines on its standard output,
// its Events. Every kind of load is started, begun, watched and ended in this one way,
// whether by this host's own agent or by that of another.
//
// It refuses a task that has a field or a value that it does not know, lives no longer
// than its task's deadline, and ends at once when its input does: nobody is left then who
// asked for the load. What the loads do, and refuse to do, is said in packages load,
// storage and frames. The protocol is private to the processes of one build; its version
// is counted all the same.
package worker
