"""Whether an output presents exactly what its source does: packets, times, pictures, sound."""
import os
import statistics

import payload
import reading

# Cut into packets anew by every reader.
UNCUT = ("pcm_",)
LAYERS = ("mp1", "mp2", "mp3")
# One object type stands for all layers of MPEG-1 audio in mp4 (ISO/IEC 14496-1, table 5), and
# ffmpeg calls it mp3.
ALIASES = {("mp2", "mp3"), ("mp1", "mp3")}
# How often a file whose pictures differ is decoded again.
REPEATS = 4
# Movie timescale of what vidfetch writes: edits begin and end on its ticks.
MOVIE_TICK = 1 / 90000


class Source:
    """A source as ffmpeg reads it; read and decoded once for all formats."""

    def __init__(self, path, options=()):
        self.path, self.options = path, options
        self.streams = reading.read(path, options=options)
        self.decoded = {}

    def decode(self, stream, codec):
        """Frame hashes of pictures, samples of sound, as the decoder of a codec makes them."""
        if stream.index not in self.decoded:
            take = reading.pictures if stream.kind == "video" else reading.sound
            options = list(self.options)
            if codec in LAYERS:
                options += ["-c:a", codec]
            self.decoded[stream.index] = take(self.path, stream, options)
        return self.decoded[stream.index]


def differences(source, run, without=(), notes=None, is_damaged=False):
    """What differs between a source and the output of a run that ended well.

    `without` names what is not to be compared: "payload", "times", "decoded". `notes` takes what
    could not be judged. Of a damaged source nothing may be decodable, and it may trim any number
    of packets at its end.
    """
    try:
        output = Source(run.target)
    except reading.Unreadable as reason:
        return ["the output is unreadable: %s" % reason]
    without = set(without)
    if any(warning["warning"] == "timestamps_repaired" and "stream" not in warning
           for warning in run.result.get("warnings", ())):
        # The source's clock jumps, and the run says that the jumps were closed.
        without.add("times")
        if notes is not None:
            notes.append("times not compared: the clock of the source jumps")
    kept = {entry["index"] for entry in run.result.get("streams", ())
            if entry["action"] != "dropped"}
    pairs, wrong = [], []
    for kind in ("video", "audio"):
        before = [s for s in source.streams if s.kind == kind and s.is_media and s.index in kept]
        after = [s for s in output.streams if s.kind == kind and s.is_media]
        if len(before) != len(after):
            wrong.append("%d %s streams kept, %d are in the output" % (
                len(before), kind, len(after)))
        pairs += list(zip(before, after))
    if not pairs:
        wrong.append("neither sound nor picture to compare")
    for before, after in pairs:
        if before.codec != after.codec and (before.codec, after.codec) not in ALIASES:
            wrong.append("stream %d: %s became %s" % (before.index, before.codec, after.codec))
    if "payload" not in without:
        wrong += [text for pair in pairs for text in payloads(*pair)]
    if "times" not in without:
        wrong += times(pairs)
    if "decoded" not in without:
        for before, after in pairs:
            texts = decoded(source, before, output, after, is_damaged)
            if texts and decodes_by_chance(source, before, output, after, run.folder):
                if notes is not None:
                    notes.append("not judged, the decoder reads what is not there: " + texts[0])
                texts = []
            wrong += texts
    return wrong


def decodes_by_chance(source, before, output, after, folder):
    """Whether the decoder of a damaged stream takes in what is not in the packets.

    It may fill a picture with what its memory held, so that the same file decodes to something
    else each time; or read on behind the end of a packet or NAL unit, so that it matters what the
    container has there: then ffmpeg's own copy into another one decodes as the output does. Equal
    packets have to do.
    """
    if not (is_steady(source, before, before.codec) and is_steady(output, after, before.codec)):
        return True
    wanted = output.decode(after, before.codec)
    for muxer in ("nut", "matroska"):
        third = os.path.join(folder, "packets." + muxer)
        reading.rewrap(source.path, before, third, muxer)
        try:
            copy = Source(third)
        except reading.Unreadable:
            continue
        if copy.decode(copy.streams[0], before.codec) == wanted:
            return True
    return False


def is_steady(source, stream, codec):
    """Whether a stream decodes to the same each time."""
    first = source.decode(stream, codec)
    for _ in range(REPEATS):
        source.decoded.pop(stream.index)
        if source.decode(stream, codec) != first:
            return False
    return True


