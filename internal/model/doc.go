// Package model holds the values that flow through linerate, from what a host
// was seen to be (Facts) over what it was measured to do (Sample) to what is
// concluded (Verdict) and changed (Change). It imports nothing of ours but
// unit, does nothing, and knows no host, clock or file.
package model
