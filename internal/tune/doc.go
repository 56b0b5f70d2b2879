// Package tune changes settings of this host and puts them back.
//
// The order is always the same: the original value is in the journal and in
// undo.sh, both synced to disk, before the kernel is asked for anything; then
// the value is written; then it is read back, and the journal gets what the
// kernel accepted. So a process killed at any moment leaves enough behind to
// undo what it did, with linerate or with a shell and coreutils: where undo.sh
// takes a program that the host lacks, a copy of linerate is kept for the script
// while changes are open. Undo goes backwards, may be repeated, and writes only
// where the value is still ours.
//
// The package refuses: a plan made before a reboot or on other values than it
// finds; a change that undo.sh could not put back; a value that is not in force
// after it was written; to overwrite what somebody else changed since (it shows
// ours, theirs and the original); to write runtime values of an earlier boot; a
// second linerate at the same state directory; and a journal it cannot read in
// full. NewPlan refuses, unless the user typed the value, to lower a limit and to
// trade safety for speed; nothing else here decides what to change.
package tune
