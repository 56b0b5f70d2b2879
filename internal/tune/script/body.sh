
# What every plan has.
say() { printf '%s\n' "$*"; }
usage() {
	say "usage: sh $0 status | apply [MINUTES] | confirm | undo [--force]" >&2
	say "  apply MINUTES undoes everything by itself after that time, unless it is confirmed" >&2
	exit 2
}
fail() { say "$*" >&2; exit 1; }

LC_ALL=C; export LC_ALL
PATH="$PATH:/usr/bin:/usr/sbin:/bin:/sbin"; export PATH
umask 077
dir=$state/$plan

# owned PATH: a directory of root's that nobody else can write to, and no link.
owned() {
	[ -d "$1" ] && [ ! -h "$1" ] || return 1
	case $(ls -ldn "$1") in
	d????-??-??*) ;; # neither the group nor others write
	*) return 1 ;;
	esac
	set -- $(ls -ldn "$1")
	[ "$3" = "$me" ]
}

prepare() {
	[ "$(uname -s)" = "$system" ] || fail "this script is for $system, and this host is $(uname -s): nothing was done"
	me=$(id -u) || exit 1
	[ "$me" = 0 ] || [ -n "$unprivileged" ] || fail "it takes root, and this is user $me: nothing was done"
	if [ ! -d "$state" ] && [ "$1" != apply ]; then return; fi
	# What lies above the records is for everybody, also where this host has none of it yet.
	[ -d "$state" ] || { (umask 022 && mkdir -p "${state%/*/*}") && mkdir -p "$state"; } || fail "cannot make $state: nothing was done"
	owned "$state" || fail "$state is no directory that only root can write to: nothing was done"
	if [ ! -d "$dir" ] && [ "$1" != apply ]; then return; fi
	[ -d "$dir" ] || mkdir "$dir" || fail "cannot make $dir: nothing was done"
	owned "$dir" || fail "$dir is no directory that only root can write to: nothing was done"
}

# keep NAME TEXT: a file is whole or is not there.
keep() {
	printf 'is %s.\n' "$2" >"$dir/$1.new" && mv -f "$dir/$1.new" "$dir/$1" && sync
}

# kept NAME: its text; fails where it is not there or not whole.
kept() {
	[ -f "$dir/$1" ] || return 1
	text=$(cat "$dir/$1") || return 1
	case $text in
	'is '*.) text=${text#is }; text=${text%.} ;;
	*) return 1 ;;
	esac
}

# holder PATH: the process that a lock names. It is a link to that name and to no file: made in
# one step, so that there is none without its process.
holder() { ls -ld "$1" 2>/dev/null | sed -n 's/.* -> process-//p'; }

lock() {
	tries=0
	until ln -s "process-$$" "$dir/lock" 2>/dev/null; do
		held=$(holder "$dir/lock")
		if [ -z "$held" ] && [ ! -h "$dir/lock" ] && ! : 2>/dev/null >"$dir/try"; then
			case $1 in
			undo | unconfirmed | status) return ;; # a disk that takes nothing must not keep the values changed
			esac
			fail "cannot write to $dir: nothing was done"
		fi
		if [ -n "$held" ] && ! kill -0 "$held" 2>/dev/null; then
			# It was killed. Of two that see this, one gets to move the lock away.
			if mv "$dir/lock" "$dir/lock.$$" 2>/dev/null && [ "$(holder "$dir/lock.$$")" != "$held" ]; then
				mv "$dir/lock.$$" "$dir/lock"
				fail "another run of this plan is at work: nothing was done"
			fi
			rm -f "$dir/lock.$$"
			continue
		fi
		tries=$((tries + 1))
		[ $tries -le "$patience" ] || fail "another run of this plan is at work (process $held): nothing was done"
		sleep 1
	done
	trap 'rm -f "$dir/lock" "$dir/try"' EXIT
}

# read_step N: its value now.
read_step() {
	now=$("read_$1" </dev/null) || return 1
	[ -n "$now" ]
}

# names N: sets setting, from, to, runtime and file to those of a step.
names() { "step_$1"; }

status() {
	n=1
	open=0
	while [ $n -le $steps ]; do
		names $n
		if ! read_step $n; then
			say "$setting: cannot be read"
		elif kept $n.begun; then
			open=$((open + 1))
			say "$setting: $now (original $from, wanted $to): changed by this plan"
		else
			say "$setting: $now (wanted $to)"
		fi
		n=$((n + 1))
	done
	if kept waiting; then say "waits to be confirmed: $plan"; fi
	say "$open of $steps changes are open"
}

