/* A closed-loop load generator for RocketMQ's wire: every answer lets the next request go.
 *
 *   loadgen --port N --mode send|batch|pull [--connections 1] [--in-flight 256] [--body 128] [--seconds 3]
 *           [--warmup 1] [--count STORED] [--rate MESSAGES_PER_SECOND] [--topic bench] [--queues 4]
 *
 * Requests have the shape of the Java client's: JSON headers, escaped separators in the properties, a unique key
 * per message. send = one message per request, batch = 100, pull = up to 32 per answer from queue 0, from offset 0
 * to the queue's end, again and again. Everything is written into templates beforehand; per request only the
 * digits that change are overwritten, so that this program is not what is measured.
 *
 * --count stores so many messages: what is refused is asked again, until nothing was stored for five seconds.
 * --rate holds requests back so that no more are asked than that, evenly; what the server keeps waiting is made up
 * for later, as far as the requests in flight allow.
 *
 * An answer counts only if its opaque is that of a request in flight and, for a pull, if its body is whole records.
 * Prints one line of JSON: rate and latencies of the measured window; refusals (a code other than 0), bad answers
 * and unanswered requests of the whole run. Exit status 1 when the server closed a connection.
 */
#define _GNU_SOURCE
#include "frames.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define IN_BYTES (1 << 20)
#define FIRST_OPAQUE 1000000000u /* ten digits from here to INT32_MAX: a template's width never changes */
#define OPAQUES 1100000000u
#define KEY_DIGITS 16
#define BATCH 100
#define PULL_FRAME_BYTES 1024
#define DRAIN_NS 3000000000LL
#define STUCK_NS 5000000000LL
#define BUCKETS 2048

enum mode { SEND, BATCHED, PULL };

struct slot {
    uint32_t opaque; /* 0: no request in flight */
    uint32_t uses;
    int64_t sent_ns, pull_offset;
};

struct connection {
    int fd, is_waiting_to_write;
    uint32_t number;
    struct slot *slots;
    int *idle, idle_count; /* slots that --rate holds back */
    char *in, *out;
    size_t in_end, out_at, out_end, out_size;
};

static struct {
    enum mode mode;
    const char *topic;
    int port, connections, in_flight, body_bytes, queues;
    double seconds, warmup, rate;
    int64_t count;
} want = {SEND, "bench", 0, 1, 256, 128, 4, 3, 1, 0, 0};

static struct {
    int64_t messages, answered, requests, refused, bad, closed, in_flight, asked;
    int64_t buckets[BUCKETS];
    char remark[160];
} seen;

static char *template;
static size_t template_size, opaque_at, queue_at, key_at, item_key_at, item_size;
static int64_t now_ns, started_ns, stored_ns, window_from_ns, window_to_ns;
static uint64_t next_key;

static int64_t clock_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* ---- requests ---- */

static char *make_body(size_t *size) {
    char properties[128];
    int properties_size = snprintf(properties, sizeof properties,
                                   "UNIQ_KEY\0017F00000100000000%016d\002WAIT\001true\002TAGS\001bench\002", 0);
    if (want.mode == SEND) {
        *size = want.body_bytes;
        char *body = malloc(*size + 1);
        memset(body, 'x', *size);
        return body;
    }
    item_size = 22 + want.body_bytes + properties_size;
    *size = BATCH * item_size;
    char *body = calloc(BATCH, item_size);
    for (int n = 0; n < BATCH; n++) {
        char *item = body + n * item_size;
        put32(item, item_size);
        char *at = put32(item + 16, want.body_bytes);
        memset(at, 'x', want.body_bytes);
        memcpy(put16(at + want.body_bytes, properties_size), properties, properties_size);
    }
    return body;
}

static size_t place_of(const char *mark) {
    char *at = memmem(template, template_size, mark, strlen(mark));
    if (at == NULL) fail(mark);
    return at + strlen(mark) - template;
}

static void make_send_template(void) {
    char header[2048];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int size = snprintf(
        header, sizeof header,
        "{\"code\":%d,\"extFields\":{\"a\":\"bench_producer\",\"b\":\"%s\",\"c\":\"TBW102\",\"d\":\"4\",\"e\":\"0\","
        "\"f\":\"0\",\"g\":\"%lld\",\"h\":\"0\","
        "\"i\":\"UNIQ_KEY\\u00017F00000100000000%016d\\u0002WAIT\\u0001true\\u0002TAGS\\u0001bench\\u0002\","
        "\"j\":\"0\",\"k\":\"false\",\"m\":\"%s\",\"n\":\"bench-a\"},\"flag\":0,\"language\":\"JAVA\","
        "\"opaque\":%010d,\"serializeTypeCurrentRPC\":\"JSON\",\"version\":479}",
        want.mode == BATCHED ? 320 : 310, want.topic, now.tv_sec * 1000LL + now.tv_nsec / 1000000, 0,
        want.mode == BATCHED ? "true" : "false", 0);
    size_t body_size;
    char *body = make_body(&body_size);
    template_size = FRAME_PREFIX + size + body_size;
    template = malloc(template_size);
    put32(put32(template, 4 + size + body_size), size);
    memcpy(template + FRAME_PREFIX, header, size);
    memcpy(template + FRAME_PREFIX + size, body, body_size);
    free(body);
    opaque_at = place_of("\"opaque\":");
    queue_at = place_of("\"e\":\"");
    key_at = place_of("UNIQ_KEY\\u00017F00000100000000");
    if (want.mode == BATCHED) item_key_at = place_of("UNIQ_KEY\0017F00000100000000");
}

