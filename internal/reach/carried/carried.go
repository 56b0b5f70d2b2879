// Package carried has the program that linerate sends to hosts: what it is itself there, without
// the commands, a third of its size. Whoever builds linerate with release/build puts it in; in any
// other build there is none, and linerate sends itself. It refuses to run anything.
package carried

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"

	"github.com/klauspost/compress/zstd"

	"linerate/internal/host"
)

// program is the SHA-256 of the program, and then the program, compressed; empty where there is
// none. In the tree it is always empty: a build lays a file in its place, so that no program of an
// older tree is ever sent.
//
//go:embed program
var program []byte

// Agent is the program, for hosts of this build's system and machine.
func Agent() host.Packed { return read(program) }

func read(b []byte) host.Packed {
	if len(b) <= sha256.Size {
		return host.Packed{}
	}
	return host.Packed{Zstd: b[sha256.Size:], Sum: hex.EncodeToString(b[:sha256.Size])}
}

// Pack is a program as Agent reads it.
func Pack(b []byte) ([]byte, error) {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		return nil, fmt.Errorf("pack the program for hosts: %w", err)
	}
	sum := sha256.Sum256(b)
	return w.EncodeAll(b, sum[:]), w.Close()
}
