package frames

// Most finds the largest number of streams, from from to to, that try accepts: it
// doubles until one is refused, and then halves the gap. It returns 0 where from
// is refused, and what was accepted so far with an error of try's.
func Most(from, to int, try func(streams int) (ok bool, err error)) (int, error) {
	good, bad := 0, to+1
	for n := from; ; {
		ok, err := try(n)
		if err != nil {
			return good, err
		}
		if ok {
			good = n
		} else {
			bad = n
		}
		switch {
		case good == 0 || bad-good <= 1:
			return good, nil
		case bad > to:
			n = min(2*good, to)
		default:
			n = (good + bad) / 2
		}
	}
}