static size_t write_pull(char *frame, const struct slot *slot) {
    int size = snprintf(
        frame + FRAME_PREFIX, PULL_FRAME_BYTES - FRAME_PREFIX,
        "{\"code\":11,\"extFields\":{\"consumerGroup\":\"bench_consumer\",\"topic\":\"%s\",\"queueId\":\"0\","
        "\"queueOffset\":\"%lld\",\"maxMsgNums\":\"32\",\"sysFlag\":\"4\",\"commitOffset\":\"0\","
        "\"suspendTimeoutMillis\":\"15000\",\"subscription\":\"*\",\"subVersion\":\"1700000000000\","
        "\"expressionType\":\"TAG\"},\"flag\":0,\"language\":\"JAVA\",\"opaque\":%u,"
        "\"serializeTypeCurrentRPC\":\"JSON\",\"version\":479}",
        want.topic, (long long)slot->pull_offset, slot->opaque);
    put32(put32(frame, 4 + size), size);
    return FRAME_PREFIX + size;
}

static size_t write_send(char *frame, const struct slot *slot, int slot_number) {
    memcpy(frame, template, template_size);
    patch_digits(frame + opaque_at, 10, slot->opaque);
    patch_digits(frame + key_at, KEY_DIGITS, next_key++);
    frame[queue_at] = '0' + slot_number % want.queues;
    if (want.mode == BATCHED)
        for (int n = 0; n < BATCH; n++)
            patch_digits(frame + item_key_at + n * item_size, KEY_DIGITS, next_key++);
    return template_size;
}

static int wants_more(void) {
    if (want.count > 0) return seen.asked < want.count;
    return now_ns < window_to_ns;
}

static int is_too_early(void) { return want.rate > 0 && seen.asked >= want.rate * (now_ns - started_ns) / 1e9; }

/* Every request in flight has its room; those that are written already give theirs back only now. */
static char *room_for(struct connection *connection, size_t size) {
    if (connection->out_end + size > connection->out_size) {
        connection->out_end -= connection->out_at;
        memmove(connection->out, connection->out + connection->out_at, connection->out_end);
        connection->out_at = 0;
    }
    return connection->out + connection->out_end;
}

/* An opaque names its slot: opaque modulo the number of slots, so answers may come in any order. */
static void ask(struct connection *connection, int slot_number) {
    if (!wants_more()) return;
    if (is_too_early()) {
        connection->idle[connection->idle_count++] = slot_number;
        return;
    }
    struct slot *slot = &connection->slots[slot_number];
    slot->opaque = FIRST_OPAQUE + (slot->uses++ % (OPAQUES / want.in_flight)) * want.in_flight + slot_number;
    slot->sent_ns = now_ns;
    char *frame = room_for(connection, want.mode == PULL ? PULL_FRAME_BYTES : template_size);
    int queue = slot_number + connection->number;
    connection->out_end += want.mode == PULL ? write_pull(frame, slot) : write_send(frame, slot, queue);
    seen.in_flight++;
    seen.asked += want.mode == BATCHED ? BATCH : 1;
}

static void ask_idle(struct connection *connection) {
    while (connection->idle_count > 0 && wants_more() && !is_too_early())
        ask(connection, connection->idle[--connection->idle_count]);
}

/* ---- answers ---- */

/* Sixteen steps per power of two: within 6 % of the true value. */
static int bucket_of(int64_t us) {
    if (us < 32) return us < 0 ? 0 : us;
    int shift = 59 - __builtin_clzll(us);
    return 16 * shift + (us >> shift);
}

static double bucket_value(int bucket) {
    if (bucket < 32) return bucket;
    int shift = bucket / 16 - 1;
    return (double)((int64_t)(16 + bucket % 16) << shift);
}

static double percentile(double share) {
    int64_t left = seen.requests * share;
    for (int n = 0; n < BUCKETS; n++)
        if ((left -= seen.buckets[n]) < 0) return bucket_value(n);
    return 0;
}

