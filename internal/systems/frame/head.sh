# Read only. Each command's output goes into a frame: name, exit code, bytes.
LC_ALL=C; export LC_ALL
PATH="$PATH:/usr/bin:/usr/sbin:/bin:/sbin"; export PATH
n=0
look() {
	name=$1; shift
	said=$("$@" 2>&1 </dev/null); code=$?
	size=$(printf %s "$said" | wc -c | tr -d ' ')
	printf 'begin %s %s %s\n%s\n' "$name" "$code" "$size" "$said"
	n=$((n + 1))
}
