package block

// Unproven is empty here: Windows reads and writes such a file (FILE_FLAG_NO_BUFFERING) past its cache or not at all.
func (s Spec) Unproven() string { return "" }
