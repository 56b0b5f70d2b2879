package store

// syncDir does nothing: Windows cannot flush a directory handle; NTFS journals the rename itself.
func syncDir(string) error { return nil }
