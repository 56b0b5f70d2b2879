package frames

import (
	"fmt"

	"linerate/internal/failure"
	"linerate/internal/unit"
)

// Format is a kind of frame: pixels, and how they lie in a file.
type Format struct {
	Name   string     `json:"name"` // resolution-pixels
	Width  int        `json:"width"`
	Height int        `json:"height"`
	Pixels string     `json:"pixels"`
	Header unit.Bytes `json:"header_bytes,omitempty"` // of a file that holds one frame
	// Bytes of a frame, header and padding of its lines included.
	Bytes unit.Bytes `json:"frame_bytes"`
}

// resolution is a size of picture. Sources: SMPTE ST 125 and ITU-R BT.601 (sd),
// ST 296 (hd720), ST 274 (hd), ST 2048-1 and DCI (2k, 4k), ST 2036-1 (uhd, 8k);
// the full apertures are those of film scanners.
type resolution struct {
	name          string
	width, height int
}

func resolutions() []resolution {
	return []resolution{
		{"ntsc", 720, 486}, {"pal", 720, 576}, {"hd720", 1280, 720}, {"hd", 1920, 1080},
		{"2k", 2048, 1080}, {"2k-full", 2048, 1556}, {"uhd", 3840, 2160}, {"4k", 4096, 2160}, {"4k-full", 4096, 3112}, {"8k", 7680, 4320},
	}
}

// pixels are a way to store a line.
type pixels struct {
	name, about string
	line        func(width int) int // bytes
	header      int
}

// dpxHeader is the whole header of a DPX file: generic, industry and user-defined
// parts as most writers have them (SMPTE ST 268).
const dpxHeader = 2048

func kinds() []pixels {
	up := func(n, to int) int { return (n + to - 1) / to }
	return []pixels{
		{"yuv8", "4:2:2, 8 bits: 2vuy, 2 bytes a pixel", func(w int) int { return 2 * w }, 0},
		// QuickTime's v210: six pixels in 16 bytes, and a line is whole 128 bytes.
		{"yuv10", "4:2:2, 10 bits: v210, 128 bytes for 48 pixels, lines padded", func(w int) int { return up(w, 48) * 128 }, 0},
		{"rgb8", "8 bits with alpha: 4 bytes a pixel", func(w int) int { return 4 * w }, 0},
		// QuickTime's r210 pads a line to 64 pixels.
		{"rgb10", "10 bits: r210, 4 bytes a pixel, lines of whole 64 pixels", func(w int) int { return up(w, 64) * 256 }, 0},
		{"dpx10", "10 bits: DPX, 4 bytes a pixel and a header of 2048", func(w int) int { return 4 * w }, dpxHeader},
		{"rgb12", "12 bits: packed, 36 bytes for 8 pixels", func(w int) int { return up(w, 8) * 36 }, 0},
		{"rgb16", "16 bits: b48r, 6 bytes a pixel", func(w int) int { return 6 * w }, 0},
	}
}

// Formats lists all of them, the smallest pictures first.
func Formats() []Format {
	var out []Format
	for _, r := range resolutions() {
		for _, p := range kinds() {
			out = append(out, Format{Name: r.name + "-" + p.name, Width: r.width, Height: r.height, Pixels: p.about,
				Header: unit.Bytes(p.header), Bytes: unit.Bytes(p.header + p.line(r.width)*r.height)})
		}
	}
	return out
}

// Find returns the format of a name.
func Find(name string) (Format, error) {
	for _, f := range Formats() {
		if f.Name == name {
			return f, nil
		}
	}
	return Format{}, failure.Advise(fmt.Errorf("find format %q: want RESOLUTION-PIXELS as uhd-yuv10", name), failure.ListFormats)
}
