/* Visitors of short links, for redirect.py and others: many connections in one thread.
 *
 * visitors PORT MODE CONNECTIONS SECONDS STATUS CODES HEADS
 *
 * MODE: same    keep-alive, each connection repeats one head
 *       other   keep-alive, every request has another head
 *       http10  HTTP/1.0 with close, as from nginx's plain proxy_pass: every request has another head
 *       new     HTTP/1.1 on a new connection, as from a browser: every request has another head
 * CODES: one code per line, asked for in this order. HEADS: header lines; an empty line ends a head.
 * SECONDS 0: until every code was asked for once.
 *
 * Heads that differ also get two lines that no request had before. Prints one line of JSON.
 */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_REQUEST 8192
#define MAX_ANSWER 65536
#define MAX_LATENCIES 4000000

enum mode { SAME, OTHER, HTTP10, NEW };

struct visitor {
    int socket;
    int head;
    size_t size, sent, received;
    uint64_t began_ns;
    char request[MAX_REQUEST];
    char answer[MAX_ANSWER + 1];
};

static enum mode mode;
static struct sockaddr_in server;
static char **codes, **heads;
static size_t code_count, head_count, next_code, next_head;
static int poller, is_once, is_over, waiting;
static const char *status;
static uint64_t answered, wrong, broken, chance = 88172645463325252ull;
static uint32_t *latencies;

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static uint64_t draw(void) { /* xorshift */
    chance ^= chance << 13;
    chance ^= chance >> 7;
    return chance ^= chance << 17;
}

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) fail(path);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *text = malloc((size_t)size + 1);
    if (!text || fread(text, 1, (size_t)size, file) != (size_t)size) fail(path);
    text[size] = 0;
    fclose(file);
    return text;
}

static size_t split(char *text, const char *end, char ***parts) {
    size_t count = 0, room = 1024;
    *parts = malloc(room * sizeof(char *));
    for (char *at = text, *stop; (stop = strstr(at, end)); at = stop + strlen(end)) {
        *stop = 0;
        if (count == room) *parts = realloc(*parts, (room *= 2) * sizeof(char *));
        (*parts)[count++] = at;
    }
    return count;
}

static void write_request(struct visitor *visitor) {
    char unique[128] = "";
    int head = visitor->head;
    if (mode != SAME) {
        uint64_t id = draw(), address = draw();
        head = (int)(next_head++ % head_count);
        snprintf(unique, sizeof unique,
                 "X-Request-Id: %016llx%016llx\r\nX-Forwarded-For: %u.%u.%u.%u\r\n",
                 (unsigned long long)id, (unsigned long long)address,
                 (unsigned)(address % 200 + 11), (unsigned)(address >> 8 & 255),
                 (unsigned)(address >> 16 & 255), (unsigned)(address >> 24 & 255));
    }
    visitor->size = (size_t)snprintf(
        visitor->request, MAX_REQUEST, "GET /%s HTTP/1.%d\r\n%s\r\nConnection: %s\r\n%s\r\n",
        codes[next_code++ % code_count], mode != HTTP10, heads[head],
        mode == HTTP10 ? "close" : "keep-alive", unique);
    visitor->sent = visitor->received = 0;
    visitor->began_ns = now_ns();
    if (is_once && next_code >= code_count) is_over = 1;
}

static void watch(struct visitor *visitor, int how, uint32_t events) {
    struct epoll_event event = {.events = events, .data.ptr = visitor};
    if (epoll_ctl(poller, how, visitor->socket, &event)) fail("epoll_ctl");
}

static void send_on(struct visitor *visitor) {
    ssize_t count = send(visitor->socket, visitor->request + visitor->sent,
                         visitor->size - visitor->sent, MSG_NOSIGNAL);
    if (count > 0) visitor->sent += (size_t)count;
}

