// Package beneath opens paths below a directory that is open already, so that no symlink
// and no ".." inside the path is followed: by openat2 where the kernel has it, else part by
// part. It walks paths longer than PATH_MAX in pieces. It refuses every path that
// move.CheckPath refuses; prefixes that the user typed are not its business.
package beneath

import "strings"

// pieceMax is below PATH_MAX (4096 with the NUL).
const pieceMax = 4000

// piece cuts a path so that the first piece fits one system call. Parts are at most 255
// bytes, so there is a '/' to cut at.
func piece(path string) (first, rest string) {
	if len(path) <= pieceMax {
		return path, ""
	}
	at := strings.LastIndexByte(path[:pieceMax], '/')
	return path[:at], path[at+1:]
}

// Split is a path's directory and last part.
func Split(path string) (dir, name string) {
	at := strings.LastIndexByte(path, '/')
	if at < 0 {
		return "", path
	}
	return path[:at], path[at+1:]
}
