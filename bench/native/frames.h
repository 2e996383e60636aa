/* What both programs know of RocketMQ's wire: lengths, records, and the few digits that change in a header.
 *
 *   frame   total int32 | type uint8, header length uint24 | header (JSON) | body      total counts what follows it
 *   record  see record_size(): the stored message, of which a pull's body is a plain concatenation
 */
#ifndef SIGNALBOX_BENCH_FRAMES_H
#define SIGNALBOX_BENCH_FRAMES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_PREFIX 8
#define RECORD_MAGIC 0xDAA320A7u
#define PULL_MESSAGE 11

static inline uint32_t get32(const char *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return __builtin_bswap32(v);
}

static inline char *put32(char *p, uint32_t v) {
    v = __builtin_bswap32(v);
    memcpy(p, &v, 4);
    return p + 4;
}

static inline char *put16(char *p, uint16_t v) {
    v = __builtin_bswap16(v);
    memcpy(p, &v, 2);
    return p + 2;
}

static inline uint64_t get64(const char *p) { return (uint64_t)get32(p) << 32 | get32(p + 4); }

/* The integer behind `key` in a header, or `missing`. A number may be written as a string, as extFields are. */
static inline int64_t header_number(const char *header, size_t size, const char *key, int64_t missing) {
    const char *at = memmem(header, size, key, strlen(key));
    if (at == NULL) return missing;
    const char *end = header + size;
    at += strlen(key);
    if (at < end && *at == '"') at++;
    int negative = at < end && *at == '-';
    at += negative;
    int64_t value = 0;
    if (at >= end || *at < '0' || *at > '9') return missing;
    while (at < end && *at >= '0' && *at <= '9') value = value * 10 + (*at++ - '0');
    return negative ? -value : value;
}

/* A decimal of fixed width, overwritten in place. */
static inline void patch_digits(char *at, int width, uint64_t value) {
    while (width-- > 0) {
        at[width] = '0' + value % 10;
        value /= 10;
    }
}

static inline void fail(const char *what) {
    perror(what);
    exit(2);
}

#endif
