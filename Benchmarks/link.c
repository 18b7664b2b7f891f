/* A link of a set rate and delay between two network namespaces of its own.
 *
 *     link BITS_PER_SECOND ROUND_TRIP_MS
 *
 * Each namespace holds one end: a TUN device, 10.77.0.1 (server) or 10.77.0.2 (client), and nothing
 * that leads elsewhere. What one kernel sends into its end waits in a queue of one
 * bandwidth-delay product, leaves it at the rate, and comes out of the other end half a round trip
 * later; what finds the queue full is dropped, as at a router. So TCP is the kernel's own on both
 * sides. Kernels with the netem discipline could do this by themselves; many virtual machines have
 * none.
 *
 * Once the link is up a line `ready SERVER CLIENT` is printed: two descriptors of this process, so
 * that `nsenter --net=/proc/PID/fd/N` enters an end. The namespaces end with this process, which
 * ends when its standard input does. Needs CAP_NET_ADMIN and CAP_SYS_ADMIN.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/virtio_net.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { LARGEST = 65536 + sizeof(struct virtio_net_hdr), RING = 32 << 20 };

/* Above this rate the kernels hand over up to 64 KiB at a time, or the relay would fill a core;
 * below it every packet is one of the wire. */
static const double SEGMENTED_ABOVE = 3e8;

/* One packet in the ring; its bytes follow. Length 0 says that the ring goes on at its start. */
struct record {
  int64_t due;
  size_t length;
};

/* One direction: a ring of packets in the order in which they leave. */
struct direction {
  int from, to;
  unsigned char *ring;
  size_t head, tail, used;
  int64_t line_free; /* when the last bit that was accepted has left the queue */
};

static void fail(const char *what) {
  fprintf(stderr, "link: %s: %s\n", what, strerror(errno));
  exit(1);
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void set_address(int control, struct ifreq *request, unsigned long what,
                        const char *text) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  inet_pton(AF_INET, text, &address.sin_addr);
  memcpy(&request->ifr_addr, &address, sizeof address);
  if (ioctl(control, what, request) < 0) fail(text);
}

static void bring_up(int control, struct ifreq *request) {
  if (ioctl(control, SIOCGIFFLAGS, request) < 0) fail("SIOCGIFFLAGS");
  request->ifr_flags |= IFF_UP | IFF_RUNNING;
  if (ioctl(control, SIOCSIFFLAGS, request) < 0) fail("SIOCSIFFLAGS");
}

/* Makes a namespace with one end in it, and goes there. Returns the TUN device. */
static int make_end(const char *own, const char *peer, int segmented, int *namespace) {
  if (unshare(CLONE_NEWNET) < 0) fail("unshare");
  *namespace = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  int device = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (*namespace < 0 || device < 0 || control < 0) fail("/dev/net/tun");
  struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI | IFF_VNET_HDR};
  strcpy(request.ifr_name, "link");
  if (ioctl(device, TUNSETIFF, &request) < 0) fail("TUNSETIFF");
  if (segmented && ioctl(device, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) < 0) fail("TUNSETOFFLOAD");
  set_address(control, &request, SIOCSIFADDR, own);
  set_address(control, &request, SIOCSIFDSTADDR, peer);
  request.ifr_mtu = 1500;
  if (ioctl(control, SIOCSIFMTU, &request) < 0) fail("SIOCSIFMTU");
  request.ifr_qlen = 4096;
  if (ioctl(control, SIOCSIFTXQLEN, &request) < 0) fail("SIOCSIFTXQLEN");
  bring_up(control, &request);
  strcpy(request.ifr_name, "lo");
  bring_up(control, &request);
  close(control);
  return device;
}

/* What a packet is on the wire: a large one is cut into segments, each with the headers again. */
static size_t bytes_on_wire(const unsigned char *packet, size_t length) {
  struct virtio_net_hdr header;
  memcpy(&header, packet, sizeof header);
  size_t bytes = length - sizeof header;
  if (header.gso_type == VIRTIO_NET_HDR_GSO_NONE || header.gso_size == 0 ||
      bytes <= header.hdr_len)
    return bytes;
  size_t segments = (bytes - header.hdr_len + header.gso_size - 1) / header.gso_size;
  return bytes + (segments - 1) * header.hdr_len;
}

