/* request_test.c: what requests are about, row by row */
/* SPDX-License-Identifier: ISC */
#include <stdlib.h>
#include <string.h>

#include "fcgi/request.h"
#include "fcgi/target.h"
#include "tests/unit/tap.h"

static struct route routes[] = {
	{ .name = "stash", .kind = ROUTE_GIT, .prefix = "/scm/" },
	{ .name = "folded",
	    .kind = ROUTE_GIT,
	    .prefix = "/git/sub/",
	    .fold_case = true },
	{ .name = "registry", .kind = ROUTE_REGISTRY, .prefix = "/v2/" },
};
static const struct conf conf = { .routes = routes, .n_routes = 3 };

#define ZEROS40 "0000000000000000000000000000000000000000"
#define D "sha256:" ZEROS40 "000000000000000000000000"
#define UP "info/refs?service=git-upload-pack"
#define RP "info/refs?service=git-receive-pack"

/* The fields of a struct request; route NULL: outside every route. */
struct row {
	const char *method, *target;
	const char *route, *op, *name;
	bool canonical;
};

static const struct row git_rows[] = {
	/* gitprotocol-http(5), NAME and NAME.git being one */
	{ "GET", "/scm/p/r.git/" UP, "stash", "refs", "p/r", true },
	{ "GET", "/scm/p/r/" UP, "stash", "refs", "p/r", true },
	{ "HEAD", "/scm/p/r.git/" UP, "stash", "refs", "p/r", true },
	{ "GET", "/scm/r.git/" UP, "stash", "refs", "r", true },
	{ "GET", "/scm/a/b/c/d.git/" UP, "stash", "refs", "a/b/c/d", true },
	{ "GET", "/scm/~user/x.git/" UP, "stash", "refs", "~user/x", true },
	{ "GET", "/scm/%7Euser/x.git/" UP, "stash", "refs", "~user/x", true },
	{ "POST", "/scm/p/r.git/git-upload-pack", "stash", "upload-pack", "p/r",
	    true },
	{ "POST", "/scm/p/r/git-upload-pack", "stash", "upload-pack", "p/r",
	    true },
	{ "GET", "/scm/p/r.git/" RP, "stash", "write-refs", "p/r", true },
	{ "HEAD", "/scm/p/r.git/" RP, "stash", "write-refs", "p/r", true },
	{ "POST", "/scm/p/r.git/git-receive-pack", "stash", "receive-pack",
	    "p/r", true },
	{ "POST", "/scm/p/r/git-receive-pack", "stash", "receive-pack", "p/r",
	    true },
	{ "POST", "/scm/p/r.git/git-upload-archive", "stash", "archive", "p/r",
	    true },
	{ "POST", "/scm/p/r.git/git-receive-pack?service=x", "stash",
	    "receive-pack", "p/r", true },

	/* a name that looks like an operation: greedy on the name */
	{ "POST", "/scm/git-upload-pack/git-receive-pack", "stash",
	    "receive-pack", "git-upload-pack", true },
	{ "GET", "/scm/p/info/refs/" UP, "stash", "refs", "p/info/refs", true },
	{ "POST", "/scm/p/objects/info/lfs/r.git/git-upload-pack", "stash",
	    "upload-pack", "p/objects/info/lfs/r", true },

	/* LFS and the dumb protocol */
	{ "POST", "/scm/p/r.git/info/lfs/objects/batch", "stash", "lfs", "p/r",
	    true },
	{ "GET", "/scm/p/r/info/lfs/locks", "stash", "lfs", "p/r", true },
	{ "PUT", "/scm/p/r.git/info/lfs/objects/" ZEROS40, "stash", "lfs",
	    "p/r", true },
	{ "GET", "/scm/p/r.git/info/lfs", "stash", "other", "", false },
	{ "GET", "/scm/p/r.git/info/refs", "stash", "dumb", "p/r", true },
	{ "GET", "/scm/p/r.git/info/refs?x=1", "stash", "dumb", "p/r", true },
	{ "GET", "/scm/p/r.git/HEAD", "stash", "dumb", "p/r", true },
	{ "GET", "/scm/p/r.git/objects/info/packs", "stash", "dumb", "p/r",
	    true },
	{ "GET", "/scm/p/objects/x/objects/00/0", "stash", "dumb",
	    "p/objects/x", true },
	{ "PUT", "/scm/p/r.git/objects/00/0", "stash", "other", "", false },

	/* every service= counts; one that writes is a write */
	{ "GET", "/scm/p/r/" RP "&service=git-upload-pack", "stash",
	    "write-refs", "p/r", true },
	{ "GET", "/scm/p/r/" UP "&service=git-receive-pack", "stash",
	    "write-refs", "p/r", true },
	{ "GET", "/scm/p/r/" UP ";service=git-receive-pack", "stash",
	    "write-refs", "p/r", true },
	{ "GET", "/scm/p/r/" UP "&service=git-upload-pack", "stash", "refs",
	    "p/r", true },
	{ "GET", "/scm/p/r/info/refs?a=b&service=git-upload-pack&c", "stash",
	    "refs", "p/r", true },
	{ "GET", "/scm/p/r/" UP "&service=x", "stash", "other", "", true },
	{ "GET", "/scm/p/r/info/refs?service=x&service=git-upload-pack",
	    "stash", "other", "", true },
	{ "GET", "/scm/p/r/info/refs?service", "stash", "other", "", true },
	{ "GET", "/scm/p/r/info/refs?service=", "stash", "other", "", true },
	{ "GET", "/scm/p/r/info/refs?service=git-upload-archive", "stash",
	    "archive", "p/r", true },
	{ "GET", "/scm/p/r/info/refs?Service=git-receive-pack", "stash", "dumb",
	    "p/r", true },
	{ "GET", "/scm/p/r/info/refs?service=git%2dreceive%2Dpack", "stash",
	    "write-refs", "p/r", true },
	{ "GET", "/scm/p/r/info/refs?%73ervice=git-receive-pack", "stash",
	    "write-refs", "p/r", true },
	{ "GET", "/scm/p/r/info/refs?service=git%252dreceive-pack", "stash",
	    "other", "", true },
	{ "GET", "/scm/p/r/info/refs?service=git-receive-pack%00", "stash",
	    "other", "", true },
	{ "GET", "/scm/p/r/info/refs?service=git-receive-pack+", "stash",
	    "other", "", true },
	{ "GET", "/scm/p/r/info/refs?service%3Dgit-receive-pack", "stash",
	    "dumb", "p/r", true },

	/* a wrong method */
	{ "GET", "/scm/p/r.git/git-receive-pack", "stash", "other", "", false },
	{ "GET", "/scm/p/r.git/git-upload-pack", "stash", "other", "", false },
	{ "PUT", "/scm/p/r.git/" UP, "stash", "other", "", false },
	{ "POST", "/scm/p/r.git/" RP, "stash", "other", "", false },
	{ "post", "/scm/p/r.git/git-receive-pack", "stash", "other", "",
	    false },
	{ "DELETE", "/scm/p/r.git/HEAD", "stash", "other", "", false },
	{ "", "/scm/p/r.git/" UP, "stash", "other", "", false },

	/* no operation, or no name */
	{ "GET", "/scm/", "stash", "other", "", false },
	{ "GET", "/scm", "stash", "other", "", false },
	{ "GET", "/scm/p/r.git", "stash", "other", "", false },
	{ "GET", "/scm/p/r.git/info/refsx?service=git-upload-pack", "stash",
	    "other", "", false },
	{ "GET", "/scm/p/rinfo/refs?service=git-upload-pack", "stash", "other",
	    "", false },
	{ "GET", "/scm/" UP, "stash", "other", "", true },
	{ "GET", "/scm/.git/" UP, "stash", "other", "", true },
	{ "GET", "/scm/p/r.git.git/" UP, "stash", "other", "", true },
	{ "POST", "/scm/git-upload-pack", "stash", "other", "", true },
	{ "POST", "/scm/git-receive-pack", "stash", "receive-pack", "", true },
	{ "POST", "/scm/.git/git-receive-pack", "stash", "receive-pack", "",
	    true },
	{ "POST", "/scm/p/r.git.git/git-receive-pack", "stash", "receive-pack",
	    "", true },

	/* decoded exactly once, prefix and operation too */
	{ "POST", "/%73cm/p/r.git/git-receive-pack", "stash", "receive-pack",
	    "p/r", true },
	{ "POST", "/scm/p/r.git/git-%72eceive-pack", "stash", "receive-pack",
	    "p/r", true },
	{ "POST", "/scm/p/r%2egit/git-receive-pack", "stash", "receive-pack",
	    "p/r", true },
	{ "GET", "/scm/p/r%252F/" UP, "stash", "refs", "p/r%2F", true },
	{ "GET", "/scm/p/%C3%A9.git/" UP, "stash", "refs", "p/\303\251", true },
	{ "GET", "/scm/p/\303\251.git/" UP, "stash", "refs", "p/\303\251",
	    true },
	{ "GET", "/scm/p/a%20b+c.git/" UP, "stash", "refs", "p/a b+c", true },
	{ "GET", "/scm/p/r%3Fx.git/" UP, "stash", "refs", "p/r?x", true },

	/* not what every backend takes alike: known, but not canonical */
	{ "GET", "/scm/p%2Fr.git/" UP, "stash", "refs", "p/r", false },
	{ "GET", "/scm/p%2fr.git/" UP, "stash", "refs", "p/r", false },
	{ "POST", "/scm/p/r.git%2Fgit-receive-pack", "stash", "receive-pack",
	    "p/r", false },
	{ "POST", "/scm%2Fp/r.git/git-receive-pack", "stash", "receive-pack",
	    "p/r", false },
	{ "GET", "/scm/p/r%zz.git/" UP, "stash", "refs", "p/r%zz", false },
	{ "GET", "/scm/p/r%4/" UP, "stash", "refs", "p/r%4", false },
	{ "GET", "/scm/p/r/.git/" UP, "stash", "refs", "p/r", false },
	{ "POST", "/scm/p/r/.git/git-receive-pack", "stash", "receive-pack",
	    "p/r", false },
	{ "POST", "/scm/p/r.git/.git/git-receive-pack", "stash", "receive-pack",
	    "p/r", false },
	{ "GET", "/scm/p/r%3Bx.git/" UP, "stash", "refs", "p/r;x", false },

	/* changed by the resolving: no read, but a write of what it means */
	{ "GET", "/scm/p/./r.git/" UP, "stash", "other", "", false },
	{ "GET", "/scm//p/r.git/" UP, "stash", "other", "", false },
	{ "GET", "/scm/p/r.git//" UP, "stash", "other", "", false },
	{ "GET", "//scm/p/r.git/" UP, "stash", "other", "", false },
	{ "GET", "/scm/p/x/../r.git/" UP, "stash", "other", "", false },
	{ "GET", "/scm/p/%2e/r.git/" UP, "stash", "other", "", false },
	{ "POST", "/scm/p/r.git/git-upload-pack/", "stash", "other", "",
	    false },
	{ "GET", "/scm/p/r.git;x=1/" UP, "stash", "other", "", false },
	{ "GET", "/scm/p/r.git/" UP "#x", "stash", "other", "", false },
	{ "GET", "/scm/p//r.git/HEAD", "stash", "other", "", false },
	{ "GET", "/scm/p//r.git/info/lfs/x", "stash", "other", "", false },
	{ "POST", "/scm//p/./r.git/git-receive-pack", "stash", "receive-pack",
	    "p/r", false },
	{ "POST", "/scm/p/x/../r.git/git-receive-pack", "stash", "receive-pack",
	    "p/r", false },
	{ "POST", "/scm/p/x/%2E%2e/r.git/git-receive-pack", "stash",
	    "receive-pack", "p/r", false },
	{ "POST", "/scm/p/x%2F..%2Fr.git/git-receive-pack", "stash",
	    "receive-pack", "p/r", false },
	{ "POST", "/scm/p/r.git/git-receive-pack/", "stash", "receive-pack",
	    "p/r", false },
	{ "POST", "/scm/p/r.git/git-receive-pack/.", "stash", "receive-pack",
	    "p/r", false },
	{ "POST", "/scm/p/r.git;x/git-receive-pack;y=/", "stash",
	    "receive-pack", "p/r", false },
	{ "POST", "/scm/p/r.git/git-receive-pack#x", "stash", "receive-pack",
	    "p/r", false },
	{ "POST", "/x/../scm/p/r.git/git-receive-pack", "stash", "receive-pack",
	    "p/r", false },
	{ "GET", "/scm//p/r/" RP, "stash", "write-refs", "p/r", false },
	{ "GET", "/scm/p/r/info/refs/?service=git-receive-pack", "stash",
	    "write-refs", "p/r", false },

	/* below it only if parameters are dropped, as no web server does */
	{ "GET", "/scm;a/p/r.git/HEAD", NULL, "none", "", false },
	{ "POST", "/scm;a/p/r.git/git-receive-pack", NULL, "none", "", false },
	{ "GET", "/;/scm/p/r/" UP, NULL, "none", "", false },
	{ "GET", "/a/..;/scm/p/r/" UP, NULL, "none", "", false },
	{ "GET", "/%73cm;x/p/r/" UP, NULL, "none", "", false },
	{ "GET", "/scm/../scm;x/p/r/" UP, NULL, "none", "", false },
	{ "GET", "/scm/;a/p/r/" UP, "stash", "other", "", false },

	/* illegal names: reads of nothing, writes without a fence */
	{ "GET", "/scm/p/r%00/" UP, "stash", "other", "", true },
	{ "GET", "/scm/p/r%0a/" UP, "stash", "other", "", true },
	{ "GET", "/scm/p/r%7f/" UP, "stash", "other", "", true },
	{ "GET", "/scm/p/r%C2%85/" UP, "stash", "other", "", true },
	{ "GET", "/scm/p/r%ff/" UP, "stash", "other", "", true },
	{ "GET", "/scm/p/r%C0%AF/" UP, "stash", "other", "", true },
	{ "POST", "/scm/p/r%00.git/git-receive-pack", "stash", "receive-pack",
	    "", true },
	{ "POST", "/scm/p/%ff/git-receive-pack", "stash", "receive-pack", "",
	    true },
	{ "GET", "/scm/%01/" RP, "stash", "write-refs", "", true },
	{ "POST", "/scm/p/r.git/git-receive-pack%00", "stash", "other", "",
	    false },

	/* folding, where the route says so */
	{ "GET", "/git/sub/p/r.git/" UP, "folded", "refs", "p/r", true },
	{ "GET", "/git/sub/P/R.git/" UP, "folded", "refs", "p/r", false },
	{ "GET", "/git/sub/p/r.GIT/" UP, "folded", "refs", "p/r", false },
	{ "POST", "/git/sub/P/r/git-receive-pack", "folded", "receive-pack",
	    "p/r", false },
	{ "GET", "/scm/P/R.git/" UP, "stash", "refs", "P/R", true },
	{ "GET", "/scm/p/r.GIT/" UP, "stash", "refs", "p/r.GIT", true },

	/* absolute URLs */
	{ "GET", "http://h:80/scm/p/r.git/" UP, "stash", "refs", "p/r", true },
	{ "GET", "HTTPS://u@[::1]:8/scm/p/r/" UP, "stash", "refs", "p/r",
	    true },
	{ "GET", "http://h/%73cm/p/r/" UP, "stash", "refs", "p/r", true },
	{ "GET", "http://scm/p/r/" UP, NULL, "none", "", false },
	{ "GET", "http://h", NULL, "none", "", false },
	{ "GET", "http://h?/scm/p/r/" UP, NULL, "none", "", false },

	/* outside every route */
	{ "GET", "/", NULL, "none", "", false },
	{ "GET", "/SCM/p/r/" UP, NULL, "none", "", false },
	{ "GET", "/scmx/p/r/" UP, NULL, "none", "", false },
	{ "GET", "/git/p/r/" UP, NULL, "none", "", false },
	{ "GET", "/scm/../p/r/" UP, NULL, "none", "", false },
	{ "GET", "/scm/../../../p/r/" UP, NULL, "none", "", false },
	{ "OPTIONS", "*", NULL, "none", "", false },
	{ "CONNECT", "h:443", NULL, "none", "", false },
	{ "GET", "", NULL, "none", "", false },
	{ "GET", "scm/p/r/" UP, NULL, "none", "", false },
	{ "GET", "://h/scm/p/r/" UP, NULL, "none", "", false },
	{ "GET", NULL, NULL, "none", "", false },
	{ NULL, "/scm/p/r/" UP, NULL, "none", "", false },
};

