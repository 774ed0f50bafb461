/* work.c: one lagging repository at one replica: prove, converge, prove */
/* SPDX-License-Identifier: ISC */
#include "sync/work.h"

#include "sync/converge.h"
#include "sync/proof.h"
#include "sync/row.h"

/* What the transactions below are about. */
struct subject {
	const struct route *route;
	const struct upstream *replica;
	const char *name;
};

static enum err
drop(struct table_txn *txn, void *arg)
{
	struct subject *subject = arg;

	return row_drop(txn, subject->route, subject->name);
}

static enum work_outcome
after_proof(struct table *table, struct subject *subject,
    const struct proof_result *proof)
{
	switch (proof->outcome) {
	case PROOF_MARKED:
		return WORK_MARKED;
	case PROOF_SUPERSEDED:
		return WORK_MOVED;
	case PROOF_FENCED:
	case PROOF_UNREPORTED:
		return WORK_WAITS;
	case PROOF_GONE:
		if (table_write(table, drop, subject) != ERR_OK)
			return WORK_FAILED;
		return WORK_DROPPED;
	case PROOF_UNVERIFIED:
	case PROOF_DIFFERS:
		break;
	}
	(void)err_set(ERR_PEER, "replica %s: %s", subject->replica->name,
	    proof->note[0] != '\0' ? proof->note
				   : "its refs differ from the primary's");
	return WORK_FAILED;
}

static enum work_outcome
converge_and_prove(struct table *table, struct http *http,
    const struct conf *conf, struct subject *subject,
    struct proof_result *proof)
{
	enum err err;

	err = converge_run(http, conf, subject->route, subject->replica,
	    subject->name, &proof->primary);
	if (err != ERR_OK)
		return WORK_FAILED;
	err = proof_run(table, http, conf, subject->route, subject->replica,
	    subject->name, proof);
	if (err == ERR_ABSENT)
		return WORK_DROPPED;
	return err == ERR_OK ? after_proof(table, subject, proof) : WORK_FAILED;
}

enum work_outcome
work_run(struct table *table, struct http *http, const struct conf *conf,
    const struct route *route, const struct upstream *replica, const char *name,
    bool *raised)
{
	struct subject subject = { route, replica, name };
	struct proof_result proof;
	enum err err;

	*raised = false;
	err = proof_run(table, http, conf, route, replica, name, &proof);
	if (err == ERR_ABSENT)
		return WORK_DROPPED;
	if (err != ERR_OK)
		return WORK_FAILED;
	err = proof_unreported(table, route, replica, name, &proof, raised);
	if (err == ERR_ABSENT)
		return WORK_DROPPED;
	if (err != ERR_OK)
		return WORK_FAILED;
	if (proof.outcome != PROOF_DIFFERS)
		return after_proof(table, &subject, &proof);
	return converge_and_prove(table, http, conf, &subject, &proof);
}
