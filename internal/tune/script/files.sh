
# Files that the host reads when it starts. What linerate writes there stands in a block between
# two marks at the end, so that it counts, and so that a person finds it. Before a step changes a
# file, the plan keeps a copy (N.was, or N.none where there was no file), and one of what it writes
# (N.wrote): while the file is that, undo puts the copy back, byte for byte. Where somebody else
# changed it since, undo takes out the plan's own lines alone.

# joined LINE: sets text to the line without its comment and blanks. In a file with sections only a whole
# line is a comment: what follows a value is part of it, but for the end of a line of Windows.
joined() {
	text=
	case $1 in '#'* | '*'* | '//'*) return ;; esac
	if [ -n "$within" ]; then
		text=${1#"${1%%[!	 ]*}"}
		text=${text%"$(printf '\r')"}
		case $text in
		'#'* | ';'*) text= ;;
		'['*) ;;
		*=*)
			set -- "${text%%=*}" "${text#*=}"
			text=${1%"${1##*[!	 ]}"}=${2#"${2%%[!	 ]*}"}
			;;
		esac
		return
	fi
	set -f
	IFS='	 '
	set -- ${1%%#*}
	IFS=
	text="$*"
	unset IFS
}

# Where a file has sections, as nsmb.conf, within is how the heading begins of the one that is meant: lines of
# the others count no more than if they were not there. A section may be named again: the last value counts.
within=

# section TEXT: the line is a heading, of the section "here" from then on; nsmb.conf has two names for one.
section() {
	case $1 in '['*) here=${1%%]*} ;; *) return 1 ;; esac
	if [ "$here" = '[global' ]; then here='[default'; fi
}

# file_get FILE BEFORE AFTER: the value that the last line assigns which is BEFORE, the value and
# AFTER; "unset" where there is none. A file that is not there assigns nothing.
file_get() {
	found=unset here=
	if [ ! -e "$1" ] && [ ! -h "$1" ]; then echo unset; return; fi
	[ -f "$1" ] && [ -r "$1" ] || { echo "$1 cannot be read as a file" >&2; return 1; }
	while IFS= read -r line || [ -n "$line" ]; do
		joined "$line"
		if [ -n "$within" ] && { section "$text" || [ "$here" != "$within" ]; }; then continue; fi
		case $text in
		"$2"*)
			text=${text#"$2"}
			case $text in
			'"'*'"') if [ -z "$within" ]; then text=${text#'"'}; text=${text%'"'}; fi ;;
			*) if [ -n "$3" ]; then text=${text%"$3"}; fi ;;
			esac
			found=${text:-unset}
			;;
		esac
	done <"$1" || return 1
	printf '%s\n' "$found"
}

# file_lines FILE MARK KIND BEFORE: of KIND outside the lines that are not in the block of linerate;
# of KIND inside those of it that are for other settings than BEFORE. Where sections count, what somebody
# wrote behind the block stays in the section that the block is of.
file_lines() {
	place=outside behind=
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		"$2 linerate: begin") place=inside; continue ;;
		"$2 linerate: end") place=outside behind=$within; continue ;;
		esac
		[ "$place" = "$3" ] || continue
		joined "$line"
		if [ -n "$behind" ] && [ "$place" = outside ] && [ -n "$text" ]; then
			case $text in '['*) ;; *) printf '%s\n' "$behind]" ;; esac
			behind=
		fi
		if [ "$place" = inside ]; then
			case $text in "$4"* | "${within:--}]") continue ;; esac
		fi
		printf '%s\n' "$line"
	done <"$1"
}

# file_says FILE MARK NAME: outside the block a line assigns something to NAME that is not empty.
file_says() {
	[ -r "$1" ] || return 1
	place=outside
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		"$2 linerate: begin") place=inside ;;
		"$2 linerate: end") place=outside ;;
		esac
		[ "$place" = outside ] || continue
		joined "$line"
		case $text in
		"$3="[!\"\']* | "$3="[\"\'][!\"\']*) return 0 ;;
		esac
	done <"$1"
	return 1
}

# copy_file FROM TO: a copy with owner, mode and times, and with the ACL and extended attributes
# where the system's cp has a way; it is whole or is not there.
copy_file() {
	rm -f "$2.new" || return 1
	# -@ is of illumos, --preserve of GNU; cp -p of FreeBSD keeps ACLs, of macOS all.
	cp -p@ "$1" "$2.new" 2>/dev/null || cp --preserve=all "$1" "$2.new" 2>/dev/null || cp -p "$1" "$2.new" || return 1
	cmp -s "$1" "$2.new" && sync && mv -f "$2.new" "$2" && sync
}

