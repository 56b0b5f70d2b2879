//go:build linux

package main

import (
	"testing"

	"linerate/internal/model"
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		truth      span
		conclusion string
		want       string
	}{
		{span{1.07, 1.09}, model.StudyGain, foundIt},
		{span{1.07, 1.09}, model.StudyLoss, invented},
		{span{1.07, 1.09}, model.StudyNoEffect, missed},
		{span{1.07, 1.09}, model.StudyNotConverged, missed},
		{span{1.07, 1.09}, model.StudyUndecided, missed},
		{span{0.70, 0.75}, model.StudyLoss, foundIt},
		{span{0.70, 0.75}, model.StudyGain, invented},
		{span{0.70, 0.75}, model.StudyNotInForce, missed},
		{span{0.99, 1.01}, model.StudyGain, invented},
		{span{0.99, 1.01}, model.StudyLoss, invented},
		{span{0.99, 1.01}, model.StudyNoEffect, right},
		{span{0.99, 1.01}, model.StudyUndecided, open},
		{span{1.04, 1.06}, model.StudyGain, foundIt},
		{span{1.04, 1.06}, model.StudyNoEffect, right}, // whether it is 5% is not known
		{span{1.04, 1.06}, model.StudyNotConverged, open},
		{span{1.01, 1.02}, model.StudyGain, foundIt},
	} {
		if got := judge(c.truth, model.StudyComparison{Conclusion: c.conclusion}); got != c.want {
			t.Errorf("%v, %s: %s, want %s", c.truth, c.conclusion, got, c.want)
		}
	}
}

// Only effects of 5% and more can be missed, and an invented one counts whatever
// the true one is.
func TestCount(t *testing.T) {
	counts := map[string]int{}
	low := 0.9
	for _, x := range []struct {
		truth   span
		verdict string
	}{
		{effectOf(model.StudyComparison{CIHigh: &low}), foundIt}, {span{0.7, 0.8}, missed}, {span{0.7, 0.8}, invented},
		{span{1.01, 1.02}, foundIt}, {span{0.99, 1.01}, invented}, {effectOf(model.StudyComparison{}), open},
	} {
		count(counts, x.truth, x.verdict)
	}
	if counts[large] != 3 || counts[foundIt] != 1 || counts[missed] != 1 || counts[invented] != 2 {
		t.Errorf("%v", counts)
	}
}
