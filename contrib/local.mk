# contrib/local.mk: what an admin copies
EXTRA_DIST += %D%/quickstart %D%/stage.sh %D%/fronts

hooksdir = $(pkgdatadir)/hooks
dist_hooks_SCRIPTS = %D%/hooks/pre-receive %D%/hooks/post-receive \
	%D%/hooks/reference-transaction

# Units name the programs where they are installed.
CONTRIB_FILLED = \
	%D%/cron/reproute \
	%D%/systemd/reproute-fcgi.service \
	%D%/systemd/reproute-push.service \
	%D%/systemd/reproute-sync-once.service \
	%D%/systemd/reproute-syncd.service
%D%/cron/reproute: %D%/cron/reproute.in
%D%/systemd/reproute-fcgi.service: %D%/systemd/reproute-fcgi.service.in
%D%/systemd/reproute-push.service: %D%/systemd/reproute-push.service.in
%D%/systemd/reproute-sync-once.service: \
	%D%/systemd/reproute-sync-once.service.in
%D%/systemd/reproute-syncd.service: %D%/systemd/reproute-syncd.service.in
$(CONTRIB_FILLED): Makefile
	$(AM_V_GEN)$(MKDIR_P) $(@D) && \
	sed -e 's,@sbindir[@],$(sbindir),g' \
	    -e 's,@libexecdir[@],$(libexecdir),g' $(srcdir)/$@.in >$@.tmp && \
	mv $@.tmp $@

nodist_systemdsystemunit_DATA = \
	%D%/systemd/reproute-fcgi.service \
	%D%/systemd/reproute-push.service \
	%D%/systemd/reproute-sync-once.service \
	%D%/systemd/reproute-syncd.service
dist_systemdsystemunit_DATA = \
	%D%/systemd/reproute-fcgi.socket \
	%D%/systemd/reproute-push.socket \
	%D%/systemd/reproute-sync-once.timer
crondir = $(pkgdatadir)/cron
nodist_cron_DATA = %D%/cron/reproute
# where systemd looks for both, under /usr and /usr/local alike
sysusersdir = $(prefix)/lib/sysusers.d
dist_sysusers_DATA = %D%/sysusers.d/reproute.conf
tmpfilesdir = $(prefix)/lib/tmpfiles.d
dist_tmpfiles_DATA = %D%/tmpfiles.d/reproute.conf
CLEANFILES += $(CONTRIB_FILLED)
EXTRA_DIST += \
	%D%/cron/reproute.in \
	%D%/systemd/reproute-fcgi.service.in \
	%D%/systemd/reproute-push.service.in \
	%D%/systemd/reproute-sync-once.service.in \
	%D%/systemd/reproute-syncd.service.in
