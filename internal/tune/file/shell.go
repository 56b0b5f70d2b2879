package file

import (
	"linerate/internal/tune/setter"
)

// Shell implements setter.Setter, with coreutils or busybox.
func (s Setter) Shell(at setter.Place, _ string) (setter.Shell, error) {
	p, dir, err := pathOf(at)
	if err != nil {
		return setter.Shell{}, err
	}
	full := s.Root.Path(p)
	q, next, store := setter.Quote(full), setter.Quote(newName(full)), setter.Quote(s.Store)
	who := `who=$(stat -c '%a %u %g' ` + q + `) && set -- $who && who=$(printf 'mode:%04o uid:%d gid:%d' "0$1" "$2" "$3")`
	if dir {
		return setter.Shell{
			Read: `if [ ! -e ` + q + ` ]; then echo absent; else ` + who + ` && echo "dir $who"; fi`,
			Write: `if [ "$value" = absent ]; then rmdir ` + q + `; else set -- $value && mkdir -p ` + q +
				` && chown "${3#uid:}:${4#gid:}" ` + q + ` && chmod "${2#mode:}" ` + q + `; fi`,
		}, nil
	}
	return setter.Shell{
		Read: `rm -f ` + next + `; if [ ! -e ` + q + ` ]; then echo absent; else ` + who +
			` && sum=$(sha256sum < ` + q + `) && echo "file sha256:${sum%% *} $who"; fi`,
		Write: `if [ "$value" = absent ]; then rm -f ` + q + `; else set -- $value && cp ` + store + `/"${2#sha256:}" ` + next +
			` && chown "${4#uid:}:${5#gid:}" ` + next + ` && chmod "${3#mode:}" ` + next + ` && mv -f ` + next + ` ` + q + `; fi`,
	}, nil
}
