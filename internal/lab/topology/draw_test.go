package topology

import (
	"bytes"
	"encoding/xml"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "write the drawings anew")

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
			if *update {
				if err := os.MkdirAll(filepath.Dir(d.path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(d.path, d.got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(d.path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(d.got, want) {
				t.Errorf("%s is not what the program draws: go test ./internal/lab/topology -update", d.path)
			}
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