static void begin(struct visitor *visitor) {
    int one = 1;
    visitor->socket = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (visitor->socket < 0) fail("socket");
    setsockopt(visitor->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    write_request(visitor);
    waiting++;
    if (connect(visitor->socket, (struct sockaddr *)&server, sizeof server) && errno != EINPROGRESS)
        fail("connect");
    watch(visitor, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT);
}

static void end(struct visitor *visitor) {
    close(visitor->socket);
    visitor->socket = -1;
}

/* Whether the answer is complete; with HTTP/1.0 only its end says so. */
static int is_whole(struct visitor *visitor) {
    char *blank = strstr(visitor->answer, "\r\n\r\n");
    if (!blank) return 0;
    char *length = strcasestr(visitor->answer, "\r\ncontent-length:");
    if (length && length < blank) {
        size_t body = strtoul(length + 17, NULL, 10);
        return visitor->received >= (size_t)(blank - visitor->answer) + 4 + body;
    }
    char *chunked = strcasestr(visitor->answer, "\r\ntransfer-encoding: chunked");
    char *end = visitor->answer + visitor->received;
    return !chunked || chunked > blank || (end >= blank + 9 && !memcmp(end - 5, "0\r\n\r\n", 5));
}

static void finish(struct visitor *visitor) {
    waiting--;
    if (answered < MAX_LATENCIES)
        latencies[answered] = (uint32_t)((now_ns() - visitor->began_ns) / 1000);
    answered++;
    if (strncmp(visitor->answer + 9, status, 3)) wrong++;
    int is_closed = mode == HTTP10 || mode == NEW;
    if (is_closed) end(visitor);
    if (is_over) {
        if (!is_closed) end(visitor);
    } else if (is_closed) {
        begin(visitor);
    } else {
        write_request(visitor);
        waiting++;
        send_on(visitor);
        if (visitor->sent < visitor->size) watch(visitor, EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
    }
}

static void read_on(struct visitor *visitor) {
    ssize_t count = recv(visitor->socket, visitor->answer + visitor->received,
                         MAX_ANSWER - visitor->received, 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count > 0) {
        visitor->received += (size_t)count;
        visitor->answer[visitor->received] = 0;
        if (mode != HTTP10 && is_whole(visitor)) finish(visitor);
    } else if (!count && mode == HTTP10 && visitor->received && is_whole(visitor)) {
        finish(visitor);
    } else {
        broken++;
        waiting--;
        end(visitor);
        if (!is_over) begin(visitor);
    }
}

static void handle(struct visitor *visitor, uint32_t events) {
    if (events & EPOLLOUT && visitor->sent < visitor->size) {
        send_on(visitor);
        if (visitor->sent == visitor->size) watch(visitor, EPOLL_CTL_MOD, EPOLLIN);
    }
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) read_on(visitor);
}

static int by_size(const void *one, const void *other) {
    uint32_t left = *(const uint32_t *)one, right = *(const uint32_t *)other;
    return (left > right) - (left < right);
}

static void report(uint64_t nanoseconds) {
    size_t known = answered < MAX_LATENCIES ? answered : MAX_LATENCIES;
    qsort(latencies, known, sizeof *latencies, by_size);
    printf("{\"requests\": %llu, \"micros\": %llu, \"wrong\": %llu, \"broken\": %llu,"
           " \"p50\": %u, \"p99\": %u}\n",
           (unsigned long long)answered, (unsigned long long)nanoseconds / 1000,
           (unsigned long long)wrong, (unsigned long long)broken,
           known ? latencies[known / 2] : 0, known ? latencies[known * 99 / 100] : 0);
}

int main(int argc, char **argv) {
    static const char *const modes[] = {"same", "other", "http10", "new"};
    if (argc != 8) return fprintf(stderr, "see the first lines of visitors.c\n"), 2;
    while (strcmp(modes[mode], argv[2]))
        if (++mode > NEW) return fprintf(stderr, "no such mode: %s\n", argv[2]), 2;
    server = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[1]))};
    server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int connections = atoi(argv[3]);
    double seconds = atof(argv[4]);
    is_once = seconds == 0;
    status = argv[5];
    code_count = split(read_file(argv[6]), "\n", &codes);
    head_count = split(read_file(argv[7]), "\r\n\r\n", &heads);
    latencies = malloc(MAX_LATENCIES * sizeof *latencies);
    struct visitor *visitors = calloc((size_t)connections, sizeof *visitors);
    if (!code_count || !head_count || !latencies || !visitors) return fprintf(stderr, "empty\n"), 2;
    next_code = is_once ? 0 : (size_t)now_ns() % code_count;
    chance ^= now_ns();
    poller = epoll_create1(EPOLL_CLOEXEC);
    uint64_t began = now_ns();
    for (int number = 0; number < connections && !is_over; number++) {
        visitors[number].head = (int)((size_t)number % head_count);
        begin(&visitors[number]);
    }
    struct epoll_event events[256];
    while (waiting > 0) {
        int count = epoll_wait(poller, events, 256, 10000);
        if (count <= 0) return fprintf(stderr, "no answer for 10 seconds\n"), 1;
        for (int number = 0; number < count; number++)
            handle(events[number].data.ptr, events[number].events);
        if (!is_once && !is_over && (double)(now_ns() - began) / 1e9 >= seconds) is_over = 1;
    }
    report(now_ns() - began);
    return 0;
}
