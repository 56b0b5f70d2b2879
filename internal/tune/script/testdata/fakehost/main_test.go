package main

import "testing"

func TestValueIsKeptAndRefused(t *testing.T) {
	t.Setenv(valuesDir, t.TempDir())
	if code := value([]string{"get", "v"}); code != 1 {
		t.Errorf("a value that was never set: %d", code)
	}
	for how, want := range map[string]int{"": 0, "refuse:v": 1, "failing:v": 0, "refuse:other": 0} {
		t.Setenv(failSet, how)
		if code := value([]string{"set", "v", "7"}); code != want {
			t.Errorf("%q: %d, want %d", how, code, want)
		}
	}
	t.Setenv(failSet, "x,failing:v")
	if code := value([]string{"set", "v", "1"}); code != 1 {
		t.Errorf("the way back: %d", code)
	}
}
