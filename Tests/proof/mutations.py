"""Proof: damaged media is met with a documented exit, and exit 0 stays true for it.

Small films of many containers are damaged in many ways, seeded: the same seed gives the same files.
"""
import os
import random
import re
import struct

import compare
import declared
import reading
import recipes

PER_ITEM = 25
MOST_SECONDS = 10
MOST_MEMORY = 300
FILM = "-map 0:v -map 1:a "
X264 = "-c:v libx264 -preset veryfast -pix_fmt yuv420p -g 10 -bf 2 "
SEEDS = {
    "plain.mp4": FILM + X264 + "-c:a aac -movflags +faststart",
    "last.mp4": FILM + X264 + "-c:a aac",
    "fragments.mp4": FILM + X264 + "-c:a aac -movflags frag_keyframe+empty_moov+default_base_moof",
    "hevc.mov": FILM + "-c:v libx265 -preset veryfast -pix_fmt yuv420p -x265-params "
                "log-level=none:keyint=10:pools=1:frame-threads=1 -tag:v hvc1 -c:a alac",
    "prores.mov": FILM + "-c:v prores_ks -c:a pcm_s16be",
    "film.mkv": FILM + X264 + "-c:a ac3",
    "film.webm": FILM + "-c:v libvpx-vp9 -b:v 60k -deadline realtime -cpu-used 8 -c:a libopus",
    "film.avi": FILM + "-c:v mpeg4 -bf 0 -c:a libmp3lame",
    "film.flv": FILM + X264 + "-ar 44100 -c:a aac",
    "film.ts": FILM + X264 + "-c:a aac",
    "film.mpg": FILM + "-c:v mpeg2video -b:v 60k -c:a mp2 -f mpeg",
    "sound.flac": "-map 1:a -c:a flac",
    "sound.ogg": "-map 1:a -c:a libopus",
    "sound.wav": "-map 1:a -ar 8000 -c:a pcm_s16le",
}
FORMATS = {"prores.mov": "mov", "sound.wav": "mov", "hevc.mov": "mov"}


def items(binary, options):
    """Portions of the wanted number of damaged films; the seeds are made first, for all."""
    folder = os.path.join(options.scratch, "seeds")
    os.makedirs(folder)
    for name, words in SEEDS.items():
        recipes.ffmpeg("-f lavfi -i " + recipes.PICTURE % "96x64",
                       "-f lavfi -i " + recipes.TONE % 48000, "-t 1", words, recipes.EXACT,
                       [os.path.join(folder, name)])
    for first in range(0, options.count, PER_ITEM):
        last = min(first + PER_ITEM, options.count)
        yield "%d to %d" % (first, last - 1), (folder, first, last)


