/* webconf_sample.c: a configuration of every kind of route, for webconf */
/* SPDX-License-Identifier: ISC */
#include "tests/unit/webconf_sample.h"

struct upstream sample_upstreams[] = {
	{ .name = "master", .url = "http://git-master:7990" },
	{ .name = "slave-1", .url = "http://10.0.0.1/base" },
	{ .name = "old", .url = "http://[::1]:5000" },
	{ .name = "new", .url = "http://new.example" },
	{ .name = "unused", .url = "http://unused.example" },
};

struct route sample_routes[] = {
	{ .name = "git",
	    .kind = ROUTE_GIT,
	    .prefix = "/scm/",
	    .primary = &sample_upstreams[0],
	    .replicas = { &sample_upstreams[1] },
	    .n_replicas = 1 },
	{ .name = "registry",
	    .kind = ROUTE_REGISTRY,
	    .prefix = "/v2/",
	    .primary = &sample_upstreams[2],
	    .to = &sample_upstreams[3] },
	{ .name = "deep",
	    .kind = ROUTE_GIT,
	    .prefix = "/a.b/c+d/",
	    .primary = &sample_upstreams[0] },
};

struct conf sample_conf = { .file = "reproute.conf",
	.upstreams = sample_upstreams,
	.n_upstreams = 5,
	.routes = sample_routes,
	.n_routes = 3,
	.push = { "/token" } };
