#!/bin/sh
# The rooms stand on those before them, and one library has one module.
set -u
cd "${top_srcdir:-.}" || exit 1
count=0

# result NAME OFFENDING-LINES
result() {
	count=$((count + 1))
	if [ -z "$2" ]; then
		echo "ok $count - $1"
	else
		echo "not ok $count - $1"
		echo "$2" | sed 's/^/# /'
	fi
}

result "conf/ includes nothing above it" \
	"$(grep -nE '#include "(sync|fcgi|tests)/' conf/*.[ch])"
result "sync/ includes nothing above it" \
	"$(grep -nE '#include "(fcgi|tests)/' sync/*.[ch])"
result "no room includes the tests" \
	"$(grep -nE '#include "tests/' conf/*.[ch] sync/*.[ch] fcgi/*.[ch])"
result "includes of ours are written from the root" \
	"$(grep -nE '#include "' conf/*.[ch] sync/*.[ch] fcgi/*.[ch] tests/unit/*.[ch] \
		tests/fuzz/*.c | grep -vE '#include "(conf|sync|fcgi|tests)/')"

# only HEADER-PATTERN FILE
only() {
	result "only $2 knows <$1>" \
		"$(grep -nE "#include <($1)" conf/*.[ch] sync/*.[ch] fcgi/*.[ch] \
			| grep -v "^$2:")"
}
only 'libconfig\.h' conf/conf.c
only 'pcre2\.h' conf/rules.c
only 'openssl/' conf/crypto.c
only 'lmdb\.h' sync/table.c
only 'git2' sync/repo.c
only 'curl/' sync/http.c
only 'json' sync/wire.c
only 'fcgi' fcgi/gateway.c
echo "1..$count"
