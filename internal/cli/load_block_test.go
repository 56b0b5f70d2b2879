package cli

import (
	"testing"

	"linerate/internal/unit"
)

func TestBlockSizes(t *testing.T) {
	for text, want := range map[string]unit.Bytes{
		"4k": 4096, "256K": 256 * unit.KiB, "8m": 8 * unit.MiB, "1.5g": 1536 * unit.MiB, "2T": 2 * unit.TiB,
		"4KB": 4000, "4KiB": 4096, "512B": 512,
	} {
		if got, err := parseBlock(text); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "k", "4q", "-4k", "NaNk"} {
		if got, err := positive(parseBlock)(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}
