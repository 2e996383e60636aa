/* The ceiling: an epoll server that reads RocketMQ frames and answers each with a fixed frame.
 *
 *   echo_server [--port N] [--body BYTES] [--bad-opaque|--bad-code|--bad-records]   prints "ready on 127.0.0.1:PORT"
 *
 * It decodes nothing but the lengths, the request code and the opaque, and stores nothing; no server behind the
 * same load generator can be faster. A send gets a valid SEND_MESSAGE_V2 answer, a pull 32 records with bodies of
 * --body bytes. Answers to all frames of one read leave in one write. The --bad options spoil every answer, to show
 * that the load generator notices.
 */
#define _GNU_SOURCE
#include "frames.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define IN_BYTES (4 << 20)
#define OUT_BYTES (8 << 20)
#define PULLED 32
#define OPAQUE_DIGITS 10

struct answer {
    char *frame;
    size_t size, opaque_at;
};

struct peer {
    int fd;
    char *in, *out;
    size_t in_end, out_at, out_end;
};

static struct answer send_answer, pull_answer;
static int bad_opaque, bad_records;

static struct answer make_answer(int code, const char *fields, const char *body, size_t body_size) {
    char header[1024];
    struct answer made;
    int size = snprintf(header, sizeof header,
                        "{\"code\":%d,\"extFields\":{%s},\"flag\":1,\"language\":\"JAVA\",\"opaque\":%010d,"
                        "\"serializeTypeCurrentRPC\":\"JSON\",\"version\":479}",
                        code, fields, 0);
    made.size = FRAME_PREFIX + size + body_size;
    made.frame = malloc(made.size);
    put32(put32(made.frame, 4 + size + body_size), size);
    memcpy(made.frame + FRAME_PREFIX, header, size);
    memcpy(made.frame + FRAME_PREFIX + size, body, body_size);
    made.opaque_at = (char *)memmem(made.frame, made.size, "\"opaque\":", 9) + 9 - made.frame;
    return made;
}

/* 32 stored messages as a broker would return them; only sizes, magic and queue offsets are looked at. */
static char *make_records(int body_bytes, size_t *size) {
    const char *topic = "bench", *properties = "UNIQ_KEY\0017F00000100000000000000000000000000000000\002"
                                               "WAIT\001true\002TAGS\001bench\002CLUSTER\001BenchCluster\002";
    size_t one = 91 + body_bytes + strlen(topic) + strlen(properties);
    char *records = calloc(PULLED, one);
    for (int n = 0; n < PULLED; n++) {
        char *record = records + n * one;
        put32(put32(record, one), bad_records ? 0 : RECORD_MAGIC);
        put32(record + 24, n); /* the low half of the queue offset */
        char *at = put32(record + 84, body_bytes);
        memset(at, 'x', body_bytes);
        at += body_bytes;
        *at++ = strlen(topic);
        at = mempcpy(at, topic, strlen(topic));
        memcpy(put16(at, strlen(properties)), properties, strlen(properties));
    }
    *size = PULLED * one;
    return records;
}

static void make_answers(int body_bytes, int code) {
    size_t size;
    char *records = make_records(body_bytes, &size);
    send_answer = make_answer(code,
                              "\"MSG_REGION\":\"DefaultRegion\",\"TRACE_ON\":\"true\","
                              "\"msgId\":\"7F00000100002A9F0000000000000000\",\"queueId\":\"0\",\"queueOffset\":\"0\","
                              "\"transactionId\":\"7F000001000000000000000000000000\"",
                              "", 0);
    pull_answer = make_answer(code,
                              "\"maxOffset\":\"32\",\"minOffset\":\"0\",\"nextBeginOffset\":\"32\","
                              "\"suggestWhichBrokerId\":\"0\"",
                              records, size);
    free(records);
}

/* Opaques have up to ten digits: shorter ones are padded with spaces, which JSON allows before a number. */
static void append_answer(struct peer *peer, const char *header, size_t header_size) {
    int64_t opaque = bad_opaque ? 7 : header_number(header, header_size, "\"opaque\":", 0);
    int is_pull = header_number(header, header_size, "\"code\":", 0) == PULL_MESSAGE;
    struct answer *answer = is_pull ? &pull_answer : &send_answer;
    char *frame = peer->out + peer->out_end;
    memcpy(frame, answer->frame, answer->size);
    char *digits = frame + answer->opaque_at;
    patch_digits(digits, OPAQUE_DIGITS, opaque);
    for (int n = 0; n < OPAQUE_DIGITS - 1 && digits[n] == '0'; n++) digits[n] = ' ';
    peer->out_end += answer->size;
}