/* How many records the body holds; -1 if it is not a run of whole records of consecutive queue offsets. */
static int count_records(const char *body, size_t size, int64_t first) {
    int count = 0;
    size_t at = 0;
    while (at < size) {
        if (size - at < 91) return -1;
        size_t one = get32(body + at);
        if (get32(body + at + 4) != RECORD_MAGIC || one < 91 || one > size - at) return -1;
        if ((int64_t)get64(body + at + 20) != first + count) return -1;
        at += one;
        count++;
    }
    return count;
}

static int take_pulled(struct slot *slot, const char *header, size_t size, const char *body, size_t body_size) {
    int64_t next = header_number(header, size, "\"nextBeginOffset\":", -1);
    int64_t end = header_number(header, size, "\"maxOffset\":", -1);
    int count = count_records(body, body_size, slot->pull_offset);
    if (count <= 0 || next != slot->pull_offset + count) {
        seen.bad++;
        count = 0;
    }
    slot->pull_offset = next < 0 || next >= end ? 0 : next;
    return count;
}

static void note_refusal(const char *header, size_t size) {
    const char *remark = memmem(header, size, "\"remark\":\"", 10);
    if (seen.refused++ == 0 && remark != NULL) {
        size_t n = 0, room = header + size - remark - 10;
        for (remark += 10; n < room && n < sizeof seen.remark - 1 && remark[n] != '"' && remark[n] != '\\'; n++)
            seen.remark[n] = remark[n];
    }
}

static void take_answer(struct connection *connection, const char *header, size_t size, size_t frame_left) {
    uint32_t opaque = header_number(header, size, "\"opaque\":", 0);
    int slot_number = (opaque - FIRST_OPAQUE) % want.in_flight;
    struct slot *slot = &connection->slots[slot_number];
    if (opaque < FIRST_OPAQUE || slot->opaque != opaque) {
        seen.bad++;
        return;
    }
    int count = 0;
    if (header_number(header, size, "\"code\":", -1) != 0) {
        note_refusal(header, size);
        slot->pull_offset = 0;
        seen.asked -= want.mode == BATCHED ? BATCH : 1; /* --count means stored: ask again */
    } else if (want.mode == PULL) {
        count = take_pulled(slot, header, size, header + size, frame_left);
    } else {
        count = want.mode == BATCHED ? BATCH : 1;
    }
    seen.answered += count;
    if (count > 0) stored_ns = now_ns;
    if (now_ns >= window_from_ns && now_ns <= window_to_ns) {
        seen.messages += count;
        seen.requests++;
        seen.buckets[bucket_of((now_ns - slot->sent_ns) / 1000)]++;
    }
    slot->opaque = 0;
    seen.in_flight--;
    ask(connection, slot_number);
}

/* ---- connections ---- */

static void lose(struct connection *connection) {
    seen.closed++;
    close(connection->fd);
    connection->fd = -1;
}

static void write_out(int poller, struct connection *connection) {
    while (connection->out_at < connection->out_end) {
        ssize_t put = write(connection->fd, connection->out + connection->out_at,
                            connection->out_end - connection->out_at);
        if (put < 0 && errno != EAGAIN) return lose(connection);
        if (put < 0) break;
        connection->out_at += put;
    }
    int must_wait = connection->out_at < connection->out_end;
    if (!must_wait) connection->out_at = connection->out_end = 0;
    if (must_wait != connection->is_waiting_to_write) {
        struct epoll_event event = {.events = must_wait ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.ptr = connection};
        epoll_ctl(poller, EPOLL_CTL_MOD, connection->fd, &event);
        connection->is_waiting_to_write = must_wait;
    }
}

static void read_in(struct connection *connection) {
    ssize_t got = read(connection->fd, connection->in + connection->in_end, IN_BYTES - connection->in_end);
    if (got <= 0) {
        if (got == 0 || errno != EAGAIN) lose(connection);
        return;
    }
    now_ns = clock_ns();
    connection->in_end += got;
    size_t at = 0;
    while (connection->in_end - at >= FRAME_PREFIX) {
        const char *frame = connection->in + at;
        size_t total = get32(frame), header_size = get32(frame + 4) & 0xFFFFFF;
        if (total + 4 > IN_BYTES || header_size + 4 > total) return lose(connection);
        if (connection->in_end - at < total + 4) break;
        take_answer(connection, frame + FRAME_PREFIX, header_size, total - 4 - header_size);
        at += total + 4;
    }
    memmove(connection->in, connection->in + at, connection->in_end - at);
    connection->in_end -= at;
}