def damage(data, dice):
    """Damages a film; returns it and how."""
    data, size = bytearray(data), len(data)
    at = dice.randrange(size)
    # Half of the damage goes where headers and indexes are.
    if dice.random() < 0.5:
        at = dice.randrange(min(size, 1500)) if dice.random() < 0.5 \
            else size - 1 - dice.randrange(min(size, 1500))
    length = dice.choice((1, 2, 4, 8, 16, 64, 188, 512, 2048))
    end = min(size, at + length)

    def bits():
        for _ in range(dice.choice((1, 1, 1, 2, 8, 64))):
            place = dice.randrange(size) if dice.random() < 0.5 else min(
                size - 1, at + dice.randrange(256))
            data[place] ^= 1 << dice.randrange(8)

    def noise():
        data[at:end] = dice.randbytes(end - at)

    def zeros():
        data[at:end] = bytes(end - at)

    def insertion():
        data[at:at] = dice.randbytes(length)

    def removal():
        del data[at:end]

    def swap():
        other = dice.randrange(size)
        one, two = bytes(data[at:at + length]), bytes(data[other:other + length])
        if at + length <= other and other + length <= size:
            data[at:at + length], data[other:other + length] = two, one

    def doubling():
        data[at:at] = data[at:end]

    def cut():
        del data[max(at, 1):]

    def sizes():
        known = (b"moov", b"trak", b"mdia", b"minf", b"stbl", b"stsz", b"stco", b"stts", b"stsc",
                 b"stsd", b"mdat", b"moof", b"traf", b"trun", b"elst", b"mdhd", b"mvhd", b"ctts",
                 b"avcC", b"hvcC", b"esds", b"movi", b"idx1", b"strh", b"strf", b"data", b"fmt ",
                 b"hdrl", b"avih", b"\x1f\x43\xb6\x75", b"\x16\x54\xae\x6b", b"\x15\x49\xa9\x66",
                 b"\x18\x53\x80\x67", b"OggS", b"\0\0\1\xba", b"\0\0\1\xe0", b"\0\0\1\xc0")
        here = [name for name in known if name in data]
        if not here:
            return bits()
        name = dice.choice(here)
        place = data.index(name)
        before = dice.random() < 0.5 and place >= 4
        field = place - 4 if before else place + 4 + dice.choice((0, 4, 8, 12))
        old = int.from_bytes(data[field:field + 4], "big")
        new = dice.choice((0, 1, 7, 8, 0xFFFFFFFF, 0x7FFFFFFF, old + 1, max(old - 1, 0),
                           old // 2, old * 2, old + 65536, dice.getrandbits(32)))
        data[field:field + 4] = struct.pack(">I", new & 0xFFFFFFFF)

    how = dice.choice((bits, bits, noise, zeros, insertion, removal, swap, doubling, cut, sizes,
                       sizes))
    how()
    return bytes(data), "%s at %d" % (how.__name__, at)


def check(binary, item_name, item, folder, options):
    """Damages and exports a portion of films; returns (wrong, notes)."""
    seeds, first, last = item
    wrong, notes, ended = [], [], {}
    for number in range(first, last):
        dice = random.Random("%d %d" % (options.seed, number))
        name = dice.choice(sorted(SEEDS))
        with open(os.path.join(seeds, name), "rb") as file:
            data, how = damage(file.read(), dice)
        place = os.path.join(folder, str(number))
        os.makedirs(place)
        path = os.path.join(place, name)
        with open(path, "wb") as file:
            file.write(data)
        texts, status = judge(binary, path, name, data, place, notes)
        ended[status] = ended.get(status, 0) + 1
        wrong += ["%d, %s, %s: %s" % (number, name, how, text) for text in texts]
        if texts and options.keep:
            with open(os.path.join(options.keep, "%d-%s" % (number, name)), "wb") as file:
                file.write(data)
    return wrong, notes + ["exit %s %d times" % pair for pair in sorted(ended.items())]


def judge(binary, path, name, data, place, notes):
    """What is wrong with the run on one damaged film, and how it ended."""
    form = FORMATS.get(name, "mp4")
    run = binary.run(path, form, os.path.join(place, "run"), limit=MOST_SECONDS)
    wrong = run.wrong()
    if run.peak > MOST_MEMORY:
        wrong.append("%.0f MiB of memory" % run.peak)
    if run.status == 0:
        wrong += fewer(run, name, data) + different(run, path, notes)
    return wrong, str(run.status)


def fewer(run, name, data):
    """Whether the output holds fewer packets than the source declares."""
    with open(run.target, "rb") as file:
        held = declared.movie(file.read())
    if held is None:
        return ["the output has no index"]
    kind = name.rsplit(".")[-1]
    if kind in ("mp4", "mov") and "pcm" not in SEEDS[name]:
        wanted = declared.movie(data)
    elif kind in ("mkv", "webm"):
        wanted = declared.matroska(data)
    elif kind == "avi":
        count = declared.video_chunks(data)
        if count is not None and held and held[0] < count:
            return ["its index lists %d pictures, %d are held" % (count, held[0])]
        return []
    else:
        return []
    # Samples that the edit list hides, or that are empty, may be left out if the run says so.
    named = sum(int(count) for warning in run.result["warnings"] for count in re.findall(
        r"^(\d+) samples (?:outside the edit list )?of stream", warning["message"]))
    dropped = sum(1 for entry in run.result["streams"]
                  if entry["action"] == "dropped" and entry["type"] in ("video", "audio"))
    if wanted is None or sum(held) + named >= sum(wanted) and len(held) + dropped >= len(wanted):
        return []
    return ["it declares %s packets, %s are held" % (wanted, held)]


def different(run, path, notes):
    """Whether the output decodes to something else than the damaged film itself."""
    try:
        source = compare.Source(path)
    except reading.Unreadable:
        return ["ffmpeg reads nothing of the source"]
    # Times that a source lacks, or that fall, are set by a rule, and a warning says so.
    repaired = any(w["warning"] == "timestamps_repaired" for w in run.result["warnings"])
    return compare.differences(source, run, {"times"} if repaired else (), notes, True)
