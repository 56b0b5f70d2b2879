package model

// HostFiles are the texts in which a host keeps its tuning, and what is needed
// to judge them. Paths are absolute and slash-separated.
type HostFiles struct {
	OS     string `json:"os"`     // linux, illumos, macos, windows
	Kernel string `json:"kernel"` // release; empty: not known
	// Files are the texts. Of a link, the text of what it leads to.
	Files map[string]string `json:"files"`
	// Links are those of Files that are symbolic links, with where they lead.
	Links map[string]string `json:"links,omitempty"`
	// Owners are the packages that brought a file, where the host tells.
	Owners map[string]string `json:"owners,omitempty"`
	// Now holds the running values of sysctls by dotted name; of a tree that
	// was not recorded with them, none.
	Now map[string]string `json:"now,omitempty"`
	// TCPNames are the names in /proc/sys/net/ipv4, to tell a sysctl that the
	// kernel has from one it has not; nil: not known.
	TCPNames []string `json:"tcp_names,omitempty"`
	// Unread are files that are there and could not be read, with the reason.
	Unread map[string]string `json:"unread,omitempty"`
}
