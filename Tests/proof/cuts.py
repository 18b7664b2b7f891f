"""Proof: a source that was cut is never taken for a whole one.

Media of many containers is cut at --places places and served in four ways. Exit 0 is right only
where the format has no end of its own, the cut lies between two of its units, and HTTP's framing
says that all came; see docs/formats.md.
"""
import os
import random

import recipes
import serving
import units

SOUND = "-map 1:a"
FRAGMENTS = "frag_keyframe+empty_moov+default_base_moof"
# Container: (ffmpeg's words, extension, format to export to, where a cut can't be told, whether the
# whole film says where it ends).
KINDS = {
    "mp4, index first": ("-c:a aac -movflags +faststart", "mp4", "mp4", units.never, True),
    "mp4, index last": ("-c:a aac", "mp4", "mp4", units.never, True),
    "mov": ("-c:a aac", "mov", "mov", units.never, True),
    "fragmented mp4 with mfra": ("-c:a aac -movflags " + FRAGMENTS, "mp4", "mp4",
                                 units.fragments, True),
    "fragmented mp4 without mfra": ("-c:a aac -movflags " + FRAGMENTS + "+skip_trailer", "mp4",
                                    "mp4", units.fragments, False),
    "matroska": ("-c:a aac", "mkv", "mp4", units.never, True),
    "matroska, live": ("-c:a aac -live 1 -cluster_time_limit 200", "mkv", "mp4", units.clusters,
                       False),
    "webm": ("-c:v libvpx-vp9 -b:v 60k -deadline realtime -cpu-used 8 -c:a libopus", "webm", "mp4",
             units.never, True),
    "avi": ("-c:v mpeg4 -bf 0 -c:a libmp3lame", "avi", "mp4", units.never, True),
    "flv with its size": ("-ar 44100 -c:a aac", "flv", "mp4", units.never, True),
    "flv": ("-ar 44100 -c:a aac -flvflags no_duration_filesize", "flv", "mp4", units.flash, False),
    "transport stream": ("-c:a aac", "ts", "mp4", units.transport, False),
    "program stream": ("-c:v mpeg2video -b:v 60k -c:a mp2 -f mpeg", "mpg", "mp4", units.program,
                       False),
    "ogg": (SOUND + " -c:a libopus -page_duration 100000", "ogg", "mp4", units.pages, True),
    "asf": ("-c:a libmp3lame -f asf", "asf", "mp4", units.never, True),
    "wav": (SOUND + " -ar 8000 -c:a pcm_s16le", "wav", "mov", units.never, True),
    "flac": (SOUND + " -c:a flac", "flac", "mp4", units.never, True),
    "adts": (SOUND + " -c:a aac -f adts", "aac", "mp4", units.adts, False),
    "mp3": (SOUND + " -c:a libmp3lame -b:a 64k -write_xing 0 -id3v2_version 0", "mp3", "mp4",
            units.mpeg_audio, False),
    "ac3": (SOUND + " -ar 48000 -c:a ac3 -b:a 64k", "ac3", "mp4", units.dolby, False),
}
PLACES = 100
# Below this a body may be too short to show what it is: exit 30 is right as well.
HEAD = 1024
LAST = (1, 2, 3, 4, 7, 8, 11, 12, 16, 31, 100, 187, 188, 189, 376, 564, 1024)


def items(binary, options):
    """One item a container and way."""
    for name in KINDS:
        for way in serving.WAYS:
            yield "%s, %s" % (name, way), (name, way)


def source(name, folder):
    """The bytes of a small film in a container."""
    words, extension = KINDS[name][:2]
    path = os.path.join(folder, "source." + extension)
    film = "" if "-c:v" in words or words.startswith(SOUND) else \
        "-c:v libx264 -preset veryfast -pix_fmt yuv420p -g 10 -bf 2"
    maps = "" if words.startswith(SOUND) else "-map 0:v -map 1:a"
    recipes.ffmpeg("-f lavfi -i " + recipes.PICTURE % "96x64", "-f lavfi -i "
                   + recipes.TONE % 48000, "-t 1.5", maps, film, words, recipes.EXACT, [path])
    with open(path, "rb") as file:
        return file.read()


def places(name, data, whole, options):
    """Where to cut: the last bytes, unit boundaries and their neighbours, and a spread."""
    dice = random.Random("%s %d" % (name, options.seed))
    size = len(data)
    chosen = {size - back for back in LAST} | {0, 1, 3, 8, 64}
    inner = sorted(at for at in whole if at < size)
    for at in dice.sample(inner, min(12, len(inner))):
        chosen |= {at - 1, at, at + 1}
    chosen = {at for at in chosen if 0 <= at < size}
    if len(chosen) > options.places:
        chosen = set(dice.sample(sorted(chosen), options.places))
    while len(chosen) < min(options.places, size):
        chosen.add(dice.randrange(size))
    return sorted(chosen)


def check(binary, item_name, item, folder, options):
    """Cuts and serves; returns (wrong, notes)."""
    name, way = item
    form, boundaries, has_end = KINDS[name][2:]
    data = source(name, folder)
    whole = boundaries(data)
    wrong, ended, server = [], {}, serving.Serving()
    server.whole = len(data)
    # A film that is not cut shows that the rest of this proof means something.
    cuts = places(name, data, whole, options) + [len(data)]
    try:
        for number, at in enumerate(cuts):
            server.body = data[:at]
            place = os.path.join(folder, "cut%d" % number)
            run = binary.run(server.url(way, "film." + KINDS[name][1]), form, place,
                             "--retries", "0", limit=20)
            key = "none" if run.status is None else str(run.status)
            ended[key] = ended.get(key, 0) + 1
            allowed = verdicts(at, len(data), way, has_end, whole)
            texts = run.wrong()
            if run.status not in allowed:
                texts.append("%s, not exit %s" % (
                    run.ended, " or ".join(str(code) for code in sorted(allowed))))
            wrong += ["cut at %d of %d: %s" % (at, len(data), text) for text in texts]
            if texts and options.keep:
                keep(options.keep, item_name, at, data)
            remove(place)
    finally:
        server.close()
    return wrong[:12] + (["%d more" % (len(wrong) - 12)] if len(wrong) > 12 else []), [
        "%d cuts: %s" % (len(cuts), ", ".join(
            "exit %s %d times" % pair for pair in sorted(ended.items())))]


def verdicts(at, size, way, has_end, whole):
    """The exit codes that are right for a body of `at` bytes of a film of `size`."""
    if at == size:
        # Its own end proves it, or the framing.
        return {31} if way == "close" and not has_end else {0}
    if way == "early":
        return {10}
    allowed = {31}
    if at < HEAD:
        allowed.add(30)
    if way != "close" and at in whole:
        allowed.add(0)
    return allowed


def keep(folder, name, at, data):
    """Saves a cut film for inspection."""
    extension = KINDS[name.rsplit(", ", 1)[0]][1]
    with open(os.path.join(folder, "%s-%d.%s" % (name.replace(" ", "_"), at, extension)),
              "wb") as file:
        file.write(data[:at])


def remove(folder):
    """Removes a run's folders."""
    for top, folders, names in os.walk(folder, topdown=False):
        for name in names:
            os.remove(os.path.join(top, name))
        for name in folders:
            os.rmdir(os.path.join(top, name))
    os.rmdir(folder)
