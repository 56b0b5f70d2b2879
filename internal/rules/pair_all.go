package rules

// AllPairs returns every pair rule, in the order in which findings of equal
// severity are shown. To add one: copy pair_mtu_differs.go, and add a line here
// and a row to the table of pair_test.go.
func AllPairs() []PairRule {
	return []PairRule{
		pairBlackHole(),
		pairReversePath(),
		pairSlowPort(),
		pairARPFlux(),
		pairOtherAnswers(),
		pairAsymmetric(),
		pairMTUDiffers(),
		pairPathMTU(),
		pairReceiveWindow(),
		pairSendBuffer(),
		pairPause(),
		pairSpeeds(),
	}
}
