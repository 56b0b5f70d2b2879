package explain

import (
	"slices"

	"linerate/internal/model"
)

// contradictedCap is the most confidence in a limiter that a sign contradicts: less
// than that of the toss of a coin.
const contradictedCap = 0.45

// contradictions lists the signs that speak against a limiter on this flow, by its row
// of the table. A sign that no view shows speaks neither for it nor against it.
func (s *scene) contradictions(f *finding) []model.Contradiction {
	row := limiter(f.id)
	var out []model.Contradiction
	for _, id := range row.Must {
		if f.waives(id) {
			continue
		}
		if s.read(id).sight == notThere {
			out = append(out, model.Contradiction{Sign: id, Missing: true, What: signRow(id).Absent + ", unlike where " + string(f.id) + " is the limit"})
		}
	}
	for _, id := range row.MustNot {
		if r := s.read(id); r.sight == there && !f.waives(id) {
			out = append(out, model.Contradiction{Sign: id, What: r.what + ", which " + string(f.id) + " does not explain"})
		}
	}
	return out
}

func signRow(id model.Sign) model.SignRow {
	for _, r := range model.Signs() {
		if r.ID == id {
			return r
		}
	}
	return model.SignRow{ID: id}
}

// waives: the variant of the limiter that was found does not go by the sign.
func (f *finding) waives(id model.Sign) bool { return slices.Contains(f.waived, id) }