def payloads(before, after):
    """Differences of what the packets hold."""
    name = "stream %d (%s): " % (before.index, before.codec)
    ours = [payload.canonical(before, p.payload) for p in before.packets if p.size]
    theirs = [payload.canonical(after, p.payload) for p in after.packets if p.size]
    if before.codec.startswith(UNCUT):
        ours, theirs = [b"".join(ours)], [b"".join(theirs)]
    if len(ours) != len(theirs):
        return [name + "%d packets became %d" % (len(ours), len(theirs))]
    for at, (one, other) in enumerate(zip(ours, theirs)):
        if one != other:
            return [name + "packet %d differs" % at]
    return []


def times(pairs):
    """Differences of presentation times, but for one common shift and rounding."""
    shifts = []
    for before, after in pairs:
        ours = [p for p in before.packets if p.size]
        theirs = [p for p in after.packets if p.size]
        if before.codec.startswith(UNCUT):
            ours, theirs = ours[:1], theirs[:1]
        # Half a tick of either by rounding; a source that counts in milliseconds may be off a
        # whole one, which the sound's own length takes back.
        slack = float(before.base + after.base) + MOVIE_TICK
        due = laid_end_to_end(before, ours)
        for at, (one, other) in enumerate(zip(ours, theirs)):
            pts = due[at] if due else one.pts
            if pts is None or other.pts is None:
                if pts is not None:
                    return ["stream %d: packet %d lost its time" % (before.index, at)]
                continue
            shifts.append((float(other.pts - pts), slack, before, at))
    if not shifts:
        return ["no packet has a time to compare"]
    common = statistics.median(shift for shift, _, _, _ in shifts)
    wrong = {}
    for shift, slack, before, at in shifts:
        if abs(shift - common) > slack:
            first, count = wrong.get(before.index, ((at, shift), 0))
            wrong[before.index] = (first, count + 1)
    return ["stream %d: %d of its packets moved against the others, the first, %d, by %.6f s" % (
        index, count, first[0], first[1] - common) for index, (first, count) in wrong.items()]


def laid_end_to_end(stream, packets):
    """Times of sound by its packets' own lengths, where its stamps leave it less than half of them.

    An AVI with a wrong block size stamps two seconds of sound as twenty milliseconds; nobody could
    play it by these. None where the stamps are to be believed.
    """
    if stream.kind != "audio" or any(p.pts is None or not p.duration for p in packets):
        return None
    length = sum(p.duration for p in packets[:-1])
    if not packets or length <= 0 or packets[-1].pts - packets[0].pts >= length / 2:
        return None
    due, at = [], packets[0].pts
    for packet in packets:
        due.append(at)
        at += packet.duration
    return due


def decoded(source, before, output, after, is_damaged):
    """Differences of decoded pictures or sound."""
    name = "stream %d (%s): " % (before.index, before.codec)
    ours, theirs = source.decode(before, before.codec), output.decode(after, before.codec)
    if before.kind == "video":
        if ours == theirs:
            return [] if ours or is_damaged else [name + "nothing was decoded"]
        if len(ours) != len(theirs):
            return [name + "%d pictures became %d" % (len(ours), len(theirs))]
        at = next(i for i, (one, other) in enumerate(zip(ours, theirs)) if one != other)
        return [name + "picture %d of %d differs" % (at, len(ours))]
    if ours == theirs:
        return [] if ours or is_damaged else [name + "nothing was decoded"]
    # What the last packet is padded with may be heard: readers of mp4 don't cut there.
    frame = 4 * int(before.entry.get("channels") or 1)
    lengths = [(p.duration or 0) * int(before.entry.get("sample_rate") or 1)
               for p in before.packets] or [0]
    padding = sum(lengths) if is_damaged else max(lengths)
    more = (len(theirs) - len(ours)) // frame
    if theirs.startswith(ours) and ours and 0 < more <= max(padding, 1):
        return []
    at = next((i for i in range(0, min(len(ours), len(theirs)), 4)
               if ours[i:i + 4] != theirs[i:i + 4]), min(len(ours), len(theirs)))
    return [name + "%d samples became %d, they differ from sample %d" % (
        len(ours) // frame, len(theirs) // frame, at // frame)]
