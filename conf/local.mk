# conf/local.mk: the ground
noinst_LIBRARIES += %D%/libground.a
%C%_libground_a_SOURCES = \
	%D%/clock.c %D%/clock.h \
	%D%/conf.c %D%/conf.h \
	%D%/crypto.c %D%/crypto.h \
	%D%/err.c %D%/err.h \
	%D%/keys.c %D%/keys.h \
	%D%/legal.c %D%/legal.h \
	%D%/log.c %D%/log.h \
	%D%/mem.c %D%/mem.h \
	%D%/name.c %D%/name.h \
	%D%/program.c %D%/program.h \
	%D%/rules.c %D%/rules.h \
	%D%/scan.c %D%/scan.h \
	%D%/schema.c %D%/schema.h \
	%D%/setting.c %D%/setting.h \
	%D%/whole.c %D%/whole.h
%C%_libground_a_CPPFLAGS = $(AM_CPPFLAGS) $(CONFIG_CFLAGS) $(PCRE2_CFLAGS) \
	$(CRYPTO_CFLAGS) -DSAMPLE='"$(pkgdatadir)/reproute.conf.sample"'
GROUND_LIBS = conf/libground.a
GROUND_LIBADD = $(CONFIG_LIBS) $(PCRE2_LIBS) $(CRYPTO_LIBS) -lm

dist_man_MANS += %D%/reproute.conf.5
dist_pkgdata_DATA = %D%/reproute.conf.sample
