/* fences.pml: fences and marks: no read is stale, whatever is lost or late */
/* SPDX-License-Identifier: ISC */

/*
 * One repository, two replicas, two pushes that overlap as they like, a feed
 * that loses lines, hooks that do not come, clients and a daemon that are
 * killed; and reads, through the router and of the primary itself.  See
 * fence.h, row.h and proof.h, whose words these are.
 *
 * Refs are numbered by what the primary's disk showed: a push back to an old
 * commit is a newer number.  A table transaction is one step.
 *
 * I1: a read that starts after a push has returned sees that push.
 * I2: a read is not older than one that had finished before it began.
 *
 * Left out:
 * - a push that lands after its fence's time is over (FENCE_WATCH): here time
 *   ends only the fence of a push that is over;
 * - a fence that cannot be committed, and doubt; a router that starts;
 * - the common fence, rows that are dropped and learnt again;
 * - two fetches at once into one copy: converge_idle() forbids them;
 * - pushes and fetches that change several refs one after the other;
 * - the proof by commit, which compares no refs.
 *
 * Defined from outside, each breaks it: NO_FENCE (a push raises none),
 * ENDS_EARLY (a line that proves nothing ends the fence), MARKS_LATE (a mark
 * gets the generation of the comparison's end); NOTHING_EXPIRES (time ends no
 * fence).  FENCES_ALONE leaves out whoever changes no fence; REPLICAS_SERVE
 * makes it an error that a replica serves what the last push left.
 */

#define PUSHES 2
#define REPLICAS 2

mtype = { NO_LINE, SETTLED, UNSETTLED }; /* of the feed */

/*
 * The table.  Of a generation only one thing counts: is what was noted the
 * present one?
 */
bool fence[PUSHES];	/* FENCE_UP or FENCE_BROKEN: both hold reads off */
bool marked[REPLICAS];	/* a mark of the present generation */
bool noted[REPLICAS];	/* a comparison under way noted the present one */

/* disks */
byte primary_refs;
byte replica_refs[REPLICAS];

/* a push is over when no ref of it will change any more */
bool over[PUSHES];
mtype line[PUSHES] = NO_LINE;

/* the newest refs that somebody knows of: a push returned, or a read ended */
byte known;

#define fenced (fence[0] || fence[1])

/* row_raise(): whatever was noted before is of an older one now. */
inline raise()
{
	marked[0] = false;
	marked[1] = false;
	noted[0] = false;
	noted[1] = false
}

inline learn(refs)
{
	if
	:: refs > known -> known = refs
	:: else
	fi
}

inline fence_begin(i)
{
	atomic {
#ifndef NO_FENCE
		fence[i] = true;
#endif
		raise()
	}
}

/* Whether or not there was one, the generation rises. */
inline fence_end(i)
{
	atomic {
		fence[i] = false;
		raise()
	}
}

/* It stays as it is, but the generation rises. */
inline fence_broken(i)
{
	atomic {
#ifdef ENDS_EARLY
		fence[i] = false;
#endif
		raise()
	}
}

/* A client, the router's answer to it, git-receive-pack, and its hook. */
proctype push(byte i)
{
	byte refs;
	bool heard;

	fence_begin(i);
	if
	:: heard = true
	:: line[i] = UNSETTLED /* its client is gone; git may go on */
	fi;
	if
	:: atomic {
		primary_refs++;
		refs = (heard -> primary_refs : 0);
		over[i] = true
	   }
	:: atomic { heard = false; over[i] = true } /* refused, or killed */
	fi;
	if
	:: fence_end(i) /* post-receive */
	:: skip		/* no hook, or it was killed */
	fi;
	atomic {
		if
		:: heard -> learn(refs); line[i] = SETTLED
		:: else
		fi;
		heard = false;
		refs = 0
	}
}

/* The daemon's end of the feed; lines come late, or never. */
proctype feed()
{
	byte i;

	do
	:: atomic {
		if
		:: line[0] != NO_LINE
		:: line[1] != NO_LINE -> i = 1
		fi;
		if
		:: line[i] == SETTLED -> fence_end(i)
		:: line[i] == UNSETTLED -> fence_broken(i)
		:: skip /* lost */
		fi;
		line[i] = NO_LINE;
		i = 0
	   }
	od
}

/* fences_expire() */
proctype expire()
{
	do
	:: atomic { fence[0] && over[0] -> fence_end(0) }
	:: atomic { fence[1] && over[1] -> fence_end(1) }
	od
}

/* proof_run() and converge_run() */
proctype daemon(byte r)
{
	byte refs;

	do
	:: atomic { !fenced && !marked[r] -> noted[r] = true };
	   refs = primary_refs;
	   if
	   :: refs == replica_refs[r] ->
#ifdef MARKS_LATE
		marked[r] = true
#else
		marked[r] = noted[r]
#endif
	   :: refs != replica_refs[r] ->
		refs = primary_refs; /* git fetch */
		if
		:: replica_refs[r] = refs
		:: skip /* it fails, or is killed */
		fi
	   :: skip /* killed */
	   fi;
	   atomic { noted[r] = false; refs = 0 }
	od
}

inline serve(r)
{
	refs = replica_refs[r];
#ifdef REPLICAS_SERVE
	assert(refs < PUSHES)
#endif
}

/*
 * Reads, through the router and of the primary itself.  Refs on a disk only
 * get newer here: an answer that comes long after the decision is only newer
 * than this one, and tells no more than a read of the primary at that moment.
 * Two reads that overlap owe each other nothing.
 */
proctype reader()
{
	byte refs;

	do
	:: atomic {
		if
		:: !fenced && marked[0] -> serve(0)
		:: !fenced && marked[1] -> serve(1)
		:: refs = primary_refs
		fi;
		assert(refs >= known); /* I1, I2 */
		learn(refs);
		refs = 0
	   }
	od
}

init {
	atomic {
		run push(0);
		run push(1);
		run feed();
#ifndef NOTHING_EXPIRES
		run expire();
#endif
#ifndef FENCES_ALONE
		run daemon(0);
		run daemon(1);
		run reader()
#endif
	}
}

ltl every_fence_ends { [] (fenced -> <> !fenced) }