static struct connection *open_connection(int poller, int number) {
    struct connection *made = calloc(1, sizeof *made);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(want.port)};
    int one = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    made->number = number;
    made->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(made->fd, (void *)&address, sizeof address) < 0) fail("connect");
    setsockopt(made->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(made->fd, F_SETFL, O_NONBLOCK);
    made->slots = calloc(want.in_flight, sizeof *made->slots);
    made->in = malloc(IN_BYTES);
    made->idle = calloc(want.in_flight, sizeof *made->idle);
    /* Twice what can be in flight, so that it is moved to the front now and then only. */
    made->out_size = 2 * want.in_flight * (want.mode == PULL ? PULL_FRAME_BYTES : template_size);
    made->out = malloc(made->out_size);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = made};
    epoll_ctl(poller, EPOLL_CTL_ADD, made->fd, &event);
    return made;
}

static int is_over(void) {
    if (want.count > 0 && now_ns > stored_ns + STUCK_NS) return 1;
    return !wants_more() && (seen.in_flight == 0 || now_ns > window_to_ns + DRAIN_NS);
}

static void run(int poller, struct connection **all) {
    struct epoll_event events[256];
    while (seen.closed < want.connections && !is_over()) {
        int count = epoll_wait(poller, events, 256, want.rate > 0 ? 1 : 100);
        now_ns = clock_ns();
        for (int n = 0; n < count; n++) {
            struct connection *connection = events[n].data.ptr;
            if (connection->fd >= 0 && events[n].events & ~EPOLLOUT) read_in(connection);
            if (connection->fd >= 0) write_out(poller, connection);
        }
        for (int n = 0; n < want.connections && want.rate > 0; n++) {
            if (all[n]->fd < 0) continue;
            ask_idle(all[n]);
            write_out(poller, all[n]);
        }
    }
}

static void report(void) {
    static const char *names[] = {"send", "batch", "pull"};
    double seconds = want.count > 0 ? (now_ns - started_ns) / 1e9 : (window_to_ns - window_from_ns) / 1e9;
    printf("{\"mode\":\"%s\",\"connections\":%d,\"in_flight\":%d,\"body_bytes\":%d,\"seconds\":%.3f,"
           "\"messages\":%lld,\"rate\":%.1f,\"p50_us\":%.0f,\"p99_us\":%.0f,\"answered\":%lld,\"refused\":%lld,"
           "\"bad\":%lld,\"unanswered\":%lld,\"closed\":%lld,\"first_refusal\":\"%s\"}\n",
           names[want.mode], want.connections, want.in_flight, want.body_bytes, seconds, (long long)seen.messages,
           seen.messages / seconds, percentile(0.5), percentile(0.99), (long long)seen.answered,
           (long long)seen.refused, (long long)seen.bad, (long long)seen.in_flight, (long long)seen.closed,
           seen.remark);
}

static void read_options(int argc, char **argv) {
    for (int n = 1; n + 1 < argc; n += 2) {
        const char *name = argv[n], *value = argv[n + 1];
        if (!strcmp(name, "--port")) want.port = atoi(value);
        else if (!strcmp(name, "--connections")) want.connections = atoi(value);
        else if (!strcmp(name, "--in-flight")) want.in_flight = atoi(value);
        else if (!strcmp(name, "--body")) want.body_bytes = atoi(value);
        else if (!strcmp(name, "--queues")) want.queues = atoi(value);
        else if (!strcmp(name, "--topic")) want.topic = value;
        else if (!strcmp(name, "--seconds")) want.seconds = atof(value);
        else if (!strcmp(name, "--warmup")) want.warmup = atof(value);
        else if (!strcmp(name, "--count")) want.count = atoll(value);
        else if (!strcmp(name, "--rate")) want.rate = atof(value);
        else if (!strcmp(name, "--mode")) {
            want.mode = !strcmp(value, "pull") ? PULL : !strcmp(value, "batch") ? BATCHED : SEND;
        } else fprintf(stderr, "unknown option %s\n", name), exit(2);
    }
    if (want.port <= 0 || want.connections < 1 || want.in_flight < 1 || want.queues < 1 || want.queues > 9)
        fprintf(stderr, "bad or missing option\n"), exit(2);
}

int main(int argc, char **argv) {
    read_options(argc, argv);
    if (want.mode != PULL) make_send_template();
    int poller = epoll_create1(0);
    struct connection *all[want.connections];
    for (int n = 0; n < want.connections; n++) all[n] = open_connection(poller, n);
    started_ns = stored_ns = now_ns = clock_ns();
    next_key = (uint64_t)started_ns % 1000000000000000ull; /* another run has other keys */
    window_from_ns = started_ns + (want.count > 0 ? 0 : want.warmup * 1e9);
    window_to_ns = want.count > 0 ? INT64_MAX - DRAIN_NS : window_from_ns + want.seconds * 1e9;
    for (int n = 0; n < want.connections; n++) {
        for (int slot = 0; slot < want.in_flight; slot++) ask(all[n], slot);
        write_out(poller, all[n]);
    }
    run(poller, all);
    report();
    return seen.closed > 0;
}
