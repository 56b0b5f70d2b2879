package guide

// Status is the verdict on an advice, or on a value found on a host.
type Status string

// The statuses. WrongClaim is for statements that are not about a setting: numbers, mechanisms
// and methods of a paper. NotKnown means that nothing was judged.
const (
	Valid      Status = "valid"       // still right, under its precondition
	Stale      Status = "stale"       // was right once; something better has replaced it
	NoOp       Status = "no-op"       // changes nothing
	Harmful    Status = "harmful"     // makes things worse, or gives up safety
	WrongSide  Status = "wrong side"  // belongs to another system, or to the other end
	WrongName  Status = "wrong name"  // no such setting, or not the one that the author meant
	WrongClaim Status = "wrong claim" // a statement that does not hold
	NotKnown   Status = "not known"   // the guide has no entry
)

// Statuses lists them, the worst first.
func Statuses() []Status {
	return []Status{Harmful, WrongSide, WrongName, Stale, NoOp, WrongClaim, Valid, NotKnown}
}