/* The place for a packet of the largest size, or NULL where the ring is full. */
static struct record *place(struct direction *way) {
  size_t needed = sizeof(struct record) + LARGEST + 8;
  if (RING - way->tail < needed + sizeof(struct record)) {
    /* The rest of the ring is given up, and counted as used until the head passes it. */
    if (way->used + (RING - way->tail) + needed > RING) return NULL;
    ((struct record *)(way->ring + way->tail))->length = 0;
    way->used += RING - way->tail;
    way->tail = 0;
  }
  return way->used + needed > RING ? NULL : (struct record *)(way->ring + way->tail);
}

static size_t size_of(const struct record *record) {
  return (sizeof *record + record->length + 7) & ~(size_t)7;
}

/* The first packet of a direction, or NULL. */
static struct record *first(struct direction *way) {
  if (way->used == 0) return NULL;
  struct record *record = (struct record *)(way->ring + way->head);
  if (record->length > 0) return record;
  way->used -= RING - way->head;
  way->head = 0;
  return way->used == 0 ? NULL : (struct record *)way->ring;
}

/* Takes in what a kernel has sent. */
static void accept_packets(struct direction *way, double ns_per_byte, int64_t delay,
                           int64_t longest_queue) {
  unsigned char dropped[LARGEST];
  for (int count = 0; count < 64; count++) {
    struct record *record = place(way);
    ssize_t length = read(way->from, record ? (unsigned char *)(record + 1) : dropped, LARGEST);
    if (length <= (ssize_t)sizeof(struct virtio_net_hdr)) return;
    int64_t moment = now();
    int64_t begin = way->line_free > moment ? way->line_free : moment;
    if (!record || begin - moment > longest_queue) continue;
    record->length = (size_t)length;
    size_t bytes = bytes_on_wire((unsigned char *)(record + 1), record->length);
    way->line_free = begin + (int64_t)((double)bytes * ns_per_byte);
    record->due = way->line_free + delay;
    way->tail += size_of(record);
    way->used += size_of(record);
  }
}

/* Hands over what is due. Returns when the next packet is. */
static int64_t deliver(struct direction *way) {
  struct record *record;
  while ((record = first(way)) && record->due <= now()) {
    if (write(way->to, record + 1, record->length) < 0 && errno == EAGAIN) return now() + 100000;
    size_t size = size_of(record);
    way->head += size;
    way->used -= size;
  }
  return record ? record->due : INT64_MAX;
}

int main(int count, char **words) {
  double rate = count == 3 ? atof(words[1]) : 0, round_trip = count == 3 ? atof(words[2]) : 0;
  if (rate < 1e6 || round_trip <= 0) {
    fprintf(stderr, "usage: link BITS_PER_SECOND ROUND_TRIP_MS\n");
    return 2;
  }
  double ns_per_byte = 8e9 / rate;
  int64_t delay = (int64_t)(round_trip * 1e6 / 2), longest_queue = (int64_t)(round_trip * 1e6);
  int server_end, client_end;
  int server = make_end("10.77.0.1", "10.77.0.2", rate > SEGMENTED_ABOVE, &server_end);
  int client = make_end("10.77.0.2", "10.77.0.1", rate > SEGMENTED_ABOVE, &client_end);
  struct direction ways[] = {{.from = server, .to = client}, {.from = client, .to = server}};
  for (int i = 0; i < 2; i++)
    if (!(ways[i].ring = malloc(RING))) fail("malloc");
  prctl(PR_SET_TIMERSLACK, 1000);
  /* A link does not wait for a processor that the ends keep busy. Where this is not allowed, what is
   * late counts as the link's. */
  struct sched_param above = {.sched_priority = 1};
  sched_setscheduler(0, SCHED_FIFO, &above);
  printf("ready %d %d\n", server_end, client_end);
  fflush(stdout);
  for (;;) {
    int64_t next = INT64_MAX;
    for (int i = 0; i < 2; i++) {
      int64_t due = deliver(&ways[i]);
      if (due < next) next = due;
    }
    int64_t wait = next == INT64_MAX ? 1000000000 : next - now();
    if (wait < 0) wait = 0;
    struct timespec limit = {wait / 1000000000, wait % 1000000000};
    struct pollfd ready[] = {
        {.fd = server, .events = POLLIN}, {.fd = client, .events = POLLIN}, {.fd = 0}};
    if (ppoll(ready, 3, &limit, NULL) < 0 && errno != EINTR) fail("ppoll");
    if (ready[2].revents & (POLLHUP | POLLERR)) return 0;
    for (int i = 0; i < 2; i++)
      if (ready[i].revents) accept_packets(&ways[i], ns_per_byte, delay, longest_queue);
  }
}
