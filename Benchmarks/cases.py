"""What is measured: groups of cases, each an input, a way to the server, peers and targets."""
import dataclasses

import peers

FULL = [peer.name for peer in peers.FILE]
GIGABIT, FAR = "1 Gbit/s, 20 ms", "100 Mbit/s, 80 ms"


def without(*names):
    """All peers for one file but these."""
    return [name for name in FULL if name not in names]


FEWER = without("curl, synced", "aria2c -k1M, then ffmpeg")
SMALL = without("aria2c -k1M, then ffmpeg")


def target(figure, limit, stretch=None, against="curl"):
    """At most `limit`: times ÷ those of `against`, memory in MiB, bytes written ÷ the result."""
    return {"figure": figure, "limit": limit, "stretch": stretch, "against": against}


@dataclasses.dataclass(frozen=True)
class Case:
    """One table. `via` is "" for loopback, or a link's name; `where` the server's location.

    `sample` is how many of `count` files those get that would take minutes for all.
    """

    group: str
    title: str
    source: str
    targets: list
    peers: list = dataclasses.field(default_factory=lambda: FULL)
    via: str = ""
    where: str = ""
    secure: bool = False
    count: int = 1
    sample: int = 0
    rounds: int = 4
    has_limits: bool = False

    @property
    def is_batch(self):
        return self.count > 1

    def count_for(self, peer):
        """How many files a peer gets; its time and processor time are scaled up to all of them."""
        return self.sample if self.sample and peer.is_slow else self.count


FAST = [target("wall", 0.85, 0.70), target("cpu", 1.2)]
ON_LINK = [target("wall", 1.02), target("cpu", 1.7)]

CASES = [
    Case("files", "1 GiB mp4, index first, loopback", "first.mp4", FAST, has_limits=True),
    Case("files", "1 GiB mp4, index last, loopback", "last.mp4", FAST, has_limits=True),
    Case("files", "1 GiB mkv, loopback", "film.mkv", FAST, has_limits=True),
    Case("files", "1 GiB MPEG-TS, loopback", "film.ts", [target("wall", 1.2), target("cpu", 1.75)],
         has_limits=True),
    Case("files", "1 GiB mp4, index first, loopback, TLS and HTTP/2", "first.mp4", [],
         without("yt-dlp", "curl, synced", "aria2c -k1M, then ffmpeg"), secure=True, rounds=3),
    Case("links", "1 GiB mp4, index first, 1 Gbit/s, 20 ms", "first.mp4", ON_LINK,
         FEWER, GIGABIT, rounds=2),
    Case("links", "1 GiB mp4, index last, 1 Gbit/s, 20 ms", "last.mp4", ON_LINK,
         FEWER, GIGABIT, rounds=2),
    Case("links", "120 MB mp4, index first, 100 Mbit/s, 80 ms", "first-120.mp4",
         [target("wall", 1.02)], FEWER, FAR, rounds=2),
    Case("links", "120 MB mp4, index last, 100 Mbit/s, 80 ms", "last-120.mp4",
         [target("wall", 1.02)], ["curl", "ffmpeg URL", "vidfetch"], FAR, rounds=2),
    Case("throttled", "120 MB mp4, 4 MB/s for each request", "first-120.mp4",
         [target("wall", 0.07)], without("curl, synced", "curl, then ffmpeg"),
         where="throttled/", rounds=2),
    Case("throttled", "120 MB mp4, 4 MB/s, ranges refused", "first-120.mp4",
         [target("wall", 1.01)], ["curl", "vidfetch"], where="whole/", rounds=1),
    Case("packets", "3 h mp4, 1.05 million packets, 400 MB, loopback", "packets.mp4",
         [target("wall", 3.2, 2.5), target("cpu", 3.6)], without("aria2c -k1M, then ffmpeg"),
         rounds=3, has_limits=True),
    Case("small", "200 kB mp4, loopback", "small.mp4",
         [target("wall", 0.6, against="ffmpeg URL"), target("cpu", 0.65, against="ffmpeg URL")],
         SMALL, rounds=15),
    Case("small", "10 MB mp4, loopback", "ten.mp4", [],
         SMALL, rounds=15),
    Case("small", "200 kB mp4, 1 Gbit/s, 20 ms", "small.mp4", [],
         SMALL, GIGABIT, rounds=7),
    Case("batch", "10,000 files of 20 kB, loopback", "tiny.mp4",
         [target("wall", 0.05, against="curl, then ffmpeg")],
         [peer.name for peer in peers.BATCH], count=10_000, sample=500, rounds=2),
    Case("batch", "200 files of 200 kB, loopback", "small.mp4", [],
         [peer.name for peer in peers.BATCH], count=200, rounds=2),
    Case("batch", "200 files of 200 kB, 1 Gbit/s, 20 ms", "small.mp4", [],
         [peer.name for peer in peers.BATCH], GIGABIT, count=200, rounds=1),
]
GROUPS = list(dict.fromkeys(case.group for case in CASES))


def common_targets(case, packets):
    """Of every file: memory grows with the packets only, what is written with source and result."""
    if case.is_batch:
        return []
    return [target("resident", 64 + 110 * packets / 2**20), target("written", 2.05)]


def peers_of(case, wanted, variants):
    """The peers of a case, of those wanted."""
    known = peers.BATCH if case.is_batch else peers.FILE
    known = [peer for peer in known if peer.name in case.peers]
    return peers.chosen(known + (peers.LIMITS if case.has_limits else []), wanted, variants)
