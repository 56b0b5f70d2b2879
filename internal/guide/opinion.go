package guide

// Opinion is what the guide says of a value in force on the setting's own system, with the
// source; NotKnown where it has no entry of that id. An unknown release is the empty one.
func Opinion(id, value string, r Release) (Status, string, []string) {
	s, ok := Find(id)
	if !ok {
		return NotKnown, "", nil
	}
	status, why := s.opinionOn(value, r)
	return status, why, s.Sources
}
