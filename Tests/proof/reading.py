"""What ffmpeg and ffprobe read from a file: streams, packets with their payload, decoded media."""
import json
import re
import subprocess
from fractions import Fraction

LIMIT = 120


class Unreadable(Exception):
    """ffmpeg or ffprobe made nothing of the file."""


class Packet:
    """A packet: payload, times in seconds (None where there is none), whether it is shown."""
    __slots__ = ("payload", "pts", "dts", "duration", "shown", "size")

    def __init__(self, entry, base):
        def time(name):
            return entry[name] * base if name in entry else None
        self.pts, self.dts, self.duration = time("pts"), time("dts"), time("duration")
        self.shown = "D" not in entry.get("flags", "")
        self.size = int(entry["size"])
        self.payload = dumped(entry.get("data", ""))


class Stream:
    """A stream as ffprobe describes it, with its packets."""

    def __init__(self, entry):
        self.entry = entry
        self.index, self.kind = entry["index"], entry.get("codec_type", "unknown")
        self.codec = entry.get("codec_name", "none")
        self.tag = entry.get("codec_tag_string", "")
        self.base = Fraction(entry.get("time_base", "1/1").replace("/0", "/1"))
        self.is_cover = bool(entry.get("disposition", {}).get("attached_pic"))
        self.extradata = dumped(entry.get("extradata", ""))
        self.packets = []

    @property
    def is_media(self):
        return self.kind in ("video", "audio") and not self.is_cover


def dumped(text):
    """The bytes of a hexadecimal dump, as ffprobe -show_data prints it."""
    return bytes.fromhex("".join(line[10:50] for line in text.splitlines() if len(line) > 10))


def read(path, media_only=True, options=()):
    """The streams of a file with their packets."""
    done = subprocess.run(
        ["ffprobe", "-v", "error", *options, "-show_streams", "-show_packets", "-show_data", "-of",
         "json", path], capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT)
    try:
        found = json.loads(done.stdout.decode(errors="replace"))
    except ValueError:
        raise Unreadable(done.stderr.decode(errors="replace").strip()[:200]) from None
    streams = [Stream(entry) for entry in found.get("streams", [])]
    if not streams:
        raise Unreadable(done.stderr.decode(errors="replace").strip()[:200] or "no streams")
    by_index = {stream.index: stream for stream in streams}
    for entry in found.get("packets", []):
        stream = by_index.get(entry.get("stream_index"))
        if stream is not None and "size" in entry and (stream.is_media or not media_only):
            stream.packets.append(Packet(entry, stream.base))
    return streams


def pictures(path, stream, options=()):
    """The hash of every decoded frame of a video stream, in order."""
    done = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-threads", "1", *options, "-i", path, "-map",
         "0:%d" % stream.index, "-fps_mode", "passthrough", "-f", "framehash", "-hash", "md5", "-"],
        capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT)
    lines = done.stdout.decode(errors="replace").splitlines()
    return [re.split(r",\s*", line)[-1] for line in lines if line and line[0] != "#"]


def sound(path, stream, options=()):
    """The decoded samples of an audio stream, as 32-bit floats."""
    done = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-threads", "1", *options, "-i", path, "-map",
         "0:%d" % stream.index, "-f", "f32le", "-"],
        capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT)
    return done.stdout


def rewrap(path, stream, target, muxer):
    """Copies the packets of a stream into a file of another container."""
    subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-y", "-i", path, "-map", "0:%d" % stream.index,
         "-c", "copy", "-copyinkf", "-f", muxer, target], capture_output=True,
        stdin=subprocess.DEVNULL, timeout=LIMIT)


def copied(path):
    """The hash and length of every packet of a file that can be copied but not probed."""
    done = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-copyts", "-i", path, "-map", "0", "-c", "copy",
         "-copyinkf", "-copypriorss", "1", "-f", "framehash", "-hash", "md5", "-"],
        capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT)
    lines = done.stdout.decode(errors="replace").splitlines()
    return [re.split(r",\s*", line)[4:] for line in lines if line and line[0] != "#"]
