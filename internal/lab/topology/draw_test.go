package topology

import (
	"bytes"
	"encoding/xml"
	"io"
	"path/filepath"
	"testing"

	"linerate/internal/kernel/golden"
)

// The drawings in docs/topologies are those that the program makes.
func TestDrawings(t *testing.T) {
	all, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, topo := range all {
		for _, d := range []struct {
			path string
			got  []byte
		}{
			{filepath.Join("..", "..", "..", "docs", "topologies", topo.Name+".svg"), SVG(topo)},
			{filepath.Join("testdata", topo.Name+".txt"), []byte(Text(topo))},
		} {
			golden.Same(t, d.path, d.got)
		}
	}
}

func TestDrawingIsXML(t *testing.T) {
	topo, err := Parse("x", bytes.Replace([]byte(good), []byte("two hosts"), []byte("a < b & c"), 1))
	if err != nil {
		t.Fatal(err)
	}
	dec := xml.NewDecoder(bytes.NewReader(SVG(topo)))
	for {
		if _, err := dec.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