#define REG(method, target, op, name)                                          \
	{                                                                      \
		method, target, "registry", op, name, false                    \
	}

static const struct row registry_rows[] = {
	/* every endpoint, with every method that it has */
	REG("GET", "/v2/", "base", ""),
	REG("HEAD", "/v2/", "base", ""),
	REG("GET", "/v2", "base", ""),
	REG("POST", "/v2/", "other", ""),
	REG("GET", "/v2/_catalog", "catalogue", ""),
	REG("GET", "/v2/_catalog?n=1&last=a", "catalogue", ""),
	REG("GET", "/v2/_catalog/", "catalogue", ""),
	REG("POST", "/v2/_catalog", "other", ""),
	REG("GET", "/v2/a/tags/list", "tags", "a"),
	REG("GET", "/v2/a/tags/list?n=5&last=x", "tags", "a"),
	REG("HEAD", "/v2/a/tags/list", "tags", "a"),
	REG("DELETE", "/v2/a/tags/list", "other", ""),
	REG("GET", "/v2/a/b/manifests/latest", "manifest-get", "a/b"),
	REG("HEAD", "/v2/a/b/manifests/latest", "manifest-get", "a/b"),
	REG("GET", "/v2/a/manifests/" D, "manifest-get", "a"),
	REG("PUT", "/v2/a/manifests/v1.0", "manifest-put", "a"),
	REG("PUT", "/v2/a/manifests/" D, "manifest-put", "a"),
	REG("DELETE", "/v2/a/manifests/" D, "manifest-delete", "a"),
	REG("DELETE", "/v2/a/manifests/v1", "manifest-delete", "a"),
	REG("POST", "/v2/a/manifests/v1", "other", ""),
	REG("PATCH", "/v2/a/manifests/v1", "other", ""),
	REG("DELETE", "/v2/a/tags/reference/v1", "tag-delete", "a"),
	REG("GET", "/v2/a/tags/reference/v1", "other", ""),
	REG("DELETE", "/v2/a/tags/reference/" D, "other", ""),
	REG("GET", "/v2/a/blobs/" D, "blob-get", "a"),
	REG("HEAD", "/v2/a/blobs/" D, "blob-get", "a"),
	REG("DELETE", "/v2/a/blobs/" D, "blob-delete", "a"),
	REG("PUT", "/v2/a/blobs/" D, "other", ""),
	REG("POST", "/v2/a/blobs/uploads/", "upload-start", "a"),
	REG("POST", "/v2/a/blobs/uploads", "upload-start", "a"),
	REG("POST", "/v2/a/blobs/uploads/?mount=" D "&from=b/c", "upload-start",
	    "a"),
	REG("POST", "/v2/a/blobs/uploads/?digest=" D, "upload-start", "a"),
	REG("GET", "/v2/a/blobs/uploads/", "other", ""),
	REG("PUT", "/v2/a/blobs/uploads/", "other", ""),
	REG("PATCH", "/v2/a/blobs/uploads/12-ab_=.?_state=x%3D", "upload-write",
	    "a"),
	REG("PUT", "/v2/a/blobs/uploads/12-ab?_state=x&digest=" D,
	    "upload-write", "a"),
	REG("GET", "/v2/a/blobs/uploads/12-ab", "upload-status", "a"),
	REG("HEAD", "/v2/a/blobs/uploads/12-ab", "upload-status", "a"),
	REG("DELETE", "/v2/a/blobs/uploads/12-ab", "upload-cancel", "a"),
	REG("POST", "/v2/a/blobs/uploads/12-ab", "other", ""),
	REG("PATCH", "/v2/a/blobs/uploads/12~ab", "other", ""),
	REG("GET", "/v2/a/referrers/" D "?artifactType=x", "referrers", "a"),
	REG("HEAD", "/v2/a/referrers/" D, "referrers", "a"),
	REG("GET", "/v2/a/referrers/latest", "other", ""),

	/* extensions, OPTIONS and TRACE */
	REG("GET", "/v2/_oci/ext/discover", "other", ""),
	REG("GET", "/v2/_zot/ext/search", "other", ""),
	REG("GET", "/v2/a/_oci/artifacts/x", "other", ""),
	REG("GET", "/v2/_gitlab/x", "other", ""),
	REG("GET", "/v2/token", "other", ""),
	REG("GET", "/v2/foo/_trust/tuf/root.json", "other", ""),
	REG("OPTIONS", "/v2/a/tags/list", "other", ""),
	REG("TRACE", "/v2/a/blobs/uploads/", "other", ""),

	/* what the resolving changes: the registry answers 301 */
	REG("GET", "/v2//", "other", ""),
	REG("GET", "/v2/foo//bar/tags/list", "other", ""),
	REG("POST", "/v2/foo//bar/blobs/uploads/", "other", ""),
	REG("POST", "/v2/foo/./bar/blobs/uploads/", "other", ""),
	REG("POST", "/v2/x/../foo/blobs/uploads/", "other", ""),
	REG("POST", "/v2/foo/blobs/uploads/#x", "other", ""),
	REG("GET", "/v2/foo/tags/list;x=1", "other", ""),
	REG("GET", "/v2/a/tags/list/", "other", ""),
	REG("GET", "/v2/a/manifests/latest/", "other", ""),

	/* the keyword that stands last wins: greedy on the name */
	REG("GET", "/v2/_catalog/tags/list", "other", ""),
	REG("GET", "/v2/a/tags", "other", ""),
	REG("GET", "/v2/tags/list", "other", ""),
	REG("GET", "/v2/tags/tags/list", "tags", "tags"),
	REG("GET", "/v2/foo/manifests/tags/list", "tags", "foo/manifests"),
	REG("GET", "/v2/foo/bar/manifests/manifests/tags", "manifest-get",
	    "foo/bar/manifests"),
	REG("GET", "/v2/foo/manifests/list", "manifest-get", "foo"),
	REG("GET", "/v2/foo/blobs/bar/blobs/" D, "blob-get", "foo/blobs/bar"),
	REG("POST", "/v2/foo/blobs/uploads/blobs/uploads/", "upload-start",
	    "foo/blobs/uploads"),
	REG("PATCH", "/v2/foo/blobs/uploads/uploads", "upload-write", "foo"),
	REG("PUT", "/v2/foo/blobs/uploads/manifests/latest", "manifest-put",
	    "foo/blobs/uploads"),
	REG("GET", "/v2/foo/blobs/uploads/abc", "upload-status", "foo"),
	REG("POST", "/v2/blobs/uploads/", "other", ""),
	REG("GET", "/v2/blobs/uploads/", "other", ""),
	REG("GET", "/v2/uploads/manifests/latest", "manifest-get", "uploads"),
	REG("PUT", "/v2/manifests/latest", "other", ""),

	/* references and digests */
	REG("GET", "/v2/foo/blobs/sha256:abc", "blob-get", "foo"),
	REG("GET", "/v2/foo/blobs/sha256%3Aabc", "blob-get", "foo"),
	REG("GET", "/v2/foo/blobs/notadigest", "other", ""),
	REG("GET", "/v2/foo/blobs/sha256:", "other", ""),
	REG("GET", "/v2/foo/blobs/:abc", "other", ""),
	REG("GET", "/v2/foo/manifests/sha256-" ZEROS40, "manifest-get", "foo"),
	REG("GET", "/v2/foo/manifests/_x", "manifest-get", "foo"),
	REG("PUT", "/v2/foo/manifests/-x", "other", ""),
	REG("PUT", "/v2/foo/manifests/.x", "other", ""),
	REG("PUT", "/v2/foo/manifests/x%0a", "other", ""),
	REG("PUT", "/v2/foo/manifests/x%00", "other", ""),
	REG("GET", "/v2/foo/tags/LIST", "other", ""),

	/* names: the grammar, never lower-cased, decoded exactly once */
	REG("GET", "/v2/Foo/tags/list", "other", ""),
	REG("GET", "/v2/foo/Bar/tags/list", "other", ""),
	REG("GET", "/v2/localhost:5000/foo/tags/list", "other", ""),
	REG("GET", "/v2/foo.bar/tags/list", "tags", "foo.bar"),
	REG("GET", "/v2/foo_bar/tags/list", "tags", "foo_bar"),
	REG("GET", "/v2/foo__bar/tags/list", "tags", "foo__bar"),
	REG("GET", "/v2/foo---bar/tags/list", "tags", "foo---bar"),
	REG("GET", "/v2/foo..bar/tags/list", "other", ""),
	REG("GET", "/v2/foo___bar/tags/list", "other", ""),
	REG("GET", "/v2/foo._bar/tags/list", "other", ""),
	REG("GET", "/v2/-foo/tags/list", "other", ""),
	REG("GET", "/v2/foo-/tags/list", "other", ""),
	REG("GET", "/v2/_foo/tags/list", "other", ""),
	REG("GET", "/v2/foo+bar/tags/list", "other", ""),
	REG("GET", "/v2/foo:v1/tags/list", "other", ""),
	REG("GET", "/v2/foo%2Fbar/tags/list", "tags", "foo/bar"),
	REG("POST", "/v2/enc%2Fx/blobs/uploads/", "upload-start", "enc/x"),
	REG("POST", "/v2/enc/x%2Fblobs%2fuploads%2F", "upload-start", "enc/x"),
	REG("POST", "/%762/%66oo/blobs/uploads/", "upload-start", "foo"),
	REG("GET", "/v2/foo%252Fbar/tags/list", "other", ""),
	REG("GET", "/v2/foo%00/tags/list", "other", ""),
	REG("GET", "/v2/foo%0a/tags/list", "other", ""),
	REG("GET", "/v2/f%C3%B3o/tags/list", "other", ""),
	REG("GET", "/v2/fo%20o/tags/list", "other", ""),
	REG("GET", "/v2/a/b/c/d/e/f/g/h/i/j/manifests/v1", "manifest-get",
	    "a/b/c/d/e/f/g/h/i/j"),
	REG("GET", "https://h:5000/v2/a/tags/list", "tags", "a"),

	{ "GET", "/V2/foo/tags/list", NULL, "none", "", false },
	{ "GET", "/v2foo/tags/list", NULL, "none", "", false },
	{ "GET", "/prefix/v2/foo/tags/list", NULL, "none", "", false },
	{ "GET", "/gitlab/v1/x", NULL, "none", "", false },
};

