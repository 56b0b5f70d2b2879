package rules

import (
	"fmt"
	"strings"

	"linerate/internal/model"
)

// datasetsWith names the datasets for which will returns true, at most three of them, and the
// number of the rest.
func datasetsWith(f *model.Facts, will func(d model.ZFSDataset) bool) (names string, n int) {
	var list []string
	for _, d := range f.ZFS.Or(model.ZFS{}).Datasets {
		if will(d) {
			list = append(list, d.Name)
		}
	}
	if n = len(list); n > 3 {
		return strings.Join(list[:3], ", ") + fmt.Sprintf(" and %d more", n-3), n
	}
	return strings.Join(list, ", "), n
}

// poolOf is the pool of a dataset.
func poolOf(d model.ZFSDataset) string {
	pool, _, _ := strings.Cut(d.Name, "/")
	return pool
}
