package rules

// All returns every rule, in the order in which findings of equal severity are
// shown.
//
// To add a rule: copy sack.go and its lines in rules_test.go to a new file,
// change both, and add one line here. docs/adding-a-rule.md has the details.
func All() []Rule {
	return []Rule{
		receiveBuffer(),
		receiveAutotuning(),
		windowScaling(),
		sendBuffer(),
		segmentation(),
		pcieSlot(),
		duplex(),
		slowPort(),
		sack(),
		timestamps(),
	}
}