static size_t largest_answer(void) {
    return send_answer.size > pull_answer.size ? send_answer.size : pull_answer.size;
}

/* Answers whole frames until the input or the room for answers ends. */
static void answer_frames(struct peer *peer) {
    size_t at = 0;
    while (peer->in_end - at >= FRAME_PREFIX && OUT_BYTES - peer->out_end >= largest_answer()) {
        size_t total = get32(peer->in + at), header_size = get32(peer->in + at + 4) & 0xFFFFFF;
        if (total + 4 > IN_BYTES || header_size + 4 > total) fail("a frame that is no frame");
        if (peer->in_end - at < total + 4) break;
        append_answer(peer, peer->in + at + FRAME_PREFIX, header_size);
        at += total + 4;
    }
    memmove(peer->in, peer->in + at, peer->in_end - at);
    peer->in_end -= at;
}

static void close_peer(struct peer *peer) {
    close(peer->fd);
    free(peer->in);
    free(peer->out);
    free(peer);
}

/* 0 when the peer is gone. While answers wait to be written, nothing is read. */
static int serve(struct peer *peer) {
    if (peer->out_at == peer->out_end) {
        ssize_t got = read(peer->fd, peer->in + peer->in_end, IN_BYTES - peer->in_end);
        if (got == 0 || (got < 0 && errno != EAGAIN)) return 0;
        if (got > 0) peer->in_end += got;
    }
    for (;;) {
        while (peer->out_at < peer->out_end) {
            ssize_t put = write(peer->fd, peer->out + peer->out_at, peer->out_end - peer->out_at);
            if (put < 0) return errno == EAGAIN;
            peer->out_at += put;
        }
        peer->out_at = peer->out_end = 0;
        answer_frames(peer);
        if (peer->out_end == 0) return 1;
    }
}

static void wait_for(int poller, struct peer *peer, int operation) {
    struct epoll_event event = {.data.ptr = peer};
    event.events = peer->out_at < peer->out_end ? EPOLLOUT : EPOLLIN;
    epoll_ctl(poller, operation, peer->fd, &event);
}

static void admit(int poller, int listener) {
    int one = 1, fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    if (fd < 0) return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct peer *peer = calloc(1, sizeof *peer);
    peer->fd = fd;
    peer->in = malloc(IN_BYTES);
    peer->out = malloc(OUT_BYTES);
    wait_for(poller, peer, EPOLL_CTL_ADD);
}

static int listen_on(int port) {
    int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (void *)&address, sizeof address) < 0 || listen(listener, 1024) < 0) fail("listen");
    getsockname(listener, (void *)&address, &size);
    printf("ready on 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return listener;
}

int main(int argc, char **argv) {
    int port = 0, body_bytes = 128, code = 0;
    for (int n = 1; n < argc; n++) {
        if (!strcmp(argv[n], "--bad-opaque")) bad_opaque = 1;
        else if (!strcmp(argv[n], "--bad-code")) code = 2;
        else if (!strcmp(argv[n], "--bad-records")) bad_records = 1;
        else if (!strcmp(argv[n], "--port") && n + 1 < argc) port = atoi(argv[++n]);
        else if (!strcmp(argv[n], "--body") && n + 1 < argc) body_bytes = atoi(argv[++n]);
        else return fprintf(stderr, "unknown option %s\n", argv[n]), 2;
    }
    make_answers(body_bytes, code);
    int poller = epoll_create1(0), listener = listen_on(port);
    struct epoll_event events[128], event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(poller, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(poller, events, 128, -1);
        for (int n = 0; n < count; n++) {
            struct peer *peer = events[n].data.ptr;
            if (peer == NULL) {
                admit(poller, listener);
                continue;
            }
            int was_writing = peer->out_at < peer->out_end;
            if (!serve(peer)) close_peer(peer);
            else if (was_writing != (peer->out_at < peer->out_end)) wait_for(poller, peer, EPOLL_CTL_MOD);
        }
    }
}
