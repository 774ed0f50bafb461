# fcgi/local.mk: the doors
noinst_LIBRARIES += %D%/libdoors.a
%C%_libdoors_a_SOURCES = \
	%D%/admin.h \
	%D%/answer.c %D%/answer.h \
	%D%/check.c %D%/check.h %D%/check_access.c \
	%D%/choose.c %D%/choose.h \
	%D%/connections.c %D%/connections.h \
	%D%/decide.c %D%/decide.h \
	%D%/effect.c %D%/effect.h \
	%D%/endpoint.c %D%/endpoint.h \
	%D%/explain.c \
	%D%/fresh.c %D%/fresh.h \
	%D%/gateway.c %D%/gateway.h \
	%D%/job.c %D%/job.h \
	%D%/listener.c %D%/listener.h \
	%D%/looks.c %D%/looks.h \
	%D%/overview.c %D%/overview.h \
	%D%/overview_print.c \
	%D%/page.c %D%/page.h \
	%D%/peers.c \
	%D%/pipe.c \
	%D%/places.c \
	%D%/push_wait.c %D%/push_wait.h \
	%D%/records.c %D%/records.h \
	%D%/reply.c %D%/reply.h \
	%D%/request.c %D%/request.h \
	%D%/slots.c %D%/slots.h \
	%D%/snapshot.c %D%/snapshot.h \
	%D%/status.c %D%/status.h \
	%D%/tally.c %D%/tally.h \
	%D%/target.c %D%/target.h \
	%D%/wait.c \
	%D%/waits.c %D%/waits.h \
	%D%/webconf.c %D%/webconf.h \
	%D%/webconf_apache.c %D%/webconf_apache.h \
	%D%/webconf_apache_site.c \
	%D%/webconf_lighttpd.c \
	%D%/webconf_nginx.c %D%/webconf_nginx.h \
	%D%/webconf_nginx_http.c \
	%D%/webconf_print.c \
	%D%/writer.c %D%/writer.h \
	%D%/writes.c %D%/writes.h
%C%_libdoors_a_CPPFLAGS = $(AM_CPPFLAGS) $(PLACES)
# where installed programs are, for what webconf prints
PLACES = -DBINDIR='"$(bindir)"' -DSBINDIR='"$(sbindir)"' \
	-DLIBEXECDIR='"$(libexecdir)"'
DOORS_LIBS = fcgi/libdoors.a $(TRUTH_LIBS)

sbin_PROGRAMS += reproute-fcgi
reproute_fcgi_SOURCES = %D%/router.c
reproute_fcgi_LDADD = $(DOORS_LIBS) $(FCGI_LIBS) $(LMDB_LIBS) $(JSON_LIBS) \
	$(GROUND_LIBADD)

# The push endpoint starts for every report: no libcurl, no libgit2.
libexec_PROGRAMS += reproute-push
reproute_push_SOURCES = %D%/push.c
reproute_push_LDADD = $(DOORS_LIBS) $(FCGI_LIBS) $(LMDB_LIBS) $(JSON_LIBS) \
	$(GROUND_LIBADD)

libexec_PROGRAMS += reproute-replica
reproute_replica_SOURCES = %D%/replica.c
reproute_replica_LDADD = $(DOORS_LIBS) $(FCGI_LIBS) $(GIT2_LIBS) $(JSON_LIBS) \
	$(GROUND_LIBADD)

bin_PROGRAMS += reproute
reproute_SOURCES = %D%/admin.c
reproute_CPPFLAGS = $(AM_CPPFLAGS) $(PLACES)
reproute_LDADD = $(DOORS_LIBS) $(LMDB_LIBS) $(GIT2_LIBS) $(CURL_LIBS) \
	$(JSON_LIBS) $(GROUND_LIBADD)

dist_man_MANS += %D%/reproute.1 %D%/reproute-fcgi.8 %D%/reproute-push.8 \
	%D%/reproute-replica.8
