package model

// HostFiles are the texts in which a host keeps its tuning, and what is needed
// to judge them. Paths are absolute and slash-separated.
type HostFiles struct {
	OS     string `json:"os"`     // linux, illumos, macos, windows
	Kernel string `json:"kernel"` // release; empty: not known
	// Files are the texts, with the lines that set nothing left blank. Of a
	// link, the text of what it leads to.
	Files map[string]string `json:"files"`
	// Links are those of Files that are symbolic links, with where they lead.
	Links map[string]string `json:"links,omitempty"`
	// Owners are the packages that brought a file, where the host tells.
	Owners map[string]string `json:"owners,omitempty"`
	// NoOwners says why a file without an owner may have one all the same.
	NoOwners string `json:"no_owners,omitempty"`
	// Now holds the running values of sysctls by dotted name; of a tree that
	// was not recorded with them, none.
	Now map[string]string `json:"now,omitempty"`
	// Running are the values in force of what is no sysctl.
	Running []Running `json:"running,omitempty"`
	// TCPNames are the names in /proc/sys/net/ipv4, to tell a sysctl that the
	// kernel has from one it has not; nil: not known.
	TCPNames []string `json:"tcp_names,omitempty"`
	// Unread are files that are there and could not be read, with the reason.
	Unread map[string]string `json:"unread,omitempty"`
}

// Running is a value in force now, in the words of the files that set it.
type Running struct {
	Setting string `json:"setting"`          // id as mechanism and name tell it, e.g. linux.ethtool.ring
	Name    string `json:"name"`             // e.g. "ring rx"
	Device  string `json:"device,omitempty"` // interface, disk, mount point, "irq 73"
	Value   string `json:"value"`
}