# check_all: before anything is changed, each value has to be what the plan was made for.
check_all() {
	n=1
	while [ $n -le $steps ]; do
		names $n
		read_step $n || fail "$setting: cannot be read: nothing was changed"
		if [ "$now" != "$to" ]; then
			said=$("ready_$n" 2>&1 </dev/null) || fail "$setting: $said: nothing was changed"
		fi
		if [ "$now" != "$from" ] && [ "$now" != "$to" ] && ! { kept $n.after && [ "$now" = "$text" ]; }; then
			fail "$setting: is $now, and the plan was made for $from: nothing was changed; make a new plan"
		fi
		n=$((n + 1))
	done
}

roll_back() {
	trap '' INT TERM HUP PIPE
	say "$1: what this plan changed is put back" >&2
	rolling=yes
	undo_all
	if [ $failures != 0 ] || [ $conflicts != 0 ]; then
		say "not everything could be put back: $failures failed, $conflicts left alone; look with: sh $dir/change.sh status" >&2
	fi
	if [ $failures != 0 ] && [ -e "$dir/waiting" ]; then
		say "at the time of its job this host tries again by itself" >&2
		exit 4
	fi
	if [ -e "$dir/waiting" ]; then
		rm -f "$dir/waiting"
		unschedule
	fi
	[ $failures = 0 ] || say "this host does not try again by itself, since the plan was applied without minutes: sh $dir/change.sh undo" >&2
	[ $failures = 0 ] && [ $conflicts = 0 ] && exit 1
	exit 4
}

apply() {
	check_all
	if [ ! "$0" -ef "$dir/change.sh" ] 2>/dev/null; then
		cp "$0" "$dir/change.sh.new" && mv -f "$dir/change.sh.new" "$dir/change.sh" && sync ||
			fail "cannot keep a copy of this script in $dir: nothing was changed"
	fi
	if [ -n "$minutes" ]; then
		keep waiting "$boot" || fail "cannot write to $dir: nothing was changed"
		schedule "$minutes" || { rm -f "$dir/waiting"; fail "this host does not take a job for later, so that nothing would undo the plan by itself: nothing was changed"; }
	fi
	trap 'roll_back interrupted' INT TERM HUP PIPE
	n=1
	while [ $n -le $steps ]; do
		names $n
		read_step $n || roll_back "$setting: cannot be read"
		if [ "$now" = "$to" ] && ! kept $n.begun; then
			keep $n.already "$boot" || roll_back "$setting: its record cannot be written"
			say "$setting: is $to already"
		elif kept $n.begun && kept $n.after && [ "$now" = "$text" ]; then
			say "$setting: $from -> $now, by an earlier run"
		else
			file_keep || roll_back "$setting: ${file:-it} cannot be copied to $dir before it is changed"
			keep $n.begun "$boot" || roll_back "$setting: its record cannot be written"
			value=$to
			said=$("write_$n" 2>&1 </dev/null) || roll_back "$setting: could not be set to $to: $said"
			read_step $n || roll_back "$setting: cannot be read after it was set"
			[ "$now" != "$from" ] || roll_back "$setting: was set to $to without an error, and is $from still"
			keep $n.after "$now" || roll_back "$setting: its record cannot be written"
			if [ "$now" = "$to" ]; then
				say "$setting: $from -> $to"
			else
				say "$setting: $from -> $now (the system made $now of $to)"
			fi
		fi
		n=$((n + 1))
	done
	trap - INT TERM HUP PIPE
	if [ -n "$minutes" ]; then
		say "undone by itself in $minutes minutes, unless confirmed: sh $dir/change.sh confirm"
	fi
	say "all $steps changes of $plan are in force"
	say "to have everything as it was: sh $dir/change.sh undo"
}

# undo_all puts back, newest first, what has a record, and leaves what somebody else changed.
undo_all() {
	undo_once
	# What one step could not take may have been another's to make room for, as a ceiling is.
	if [ $failures -gt 0 ]; then undo_once; fi
}

undo_once() {
	writing= # a copy is kept of what the plan writes, not of this
	conflicts=0
	failures=0
	n=$steps
	while [ $n -ge 1 ]; do
		names $n
		undo_step
		n=$((n - 1))
	done
}

