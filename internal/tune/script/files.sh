
# Files that the host reads when it starts. What linerate writes there stands in a block between
# two marks at the end, so that it counts, and so that a person finds it.

# joined LINE: sets text to the line without its comment and blanks.
joined() {
	text=
	case $1 in '#'* | '*'* | '//'*) return ;; esac
	set -f
	IFS='	 '
	set -- ${1%%#*}
	IFS=
	text="$*"
	unset IFS
}

# file_get FILE BEFORE AFTER: the value that the last line assigns which is BEFORE, the value and
# AFTER; "unset" where there is none. A file that is not there assigns nothing.
file_get() {
	found=unset
	if [ ! -e "$1" ] && [ ! -h "$1" ]; then echo unset; return; fi
	[ -f "$1" ] && [ -r "$1" ] || { echo "$1 cannot be read as a file" >&2; return 1; }
	while IFS= read -r line || [ -n "$line" ]; do
		joined "$line"
		case $text in
		"$2"*)
			text=${text#"$2"}
			case $text in
			'"'*'"') text=${text#'"'}; text=${text%'"'} ;;
			*) if [ -n "$3" ]; then text=${text%"$3"}; fi ;;
			esac
			found=${text:-unset}
			;;
		esac
	done <"$1" || return 1
	printf '%s\n' "$found"
}

# file_lines FILE MARK KIND BEFORE: of KIND outside the lines that are not in the block of linerate;
# of KIND inside those of it that are for other settings than BEFORE.
file_lines() {
	place=outside
	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		"$2 linerate: begin") place=inside; continue ;;
		"$2 linerate: end") place=outside; continue ;;
		esac
		[ "$place" = "$3" ] || continue
		joined "$line"
		if [ "$place" = inside ]; then
			case $text in "$4"*) continue ;; esac
		fi
		printf '%s\n' "$line"
	done <"$1"
}

# file_put FILE MARK BEFORE AFTER LINE VALUE: has the file assign VALUE, by LINE, VALUE and AFTER in
# the block, or by nothing of linerate's where it does so without. The file is whole at any moment,
# and keeps its owner and mode.
file_put() {
	new=$1.linerate-new
	[ ! -h "$1" ] || { echo "$1 is a link, which linerate does not replace" >&2; return 1; }
	rm -f "$new" && others= || return 1
	if [ -e "$1" ]; then
		cp -p "$1" "$new" && file_lines "$1" "$2" outside "$3" >"$new" && others=$(file_lines "$1" "$2" inside "$3") || return 1
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
		printf '%s\n' "$2 linerate: begin" "$others" "$2 linerate: end" >>"$new" || return 1
	elif [ ! -s "$new" ]; then
		rm -f "$new" "$1" && sync # it had only what linerate wrote
		return
	fi
	# What it holds is on the disk before its name is: the host may start from it.
	sync && mv -f "$new" "$1" && sync
}
