package place

import "sync"

// crowd are those who make files in one directory of a mount of SMB. Its client makes them one after
// another, and TCP holds a small request back while data are under way to the server (Nagle's algorithm,
// which Linux leaves on there): who has made a file writes to it once few wait to make theirs.
type crowd struct {
	mu    sync.Mutex
	fewer *sync.Cond // nil: nobody has waited yet
	n     int
}

// crowded is how many may wait to make a file while others write.
const crowded = 4

// join notes one who is about to make a file.
func (c *crowd) join() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n++; c.fewer == nil {
		c.fewer = sync.NewCond(&c.mu)
	}
}

// made notes that it was made, or could not be, and returns once few are about to.
func (c *crowd) made() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n--; c.n < crowded {
		c.fewer.Broadcast()
	}
	for c.n >= crowded {
		c.fewer.Wait()
	}
}
