# Read only: the TCP connections of this host, and the process of each.
LC_ALL=C; export LC_ALL
PATH="$PATH:/usr/bin:/usr/sbin:/bin:/sbin"; export PATH
said=$(nettop -L 1 -n -x -m tcp 2>&1 </dev/null); code=$?
size=$(printf %s "$said" | wc -c | tr -d ' ')
echo 'linerate-frames 1'
printf 'begin nettop %s %s\n%s\n' "$code" "$size" "$said"
echo 'linerate-frames end 1'
