// Package tree reads what is to be copied: a stream of entries in bounded memory, and the
// data of files in blocks with their holes left out. It opens everything below the roots
// without following a link, and holds no list of the whole tree. It refuses to change
// anything, and where the system is not Linux it refuses to start.
package tree

import (
	"fmt"

	"linerate/internal/move"
)

// Top is one thing that is copied, and where it comes to lie.
type Top struct {
	Dir  string // that is opened as the user typed it: links in it are followed
	Name string // the entry in it that is copied; "": what Dir holds
	As   string // path in the target; "": the target's root, of what a directory holds
}

// Options of a tree.
type Options struct {
	Exclude []string    // globs, see Excludes
	Verify  move.Verify // Full reads holes too
	Direct  bool        // large files past the page cache, where that can be had
	Plan    bool        // entries without xattrs: nothing is going to be read
	Cold    bool        // what this host's cache holds is dropped first: the file system is what is read
}

// directFrom is the size from which files are read past the cache: below, reading ahead
// gains more than the cache loses.
const directFrom = 32 << 20

// checkTops refuses what would have two things in one place.
func checkTops(tops []Top) error {
	seen := map[string]bool{}
	for _, t := range tops {
		if err := move.CheckPath(t.As); err != nil {
			return err
		}
		if t.As == "" && len(tops) > 1 {
			return fmt.Errorf("%s is one of several sources, and what it holds would lie among the others: copy it by itself, or name it without the '/' at its end", move.Quote(t.Dir))
		}
		if seen[t.As] {
			return fmt.Errorf("two sources come to lie at %s: copy them one after another", move.Quote("./"+t.As))
		}
		seen[t.As] = true
	}
	return nil
}
