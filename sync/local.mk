# sync/local.mk: the truth
noinst_LIBRARIES += %D%/libtruth.a
%C%_libtruth_a_SOURCES = \
	%D%/advert.c %D%/advert.h \
	%D%/alive.c %D%/alive.h \
	%D%/catalogue.c %D%/catalogue.h \
	%D%/converge.c %D%/converge.h \
	%D%/counts.c %D%/counts.h \
	%D%/daemon.c %D%/daemon.h \
	%D%/damp.c %D%/damp.h \
	%D%/doubts.c %D%/doubts.h \
	%D%/feed.c %D%/feed.h \
	%D%/fence.c %D%/fence.h \
	%D%/fetch.c %D%/fetch.h \
	%D%/form.c %D%/form.h \
	%D%/gate.c %D%/gate.h \
	%D%/gitcmd.c %D%/gitcmd.h \
	%D%/health.c %D%/health.h \
	%D%/http.c %D%/http.h \
	%D%/imports.c %D%/imports.h \
	%D%/inbox.c %D%/inbox.h \
	%D%/lanes.c %D%/lanes.h \
	%D%/look.c %D%/look.h \
	%D%/mode.c %D%/mode.h \
	%D%/news.c %D%/news.h \
	%D%/pack.c %D%/pack.h \
	%D%/peer.c %D%/peer.h \
	%D%/place.c %D%/place.h \
	%D%/polls.c %D%/polls.h \
	%D%/probe.c %D%/probe.h \
	%D%/proof.c %D%/proof.h \
	%D%/pulse.c %D%/pulse.h \
	%D%/pulse_file.c %D%/pulse_map.h \
	%D%/queue.c %D%/queue.h \
	%D%/refs.c %D%/refs.h \
	%D%/repo.c %D%/repo.h \
	%D%/report.c %D%/report.h \
	%D%/root.c %D%/root.h \
	%D%/round.c %D%/round.h \
	%D%/row.c %D%/row.h \
	%D%/shared.c %D%/shared.h \
	%D%/spawn.c %D%/spawn.h \
	%D%/stamps.c %D%/stamps.h \
	%D%/table.c %D%/table.h \
	%D%/tidy.c %D%/tidy.h \
	%D%/token.c %D%/token.h \
	%D%/view.c %D%/view.h \
	%D%/wake.c %D%/wake.h \
	%D%/wire.c %D%/wire.h \
	%D%/work.c %D%/work.h
%C%_libtruth_a_CPPFLAGS = $(AM_CPPFLAGS) $(LMDB_CFLAGS) $(GIT2_CFLAGS) \
	$(CURL_CFLAGS) $(JSON_CFLAGS)
TRUTH_LIBS = sync/libtruth.a $(GROUND_LIBS)

sbin_PROGRAMS += reproute-syncd
reproute_syncd_SOURCES = %D%/syncd.c
reproute_syncd_LDADD = $(TRUTH_LIBS) $(LMDB_LIBS) $(GIT2_LIBS) $(CURL_LIBS) \
	$(JSON_LIBS) $(GROUND_LIBADD)

dist_man_MANS += %D%/reproute-syncd.8