# rights FILE: mode, owner and ACL.
rights() {
	listed=$(ls -ldn "$1") || return 1
	set -- "$1" $listed
	printf '%s %s %s\n' "$2" "$4" "$5"
	{ getfacl "$1" || ls -dV "$1" || ls -lde "$1"; } 2>/dev/null | sed 1d
}

# same_file ONE OTHER: they have the same bytes and rights.
same_file() {
	[ -f "$1" ] && [ ! -h "$1" ] && [ -f "$2" ] && cmp -s "$1" "$2" || return 1
	one=$(rights "$1") && other=$(rights "$2") && [ -n "$one" ] && [ "$one" = "$other" ]
}

# file_ready FILE: fails, and says why, where it cannot be replaced without losing something.
file_ready() {
	[ ! -h "$1" ] || { echo "$1 is a link, which linerate does not replace"; return 1; }
	[ -e "$1" ] || return 0
	[ -f "$1" ] || { echo "$1 is no file"; return 1; }
	listed=$(ls -ldn "$1") || { echo "$1 cannot be looked at"; return 1; }
	names=$(set -- $listed; echo "$2")
	[ "$names" = 1 ] || { echo "$1 has $names names, and linerate would replace one of them"; return 1; }
	# FreeBSD's cp leaves extended attributes behind.
	if [ -n "$(lsextattr -q user "$1" 2>/dev/null)" ]; then
		echo "$1 has extended attributes, which linerate cannot keep here"
		return 1
	fi
}

# file_keep: before step n changes its file, what that is.
file_keep() {
	writing=yes
	if [ -z "$file" ] || same_file "$file" "$dir/$n.wrote"; then return 0; fi # an earlier run was killed after it
	rm -f "$dir/$n.wrote" "$dir/$n.was" || return 1
	if [ "$now" != "$from" ]; then
		writing= # ours is in it, and somebody else's too: no copy is what it was
		return 0
	fi
	rm -f "$dir/$n.none" || return 1
	if [ -e "$file" ]; then
		copy_file "$file" "$dir/$n.was"
	else
		keep $n.none "$boot"
	fi
}

# file_back: the file of step n is still what the step wrote, and is what it was again; fails
# where it is not.
file_back() {
	if [ -z "$file" ] || ! same_file "$file" "$dir/$n.wrote"; then return 1; fi
	if [ -f "$dir/$n.was" ]; then
		copy_file "$dir/$n.was" "$file.linerate-new" && mv -f "$file.linerate-new" "$file" || return 1
	elif kept $n.none; then
		rm -f "$file" || return 1
	else
		return 1
	fi
	sync && settle_$n
}

file_forget() { rm -f "$dir/$n.wrote" "$dir/$n.was" "$dir/$n.none"; }

# file_put FILE MARK BEFORE AFTER LINE VALUE: has the file assign VALUE, by LINE, VALUE and AFTER in
# the block, or by nothing of linerate's where it does so without. The file is whole at any moment,
# and keeps its owner and mode.
file_put() {
	new=$1.linerate-new
	file_ready "$1" >&2 || return 1
	rm -f "$new" && others= || return 1
	if [ -e "$1" ]; then
		copy_file "$1" "$new" && file_lines "$1" "$2" outside "$3" >"$new" && others=$(file_lines "$1" "$2" inside "$3") || return 1
	else
		(umask 022 && : >"$new") || return 1
	fi
	if [ "$(file_get "$new" "$3" "$4")" != "$6" ]; then
		if [ "$6" = unset ]; then
			rm -f "$new"
			echo "$1 has a line of somebody else's that sets it: take that out by hand" >&2
			return 1
		fi
		others="$others${others:+
}$5$6$4"
	fi
	if [ -n "$others" ]; then
		printf '%s\n' "$2 linerate: begin" ${within:+"$within]"} "$others" "$2 linerate: end" >>"$new" || return 1
	elif [ ! -s "$new" ] && file_ours "$1"; then
		rm -f "$new" "$1" && sync # it had only what linerate wrote
		return
	else
		file_end "$new" || return 1
	fi
	if [ -n "$writing" ]; then copy_file "$new" "$dir/$n.wrote" || return 1; fi
	# What it holds is on the disk before its name is: the host may start from it.
	sync && mv -f "$new" "$1" && sync
}

# file_ours FILE: there was none before the plan, or nobody else's lines stand in it.
file_ours() {
	case $1 in */linerate.*) return 0 ;; esac
	kept $n.none
}

# file_end NEW: where the file's last line had no end before the plan, it has none again.
file_end() {
	if [ ! -s "$dir/$n.was" ] || [ -z "$(tail -c 1 "$dir/$n.was")" ]; then return 0; fi
	if [ "$(tail -n 1 "$dir/$n.was")" != "$(tail -n 1 "$1")" ]; then return 0; fi
	text=$(cat "$1") && printf %s "$text" >"$1"
}
