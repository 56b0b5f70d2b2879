package tree

import (
	"bytes"

	"linerate/internal/move"
)

// zeroUnit is the unit in which the content of holes is looked at.
const zeroUnit = 4096

var zeroes = make([]byte, zeroUnit)

// proof takes a range that was read whole, and the extents that the file system says hold
// data, and adds what lies in a hole and is not zero: holes can lie (OpenZFS #15526). The
// data of the result are moved together in place.
func proof(extents []move.Extent, at int64, whole []byte) (out []move.Extent, data []byte) {
	end := at + int64(len(whole))
	n, i := int64(0), 0
	add := func(from, to int64) {
		if last := len(out) - 1; last >= 0 && out[last].Offset+out[last].Length == from {
			out[last].Length += to - from
		} else {
			out = append(out, move.Extent{Offset: from, Length: to - from})
		}
		n += int64(copy(whole[n:], whole[from-at:to-at]))
	}
	for from := at; from < end; {
		if i < len(extents) && from == extents[i].Offset {
			add(from, from+extents[i].Length)
			from += extents[i].Length
			i++
			continue
		}
		to := min(end, (from/zeroUnit+1)*zeroUnit)
		if i < len(extents) {
			to = min(to, extents[i].Offset)
		}
		if !bytes.Equal(whole[from-at:to-at], zeroes[:to-from]) {
			add(from, to)
		}
		from = to
	}
	return out, whole[:n]
}
