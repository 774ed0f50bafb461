# contrib/local.mk: what an admin copies
EXTRA_DIST += %D%/quickstart
