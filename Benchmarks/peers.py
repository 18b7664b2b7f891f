"""What is timed: the commands that people type to get a video as an mp4, and vidfetch.

A command runs in an empty folder; `{words}` in it are filled in by `command`.
"""
import dataclasses
import re
import shlex

FFMPEG = "ffmpeg -nostdin -v error"
COPY = "-map 0 -c copy -movflags +faststart"
REMUX = FFMPEG + " -i in " + COPY + " out.mp4 && rm in"
YT_DLP = "yt-dlp -q --no-warnings --ignore-config --no-cache-dir --remux-video mp4"


@dataclasses.dataclass(frozen=True)
class Peer:
    """A command by the name that the tables show.

    `makes` is "download" (the bytes as they came), "file" (a finished out.mp4), "batch" (many of
    these in out/) or "nothing" that is judged.
    """

    name: str
    programs: tuple
    template: str
    makes: str = "file"

    @property
    def is_slow(self):
        """Whether a batch of thousands would take it minutes."""
        return self.makes == "batch" and "{vidfetch}" not in self.template


FILE = [
    Peer("curl", ("curl",), "curl -sS -f {curl_ca} -o in {url}", "download"),
    Peer("curl, synced", ("curl",), "curl -sS -f {curl_ca} -o in {url} && sync -d in", "download"),
    Peer("curl, then ffmpeg", ("curl", "ffmpeg"),
         "curl -sS -f {curl_ca} -o in {url} && " + REMUX),
    Peer("ffmpeg URL", ("ffmpeg",), FFMPEG + " {ffmpeg_ca} -i {url} " + COPY + " out.mp4"),
    Peer("aria2c, then ffmpeg", ("aria2c", "ffmpeg"),
         "aria2c -q --no-conf {aria2_ca} -x16 -s16 -o in {url} && " + REMUX),
    Peer("aria2c -k1M, then ffmpeg", ("aria2c", "ffmpeg"),
         "aria2c -q --no-conf {aria2_ca} -x16 -s16 -k1M -o in {url} && " + REMUX),
    Peer("yt-dlp", ("yt-dlp", "ffmpeg"), YT_DLP + " -o 'out.%(ext)s' {url}"),
    Peer("vidfetch", (), "{vidfetch} {options} --progress none {vidfetch_ca} -o out.mp4 {url}"),
]

# What no tool can get below, each part by itself.
LIMITS = [
    Peer("limit: receive, keep nothing", ("curl",), "curl -sS -f {curl_ca} {url} > /dev/null",
         "nothing"),
    Peer("limit: copy the file", (), "cp {local} in", "nothing"),
    Peer("limit: ffmpeg reads packets", ("ffmpeg",),
         FFMPEG + " -i {local} -map 0 -c copy -f null -", "nothing"),
    Peer("limit: ffmpeg, local file", ("ffmpeg",), FFMPEG + " -i {local} " + COPY + " out.mp4",
         "nothing"),
]

# The yardstick here keeps one connection; the others start a process for each file, 4 at a time.
EACH = "mkdir out && xargs -a {list} -P 4 -n 1 sh -c "
BATCH = [
    Peer("curl", ("curl",), "curl -sS -f -o '#1' '{many}[1-{count}].mp4'", "download"),
    Peer("curl, then ffmpeg", ("curl", "ffmpeg"), EACH + (
        "'n=${1##*/}; curl -sS -f -o \"$n\" \"$1\" && " + FFMPEG + " -i \"$n\" " + COPY +
        " \"out/$n\" && rm \"$n\"' sh"), "batch"),
    Peer("ffmpeg URL", ("ffmpeg",), EACH + (
        "'" + FFMPEG + " -i \"$1\" " + COPY + " \"out/${1##*/}\"' sh"), "batch"),
    Peer("yt-dlp", ("yt-dlp", "ffmpeg"), YT_DLP + " -a {list} -o 'out/%(id)s.%(ext)s'", "batch"),
    Peer("vidfetch", (), "{vidfetch} {options} --progress none -d out -i {list}", "batch"),
]


def command(peer, values):
    """The peer's command with its words filled in."""
    text = re.sub(r"\{([a-z0-9_]+)\}", lambda found: values[found[1]], peer.template)
    return re.sub(" +", " ", text)


def variant(peer, words):
    """vidfetch once more with options: words are NAME=OPTIONS."""
    name, _, options = words.partition("=")
    if not name or not options:
        raise ValueError("a variant is NAME=OPTIONS, not " + words)
    options = " ".join(shlex.quote(word) for word in shlex.split(options))
    return dataclasses.replace(peer, name="vidfetch, " + name,
                               template=peer.template.replace("{options}", options))


def chosen(peers, wanted, variants):
    """The yardstick and vidfetch, of the others those whose name begins as wanted, and variants.
    """
    kept = [peer for i, peer in enumerate(peers) if i == 0 or peer.name == "vidfetch" or not wanted
            or any(peer.name.startswith(name) for name in wanted)]
    ours = next(peer for peer in peers if peer.name == "vidfetch")
    return kept + [variant(ours, words) for words in variants]


def certificates(path):
    """How each program is told to trust a certificate; empty words without one."""
    return {"curl_ca": "--cacert " + path if path else "",
            "ffmpeg_ca": "-tls_verify 1 -ca_file " + path if path else "",
            "aria2_ca": "--ca-certificate=" + path if path else "",
            "vidfetch_ca": "--cacert " + path if path else ""}
