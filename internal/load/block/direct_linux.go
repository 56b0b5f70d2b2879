package block

// Unproven is empty here: what came from the page cache is counted (Fetched), where that can be.
func (s Spec) Unproven() string { return "" }
