//go:build linux

package main

import (
	"math"

	"linerate/internal/model"
)

// leastEffect is what DELL acknowledge: differences of 5% and more (BP1057, section
// 4). An effect as large has to be found.
const leastEffect = 0.05

// What a conclusion is, held against the true effect.
const (
	foundIt  = "found"
	right    = "right"    // no effect is claimed, and there is none as large as was excluded
	open     = "open"     // nothing is claimed, and nothing of 5% is there
	missed   = "missed"   // an effect of 5% that is not claimed, or one that is excluded
	invented = "invented" // an effect that is not there, or has the other sign
)

// large counts the true effects of 5% and more.
const large = "large"

// span is the interval of a true effect, as a ratio.
type span struct{ low, high float64 }

// effectOf is the interval of a comparison; an end that it does not have is
// unbounded.
func effectOf(c model.StudyComparison) span {
	s := span{0, math.Inf(1)}
	if c.CILow != nil {
		s.low = *c.CILow
	}
	if c.CIHigh != nil {
		s.high = *c.CIHigh
	}
	return s
}

// beyond tells whether the whole interval is farther from 1 than a margin.
func (s span) beyond(margin float64) bool { return s.low > 1+margin || s.high < 1-margin }

// judge holds a conclusion against the true effect. A conclusion is only wrong
// where the whole interval of the true effect speaks against it.
func judge(truth span, c model.StudyComparison) string {
	switch c.Conclusion {
	case model.StudyGain:
		if truth.low > 1 {
			return foundIt
		}
		return invented
	case model.StudyLoss:
		if truth.high < 1 {
			return foundIt
		}
		return invented
	case model.StudyNoEffect:
		if truth.beyond(leastEffect) {
			return missed
		}
		return right
	}
	if truth.beyond(leastEffect) {
		return missed
	}
	return open
}

// count notes a verdict: of effects of 5% and more whether they were found, of all
// whether they were invented.
func count(counts map[string]int, truth span, verdict string) {
	if truth.beyond(leastEffect) {
		counts[large]++
		if verdict == foundIt || verdict == missed {
			counts[verdict]++
		}
	}
	if verdict == invented {
		counts[invented]++
	}
}
