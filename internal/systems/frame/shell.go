package frame

import _ "embed" // the head of scripts

// head defines look, which runs a command and prints its frame.
//
//go:embed head.sh
var head string

// Shell is a whole script for sh. The lines of body are "look NAME COMMAND…".
func Shell(body string) string {
	return head + "echo '" + first + "'\n" + body + "echo \"" + last + "$n\"\n"
}
