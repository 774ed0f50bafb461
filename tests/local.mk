# tests/local.mk: one test per module, the fuzzers' corpora, the layers
check_LIBRARIES += %D%/libtap.a
%C%_libtap_a_SOURCES = %D%/unit/cgi.c %D%/unit/cgi.h \
	%D%/unit/gained.c %D%/unit/gained.h \
	%D%/unit/githost.c %D%/unit/githost.h \
	%D%/unit/scene.c %D%/unit/scene.h \
	%D%/unit/server.c %D%/unit/server.h \
	%D%/unit/store.c %D%/unit/store.h \
	%D%/unit/tap.c %D%/unit/tap.h \
	%D%/unit/tool.c %D%/unit/tool.h \
	%D%/unit/webconf_sample.c %D%/unit/webconf_sample.h \
	%D%/unit/world.c %D%/unit/world.h
LDADD = tests/libtap.a $(DOORS_LIBS) $(FCGI_LIBS) $(LMDB_LIBS) $(GIT2_LIBS) \
	$(CURL_LIBS) $(JSON_LIBS) $(GROUND_LIBADD)

UNIT_TESTS = \
	%D%/unit/advert_test \
	%D%/unit/alive_test \
	%D%/unit/answer_test \
	%D%/unit/catalogue_test \
	%D%/unit/check_test \
	%D%/unit/choose_test \
	%D%/unit/clock_test \
	%D%/unit/conf_test \
	%D%/unit/connections_test \
	%D%/unit/converge_test \
	%D%/unit/crypto_test \
	%D%/unit/counts_test \
	%D%/unit/daemon_test \
	%D%/unit/damp_test \
	%D%/unit/decide_test \
	%D%/unit/doubts_test \
	%D%/unit/endpoint_test \
	%D%/unit/err_test \
	%D%/unit/explain_test \
	%D%/unit/feed_test \
	%D%/unit/fence_test \
	%D%/unit/fetch_test \
	%D%/unit/form_test \
	%D%/unit/gate_test \
	%D%/unit/gateway_cgi_test \
	%D%/unit/gateway_test \
	%D%/unit/gitcmd_test \
	%D%/unit/health_test \
	%D%/unit/http_test \
	%D%/unit/imports_test \
	%D%/unit/inbox_test \
	%D%/unit/job_test \
	%D%/unit/judge_test \
	%D%/unit/lanes_test \
	%D%/unit/listener_test \
	%D%/unit/log_test \
	%D%/unit/look_test \
	%D%/unit/looks_test \
	%D%/unit/mem_test \
	%D%/unit/mode_test \
	%D%/unit/name_test \
	%D%/unit/news_test \
	%D%/unit/pack_test \
	%D%/unit/page_test \
	%D%/unit/peer_test \
	%D%/unit/peers_test \
	%D%/unit/pipe_test \
	%D%/unit/place_test \
	%D%/unit/places_test \
	%D%/unit/polls_test \
	%D%/unit/probe_test \
	%D%/unit/program_test \
	%D%/unit/proof_test \
	%D%/unit/pulse_test \
	%D%/unit/push_wait_test \
	%D%/unit/queue_test \
	%D%/unit/records_test \
	%D%/unit/refs_test \
	%D%/unit/reply_test \
	%D%/unit/repo_test \
	%D%/unit/request_test \
	%D%/unit/root_test \
	%D%/unit/round_test \
	%D%/unit/row_test \
	%D%/unit/rules_test \
	%D%/unit/sight_test \
	%D%/unit/snapshot_test \
	%D%/unit/spawn_test \
	%D%/unit/stamps_test \
	%D%/unit/status_test \
	%D%/unit/table_kill_test \
	%D%/unit/table_test \
	%D%/unit/target_test \
	%D%/unit/tidy_test \
	%D%/unit/token_test \
	%D%/unit/view_test \
	%D%/unit/wait_test \
	%D%/unit/wake_test \
	%D%/unit/waits_test \
	%D%/unit/webconf_apache_test \
	%D%/unit/webconf_nginx_test \
	%D%/unit/webconf_test \
	%D%/unit/wire_test \
	%D%/unit/work_test \
	%D%/unit/writer_test

# Each fuzzer is LLVMFuzzerTestOneInput(); with main.c it runs its corpus.
FUZZ_TESTS = \
	%D%/fuzz/advert_fuzz \
	%D%/fuzz/feed_fuzz \
	%D%/fuzz/records_fuzz \
	%D%/fuzz/request_fuzz \
	%D%/fuzz/rules_fuzz \
	%D%/fuzz/wire_fuzz
%C%_fuzz_advert_fuzz_SOURCES = %D%/fuzz/advert_fuzz.c %D%/fuzz/main.c
%C%_fuzz_feed_fuzz_SOURCES = %D%/fuzz/feed_fuzz.c %D%/fuzz/main.c
%C%_fuzz_records_fuzz_SOURCES = %D%/fuzz/records_fuzz.c %D%/fuzz/main.c
%C%_fuzz_request_fuzz_SOURCES = %D%/fuzz/request_fuzz.c %D%/fuzz/main.c
%C%_fuzz_rules_fuzz_SOURCES = %D%/fuzz/rules_fuzz.c %D%/fuzz/main.c
%C%_fuzz_wire_fuzz_SOURCES = %D%/fuzz/wire_fuzz.c %D%/fuzz/main.c

# The checker of stale reads; what it decides is tested as any module.
check_LIBRARIES += %D%/libstale.a
%C%_libstale_a_SOURCES = \
	%D%/stale/history.c %D%/stale/history.h \
	%D%/stale/judge.c %D%/stale/judge.h \
	%D%/stale/notes.c %D%/stale/notes.h \
	%D%/stale/readers.c %D%/stale/readers.h \
	%D%/stale/report.c %D%/stale/report.h \
	%D%/stale/scene.c %D%/stale/scene.h \
	%D%/stale/sight.c %D%/stale/sight.h \
	%D%/stale/writers.c %D%/stale/writers.h
%C%_unit_judge_test_LDADD = %D%/libstale.a $(LDADD)
%C%_unit_sight_test_LDADD = %D%/libstale.a $(LDADD)
check_PROGRAMS += %D%/stale/hold %D%/stale/stale %D%/stale/stamp
%C%_stale_stale_SOURCES = %D%/stale/stale.c
%C%_stale_stale_LDADD = %D%/libstale.a $(TRUTH_LIBS) $(LMDB_LIBS) \
	$(GIT2_LIBS) $(CURL_LIBS) $(JSON_LIBS) $(GROUND_LIBADD)
%C%_stale_hold_SOURCES = %D%/stale/hold.c
%C%_stale_hold_LDADD = $(TRUTH_LIBS) $(LMDB_LIBS) $(GROUND_LIBADD)
%C%_stale_stamp_SOURCES = %D%/stale/stamp.c
%C%_stale_stamp_LDADD =

check_PROGRAMS += $(UNIT_TESTS) $(FUZZ_TESTS)
TESTS += $(UNIT_TESTS) $(FUZZ_TESTS) %D%/layers.sh
AM_TESTS_ENVIRONMENT = top_srcdir='$(top_srcdir)'; export top_srcdir;
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
TEST_EXTENSIONS = .sh
SH_LOG_DRIVER = $(LOG_DRIVER)

EXTRA_DIST += %D%/run %D%/layers.sh %D%/e2e %D%/bench %D%/model \
	%D%/stale/run %D%/stale/faults.sh %D%/stale/broken \
	%D%/fuzz/corpus
