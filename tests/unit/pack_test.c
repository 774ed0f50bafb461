/* pack_test.c: records and keys, there and back, and broken ones */
/* SPDX-License-Identifier: ISC */
#include "sync/pack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf/name.h"
#include "tests/unit/tap.h"

static void
test_bytes(void)
{
	struct pack pack = { 0 };
	struct table_bytes bytes;

	pack_u8(&pack, 0xfe);
	pack_u64(&pack, 0x0102030405060708);
	pack_text(&pack, "ab");
	bytes = pack_bytes(&pack);
	tap_ok(bytes.len == 13 &&
		memcmp(bytes.data, "\xfe\1\2\3\4\5\6\7\x8\0\2ab", 13) == 0,
	    "numbers are big-endian, text is counted");
}

static void
test_round_trip(void)
{
	static const uint64_t numbers[] = { 0, 1, 255, 1ULL << 32, UINT64_MAX };
	char longest[NAME_SIZE], text[NAME_SIZE];
	struct pack pack = { 0 };
	struct unpack in;
	bool same = true;

	memset(longest, 'n', MAX_NAME);
	longest[MAX_NAME] = '\0';
	for (size_t i = 0; i < 5; i++)
		pack_u64(&pack, numbers[i]);
	pack_text(&pack, "");
	pack_text(&pack, longest);
	pack_u8(&pack, 7);

	in = unpack_of(pack_bytes(&pack));
	for (size_t i = 0; i < 5; i++)
		same = same && unpack_u64(&in) == numbers[i];
	tap_ok(same, "numbers come back");
	unpack_text(&in, text, 1);
	tap_str(text, "", "an empty text comes back");
	unpack_text(&in, text, sizeof(text));
	tap_str(text, longest, "a text of the longest name comes back");
	tap_ok(!unpack_whole(&in), "it is not whole before its end");
	tap_int(unpack_u8(&in), 7, "a byte comes back");
	tap_ok(unpack_whole(&in), "it is whole at its end");
	tap_int(unpack_u8(&in), 0, "behind the end is zero");
	tap_ok(!unpack_whole(&in), "and it is broken then");
}

static const struct {
	const char *what;
	const char *bytes;
	size_t len;
	bool whole;
	const char *text;
} records[] = {
	{ "a byte and a text", "\1\0\2ab", 5, true, "ab" },
	{ "the size is full", "\1\0\3abc", 6, true, "abc" },
	{ "nothing", "", 0, false, "" },
	{ "no length", "\1", 1, false, "" },
	{ "half a length", "\1\0", 2, false, "" },
	{ "text too short", "\1\0\3ab", 5, false, "" },
	{ "a length that lies",
	    "\1\xff\xff"
	    "ab",
	    5, false, "" },
	{ "text too long for its place", "\1\0\4abcd", 7, false, "" },
	{ "a NUL inside", "\1\0\3a\0b", 6, false, "" },
	{ "bytes left over", "\1\0\2abc", 6, false, "ab" },
};

static void
test_records(void)
{
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		/* from the heap, so that a sanitizer sees a step too far */
		char *copy = malloc(records[i].len ? records[i].len : 1);
		struct unpack in;
		char text[4] = "?";

		memcpy(copy, records[i].bytes, records[i].len);
		in = unpack_of((struct table_bytes){ copy, records[i].len });
		unpack_u8(&in);
		unpack_text(&in, text, sizeof(text));
		tap_str(text, records[i].text, "%s: the text", records[i].what);
		tap_int(unpack_whole(&in), records[i].whole, "%s: whole",
		    records[i].what);
		free(copy);
	}
}

static void
test_long_keys(void)
{
	/* "route" and its NUL, then what is left with the last NUL */
	const size_t fits = MAX_KEY - sizeof("route") - 1;
	char name[NAME_SIZE], other[NAME_SIZE];
	struct key key, again, prefix = key_of("route", NULL);

	memset(name, 'n', fits);
	name[fits] = '\0';
	key = key_of("route", name, NULL);
	tap_int((long long)key.len, MAX_KEY, "the longest name as it is");
	tap_ok(key_under(&prefix, key_bytes(&key)), "and under its route");

	memset(name, 'n', MAX_NAME);
	name[MAX_NAME] = '\0';
	memcpy(other, name, sizeof(name));
	other[MAX_NAME - 1] = 'm';
	key = key_of("route", name, NULL);
	tap_int((long long)key.len, sizeof("route") + 1 + 64 + 1,
	    "a longer one is hashed");
	tap_int(key.bytes[sizeof("route")], 1, "and marked");
	tap_ok(key_under(&prefix, key_bytes(&key)), "and under its route");
	again = key_of("route", other, NULL);
	tap_ok(key.len == again.len &&
		memcmp(key.bytes, again.bytes, key.len) != 0,
	    "two that differ at the end have two keys");
	again = key_of("route", name, NULL);
	tap_ok(memcmp(key.bytes, again.bytes, key.len) == 0,
	    "one name has one key");
}

static void
test_failed(void)
{
	tap_int(unpack_failed("row", "a\nb"), ERR_TABLE, "a damaged record");
	tap_str(err_text(), "the table's row of a\\x0ab is damaged",
	    "whatever name it holds");
}

static void
test_keys(void)
{
	struct key a = key_of("a", NULL), ab = key_of("a", "b", NULL);
	struct key abc = key_of("ab", NULL), empty = key_of("a", "", NULL);

	tap_ok(ab.len == 4 && memcmp(ab.bytes, "a\0b\0", 4) == 0,
	    "words are ended by NUL");
	tap_ok(key_under(&a, key_bytes(&ab)), "a, b is under a");
	tap_ok(key_under(&a, key_bytes(&a)), "a is under a");
	tap_ok(!key_under(&a, key_bytes(&abc)), "ab is not under a");
	tap_ok(!key_under(&ab, key_bytes(&a)), "a is not under a, b");
	tap_ok(key_before(key_bytes(&empty), &ab),
	    "the empty name is before every name");
	tap_ok(key_before(key_bytes(&a), &empty), "a prefix is before");
	tap_ok(!key_before(key_bytes(&ab), &ab), "nothing is before itself");
	tap_ok(!key_before(key_bytes(&abc), &ab), "ab is after a, b");
}

static const struct {
	int64_t time;
	const char *word;
} times[] = {
	{ INT64_MIN, "0000000000000000" },
	{ -1, "0000000000000000" },
	{ 0, "0000000000000000" },
	{ 10, "000000000000000a" },
	{ 1700000000, "000000006553f100" },
	{ INT64_MAX, "7fffffffffffffff" },
};

static void
test_times(void)
{
	char word[TIME_WORD_SIZE];

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		time_word(times[i].time, word);
		tap_str(word, times[i].word, "time %lld",
		    (long long)times[i].time);
	}
}

int
main(void)
{
	test_bytes();
	test_round_trip();
	test_records();
	test_failed();
	test_long_keys();
	test_keys();
	test_times();
	return tap_done();
}