# unrecorded: a step that has no record was not made, or its record is lost.
unrecorded() {
	if [ -n "$rolling" ] || [ -e "$dir/$n.already" ] || ! read_step $n || [ "$now" != "$to" ]; then
		return
	fi
	if [ -z "$force" ]; then
		say "$setting: is $to, as this plan wants it, and there is no record that the plan did it: left alone (undo --force sets it to $from)" >&2
		conflicts=$((conflicts + 1))
		return
	fi
	put_back
}

# put_back: sets a step to its original and reads it back.
put_back() {
	was=$now
	value=$from
	if said=$("write_$n" 2>&1 </dev/null) && read_step $n && [ "$now" = "$from" ]; then
		say "$setting: $was -> $from again"
		return
	fi
	say "$setting: could not be set back to $from: ${said:-it is $now}" >&2
	failures=$((failures + 1))
	return 1
}

undo_step() {
	if [ ! -e "$dir/$n.begun" ]; then
		unrecorded
		return
	fi
	kept $n.begun || text= # it was cut short: only the value tells
	if [ "$runtime" = yes ] && [ -n "$text" ] && [ "$text" != "$boot" ]; then
		say "$setting: changed before the last restart, which undid it"
		rm -f "$dir/$n.after" "$dir/$n.begun"
		return
	fi
	ours=$to
	if kept $n.after; then ours=$text; fi
	if ! read_step $n; then
		say "$setting: cannot be read; its original is $from" >&2
		failures=$((failures + 1))
		return
	fi
	if file_back; then
		say "$setting: $now -> $from again, and $file is as it was"
	elif [ "$now" = "$from" ]; then
		tidy_$n # a write that was killed may have left something
		say "$setting: is $from already"
	elif [ "$now" != "$ours" ] && [ "$now" != "$to" ] && [ -z "$force" ]; then
		say "$setting: changed by somebody else, left alone: ours $ours, theirs $now, original $from (undo --force restores it)" >&2
		conflicts=$((conflicts + 1))
		return
	else
		put_back || return 0
	fi
	rm -f "$dir/$n.after" "$dir/$n.begun" && file_forget || failures=$((failures + 1))
}

# again: an undo at its time that failed is tried again later; what somebody else changed is not.
again() {
	if [ $failures = 0 ]; then
		rm -f "$dir/waiting"
		unschedule
	elif [ -n "$later" ]; then
		say "this host tries again by itself" >&2
	else
		say "this host takes no job for later now, and does not try again by itself: sh $dir/change.sh undo" >&2
	fi
}

undo() {
	undo_all
	if [ $failures -gt 0 ] || [ $conflicts -gt 0 ]; then
		say "not everything was restored: $failures failed, $conflicts left alone" >&2
		if [ "$1" = unconfirmed ]; then again; fi
		exit 4
	fi
	rm -f "$dir/waiting"
	n=$steps
	while [ $n -ge 1 ]; do
		rm -f "$dir/$n.already"
		file_forget
		n=$((n - 1))
	done
	say "nothing of plan $plan is in force"
}

minutes=
force=
rolling=
writing=
patience=0
case ${1:-} in
status) [ $# = 1 ] || usage ;;
confirm) [ $# = 1 ] || usage ;;
unconfirmed) [ $# = 1 ] || usage; patience=300 ;;
undo) [ $# = 1 ] || { [ $# = 2 ] && [ "$2" = --force ]; } || usage; force=${2:-}; patience=60 ;;
apply)
	[ $# -le 2 ] || usage
	minutes=${2:-}
	case $minutes in
	*[!0-9]* | 0*) usage ;;
	esac
	;;
*) usage ;;
esac
prepare "$1"
boot=$(boot_now) || fail "cannot tell when this host started: nothing was done"
[ -n "$boot" ] || fail "cannot tell when this host started: nothing was done"
if [ -d "$dir" ]; then lock "$1"; fi
case $1 in
status) status ;;
apply) apply ;;
confirm)
	[ -e "$dir/waiting" ] || fail "nothing of plan $plan waits to be confirmed: it was confirmed, undone, or never waited"
	rm "$dir/waiting" && sync || exit 1
	say "confirmed: sh $dir/change.sh undo restores the values from before"
	unschedule
	;;
unconfirmed)
	[ -e "$dir/waiting" ] || exit 0
	later=yes # should this fail or be killed; a job that finds nothing to do does no harm
	[ "$repeats" = yes ] || schedule 10 || later=
	undo unconfirmed
	unschedule
	;;
undo)
	waited=
	[ ! -e "$dir/waiting" ] || waited=yes
	undo undo
	if [ -n "$waited" ]; then unschedule; fi
	;;
esac
