package document

import (
	"slices"
	"strings"
)

// leastCell is the least width that a broken column is still read in, mostName
// that of the longest name that is kept whole.
const (
	leastCell = 13
	mostName  = 40
)

// table writes columns where they fit, breaking the cells of texts, else a block
// of lines for each row.
func (t *terminal) table(x Table) {
	if x.Caption != "" {
		t.lines(x.Caption, "", sgrDim)
	}
	rows, head := textRows(x)
	widths := make([]int, len(x.Head))
	for _, r := range append([][]string{head}, rows...) {
		for i := range widths {
			widths[i] = max(widths[i], length(strings.TrimRight(Plain(r[i]), " ")))
		}
	}
	if !t.columns(x, rows, widths) {
		t.rowBlocks(x, rows)
	} else {
		if strings.Join(head, "") != "" {
			t.row(x, head, widths)
		}
		for i, r := range rows {
			t.row(x, r, widths)
			t.below(x, i)
		}
	}
	for _, n := range x.Notes {
		t.lines(n, "", sgrDim)
	}
}

// textRows are the cells as text: second lines in brackets, heads in capitals.
func textRows(x Table) (rows [][]string, head []string) {
	for _, c := range x.Head {
		head = append(head, strings.ToUpper(c.Name))
	}
	for _, r := range x.Rows {
		row := make([]string, len(x.Head))
		for i, e := range r[:min(len(r), len(row))] {
			row[i] = joined(e.Text, bracketed(e.Sub))
		}
		rows = append(rows, row)
	}
	return rows, head
}

// columns narrows the widest columns of texts until the table fits: first to
// their longest words, then within these, but
// for those of the first column, which are names. It tells whether it fits.
func (t *terminal) columns(x Table, rows [][]string, widths []int) bool {
	least := make([]int, len(widths))
	for i := range widths {
		for _, r := range rows {
			for _, w := range words(Plain(r[i])) {
				least[i] = max(least[i], leastCell, length(w)+lead(r[i]))
			}
		}
	}
	if t.narrow(x, widths, least) {
		return true
	}
	for i := range least {
		least[i] = min(least[i], map[bool]int{true: mostName, false: leastCell}[i == 0])
	}
	return t.narrow(x, widths, least)
}

func (t *terminal) narrow(x Table, widths, least []int) bool {
	for {
		sum, widest := 2*len(widths), -1
		for i, w := range widths {
			sum += w
			if !x.Head[i].Num && w > least[i] && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if sum <= t.full || widest < 0 {
			return sum <= t.full
		}
		widths[widest]--
	}
}

func (t *terminal) row(x Table, cells []string, widths []int) {
	broken, height := make([][]string, len(cells)), 1
	for i, c := range cells {
		broken[i] = cut(c, max(widths[i], 1))
		if len(broken[i]) > 1 && x.Head[i].Clip {
			p := Plain(c)
			broken[i] = []string{strings.TrimRight(p[:fitting(p, widths[i]-1)], " ,") + "…"}
		}
		height = max(height, len(broken[i]))
	}
	for n := range height {
		line := ""
		for i, c := range broken {
			part := ""
			if n < len(c) {
				part = c[n]
			}
			if x.Head[i].Num {
				part = padLeft(part, widths[i])
			}
			line += "  " + pad(part, widths[i])
		}
		t.put(line)
	}
}

func (t *terminal) below(x Table, i int) {
	if i < len(x.Below) {
		t.lines(x.Below[i], "      ", sgrDim)
	}
}

// inText is a column's name within a line: an abbreviation such as RTT stays one.
func inText(name string) string {
	if name == strings.ToUpper(name) {
		return name
	}
	return strings.ToLower(name)
}

func (t *terminal) rowBlocks(x Table, rows [][]string) {
	name := 0
	for _, c := range x.Head[min(1, len(x.Head)):] {
		name = max(name, length(Plain(c.Name)))
	}
	for i, r := range rows {
		t.lines(strings.TrimSpace(slices.Concat(r, []string{""})[0]), "  ", sgrBold)
		for j := 1; j < len(r); j++ {
			if strings.TrimSpace(r[j]) != "" {
				t.hang("    "+pad(Plain(inText(x.Head[j].Name)), name)+"  ", r[j], "")
			}
		}
		t.below(x, i)
	}
}
