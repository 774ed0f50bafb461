/* records_fuzz.c: any bytes are a request, or none, as libfcgi has it, too */
/* SPDX-License-Identifier: ISC */
#include <assert.h>
#include <fcgiapp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fcgi/records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_BODY 64

static void
check(const struct records *records, enum records_state state, size_t len)
{
	assert(records->start <= records->at && records->at <= len);
	assert((state == RECORDS_BAD) == (records->why != NULL));
	if (state != RECORDS_WHOLE)
		return;
	assert(records->id != 0 && records->has_params);
	assert(records->n_params <= MAX_PARAMS && records->left == 0);
	if (records->max_body > 0)
		assert(records->over || records->cut);
}

/* libfcgi takes it, and reads the same of it. */
static void
check_libfcgi(const struct records *records, const uint8_t *data)
{
	/* FastCGI specification, 3.3: an end of STDIN */
	uint8_t end[RECORD_HEADER] = { 1, 5, (uint8_t)(records->id >> 8),
		(uint8_t)records->id };
	size_t len = records->at - records->start;
	FCGX_Request request;
	char body[MAX_PRELUDE];
	unsigned n = 0;
	int file = memfd_create("request", MFD_CLOEXEC);

	assert(write(file, data + records->start, len) == (ssize_t)len);
	assert(write(file, end, sizeof(end)) == sizeof(end));
	assert(lseek(file, 0, SEEK_SET) == 0 && FCGX_Init() == 0);
	FCGX_InitRequest(&request, -1, 0);
	request.ipcFd = file;
	/* or it would close the file before it reads it */
	request.keepConnection = 1;
	assert(FCGX_Accept_r(&request) == 0);
	while (request.envp[n] != NULL)
		n++;
	/* and FCGI_ROLE, which libfcgi adds */
	assert(n == records->n_params + 1);
	assert((request.keepConnection != 0) == records->keep);
	assert(
	    FCGX_GetStr(body, sizeof(body), request.in) == (int)records->body);
	assert(FCGX_GetError(request.in) == 0);
	FCGX_Free(&request, 1);
}

/* All at once and byte by byte; to the end of one request. */
static void
run(const uint8_t *data, size_t size, size_t max_body)
{
	struct records whole, pieces;
	enum records_state state, other = RECORDS_MORE;

	records_begin(&whole, max_body);
	records_begin(&pieces, max_body);
	state = records_read(&whole, data, size);
	check(&whole, state, size);
	if (state == RECORDS_WHOLE)
		check_libfcgi(&whole, data);
	for (size_t len = 0; len <= size && other == RECORDS_MORE; len++) {
		other = records_read(&pieces, data, len);
		check(&pieces, other, len);
	}
	/* without a body, bytes behind the request may be bad */
	assert(state == other ||
	    (max_body == 0 && other == RECORDS_WHOLE && state == RECORDS_BAD));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > MAX_PRELUDE)
		return 0;
	run(data, size, 0);
	run(data, size, MAX_BODY);
	return 0;
}