static void
check_row(const struct row *row)
{
	struct request request;
	const char *method = row->method != NULL ? row->method : "(none)";
	const char *target = row->target != NULL ? row->target : "(none)";

	memset(&request, 0xff, sizeof(request));
	request_parse(&conf, row->method, row->target, &request);
	tap_str(request.route != NULL ? request.route->name : NULL, row->route,
	    "%s %s: route", method, target);
	tap_str(request_op_word(request.op), row->op, "%s %s: operation",
	    method, target);
	tap_str(request.name, row->name, "%s %s: repository", method, target);
	if (request.route != NULL && request.route->kind == ROUTE_GIT &&
	    request.op != OP_OTHER)
		tap_int(request.canonical, row->canonical, "%s %s: canonical",
		    method, target);
}

/* head, count times middle, tail; the caller's */
static char *
repeat(const char *head, const char *middle, size_t count, const char *tail)
{
	struct buf text = { 0 };

	buf_puts(&text, head);
	for (size_t i = 0; i < count; i++)
		buf_puts(&text, middle);
	buf_puts(&text, tail);
	return text.data;
}

static void
test_lengths(void)
{
	static const struct {
		const char *claim, *method, *head, *middle;
		size_t count;
		const char *tail;
		enum op op;
		size_t name_len;
	} rows[] = {
		{ "a git name of 1024 bytes", "GET", "/scm/", "a", 1024, "/" UP,
		    OP_GIT_REFS, 1024 },
		{ "the same with .git", "GET", "/scm/", "a", 1024, ".git/" UP,
		    OP_GIT_REFS, 1024 },
		{ "the same, encoded", "GET", "/scm/", "%61", 1024, ".git/" UP,
		    OP_GIT_REFS, 1024 },
		{ "the same with /.git", "POST", "/scm/", "a", 1024,
		    "/.git/git-receive-pack", OP_GIT_RECEIVE_PACK, 1024 },
		{ "a git name of 1025 bytes", "GET", "/scm/", "a", 1025, "/" UP,
		    OP_OTHER, 0 },
		{ "a push to one of 1025 bytes", "POST", "/scm/", "a", 1025,
		    "/git-receive-pack", OP_GIT_RECEIVE_PACK, 0 },
		{ "a push to one of 9000 bytes", "POST", "/scm/", "a", 9000,
		    "/git-receive-pack", OP_GIT_RECEIVE_PACK, 0 },
		{ "a registry name of 255 bytes", "GET", "/v2/", "a", 255,
		    "/tags/list", OP_REG_TAGS, 255 },
		{ "one of 256 bytes", "GET", "/v2/", "a", 256, "/tags/list",
		    OP_OTHER, 0 },
		{ "one of 128 components", "GET", "/v2/", "a/", 127,
		    "a/tags/list", OP_REG_TAGS, 255 },
		{ "one of 129 components", "GET", "/v2/", "a/", 128,
		    "a/tags/list", OP_OTHER, 0 },
		{ "a tag of 128 bytes", "PUT", "/v2/r/manifests/", "a", 128, "",
		    OP_REG_MANIFEST_PUT, 1 },
		{ "a tag of 129 bytes", "PUT", "/v2/r/manifests/", "a", 129, "",
		    OP_OTHER, 0 },
		{ "a target of MAX_TARGET bytes", "POST", "/scm/", "/",
		    MAX_TARGET - 23, "r/git-receive-pack", OP_GIT_RECEIVE_PACK,
		    1 },
		{ "one byte more", "POST", "/scm/", "/", MAX_TARGET - 22,
		    "r/git-receive-pack", OP_OTHER, 0 },
		{ "a query that is too long", "GET", "/scm/r/" UP "&", "x",
		    MAX_TARGET, "", OP_OTHER, 0 },
		{ "nothing but dots up", "POST", "", "/..", 5000,
		    "/scm/r/git-receive-pack", OP_GIT_RECEIVE_PACK, 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *target = repeat(rows[i].head, rows[i].middle,
		    rows[i].count, rows[i].tail);
		struct request request;

		request_parse(&conf, rows[i].method, target, &request);
		tap_ok(request.route != NULL, "%s: has a route", rows[i].claim);
		tap_str(request_op_word(request.op),
		    request_op_word(rows[i].op), "%s: operation",
		    rows[i].claim);
		tap_int((long long)strlen(request.name),
		    (long long)rows[i].name_len, "%s: name", rows[i].claim);
		free(target);
	}
}

static void
test_classes(void)
{
	static const struct {
		enum op op;
		enum op_class class;
	} rows[] = {
		{ OP_NONE, CLASS_OTHER },
		{ OP_OTHER, CLASS_OTHER },
		{ OP_GIT_REFS, CLASS_READ },
		{ OP_GIT_UPLOAD_PACK, CLASS_READ },
		{ OP_GIT_WRITE_REFS, CLASS_WRITE },
		{ OP_GIT_RECEIVE_PACK, CLASS_WRITE },
		{ OP_GIT_ARCHIVE, CLASS_OTHER },
		{ OP_GIT_LFS, CLASS_OTHER },
		{ OP_GIT_DUMB, CLASS_OTHER },
		{ OP_REG_BASE, CLASS_OTHER },
		{ OP_REG_CATALOGUE, CLASS_OTHER },
		{ OP_REG_TAGS, CLASS_READ },
		{ OP_REG_MANIFEST_GET, CLASS_READ },
		{ OP_REG_MANIFEST_PUT, CLASS_WRITE },
		{ OP_REG_MANIFEST_DELETE, CLASS_FOLLOW },
		{ OP_REG_TAG_DELETE, CLASS_FOLLOW },
		{ OP_REG_BLOB_GET, CLASS_READ },
		{ OP_REG_BLOB_DELETE, CLASS_FOLLOW },
		{ OP_REG_UPLOAD_START, CLASS_WRITE },
		{ OP_REG_UPLOAD_WRITE, CLASS_WRITE },
		{ OP_REG_UPLOAD_STATUS, CLASS_READ },
		{ OP_REG_UPLOAD_CANCEL, CLASS_FOLLOW },
		{ OP_REG_REFERRERS, CLASS_READ },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		tap_int(request_op_class(rows[i].op), rows[i].class,
		    "class of %s", request_op_word(rows[i].op));
}

int
main(void)
{
	for (size_t i = 0; i < sizeof(git_rows) / sizeof(git_rows[0]); i++)
		check_row(&git_rows[i]);
	for (size_t i = 0; i < sizeof(registry_rows) / sizeof(registry_rows[0]);
	     i++)
		check_row(&registry_rows[i]);
	test_lengths();
	test_classes();
	return tap_done();
}
