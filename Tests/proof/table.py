"""Proof: the tables of docs/formats.md, row by row.

A row names a codec, what becomes of it in mp4 and in mov, and the container that the test's source
has. The media is made by ffmpeg, exported to both formats, and what came of it is compared with the
row; what is carried is compared with its source as in `fidelity`. A row that no encoder here can
make says `not tested` instead of a container.
"""
import json
import os
import re
import shutil
import subprocess

import compare
import reading
import recipes

HEADINGS = ("Pictures", "Sound", "Subtitles", "Everything else")
WORDS = ("carried", "carried, with a warning", "converted", "converted, with a warning", "dropped",
         "refused")


def rows(root):
    """(heading, name, mp4, mov, source) of each row."""
    heading = None
    with open(os.path.join(root, "docs", "formats.md")) as file:
        for line in file:
            if line.startswith("#"):
                heading = line.strip("# \n")
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if heading in HEADINGS and line.startswith("|") and len(cells) == 4 \
                    and cells[1] != "mp4" and not set(cells[0]) <= set("-: "):
                yield (heading, *cells)


def items(binary, options):
    """One item a row."""
    found = list(rows(options.root))
    for heading, name, mp4, mov, source in found:
        yield name, (heading, name, {"mp4": mp4, "mov": mov}, source)
    missing = (set(recipes.VIDEO) | set(recipes.AUDIO) | set(recipes.SUBTITLES)
               | believed(options.root)) - {row[1] for row in found}
    if missing:
        yield "rows of the table", (None, " ".join(sorted(missing)), {}, "")


def believed(root):
    """The codecs that the program's own table names."""
    with open(os.path.join(root, "Sources", "MediaRemux", "CodecSupport.swift")) as file:
        return set(re.findall(r'"(\w+)"(?=,|:|\n|\])', file.read()))


def check(binary, item_name, item, folder, options):
    """Makes the row's media, exports it and compares; returns (wrong, notes)."""
    heading, name, wanted, source = item
    if heading is None:
        return ["no row for " + name], []
    wrong = ["%r is none of: %s" % (word, "; ".join(WORDS)) for word in wanted.values()
             if word not in WORDS]
    if wrong or source.startswith("not tested"):
        return wrong, ["not tested"]
    os.makedirs(os.path.join(folder, "made"))
    try:
        path = special(name, folder, options) if heading == HEADINGS[3] else recipes.make(
            name, source, os.path.join(folder, "made"))
    except recipes.NotMade as reason:
        return ["not made: %s" % reason], []
    for form, word in wanted.items():
        run = binary.run(path, form, os.path.join(folder, form))
        texts = run.wrong()
        if not texts:
            judge = thing if heading == HEADINGS[3] else codec
            texts = judge(run, path, name, form, word, wanted)
        wrong += ["%s: %s" % (form, text) for text in texts]
    return wrong, []


# MARK: codecs

def codec(run, path, name, form, word, wanted):
    """Whether what became of a codec is what its row says."""
    kind = recipes.kind(name)
    if word == "refused":
        if run.status != 32:
            return ["not refused: " + run.ended]
        message, recovery = run.result.get("message", ""), run.result.get("recovery", "")
        other = "mov" if form == "mp4" else "mp4"
        texts = []
        if name not in message or form not in message:
            texts.append("%r names not both, codec and container" % message)
        if wanted[other].startswith("carried") and not re.search(r"\b%s\b" % other, recovery):
            texts.append("%r does not say that %s works" % (recovery, other))
        return texts
    if run.status != 0:
        return [run.ended]
    streams = [entry for entry in run.result["streams"] if entry["codec"] == name]
    if not streams:
        return ["no stream of the codec in the result: %s" % run.result["streams"]]
    action = {"carried": "kept", "converted": "converted", "dropped": "dropped"}[word.split(",")[0]]
    texts = ["it is %s" % entry["action"] for entry in streams if entry["action"] != action]
    spoken = [w["message"] for w in run.result["warnings"]
              if w.get("stream") == streams[0]["index"]
              and w["warning"] in ("compatibility", "stream_dropped")]
    if (word.endswith("warning") or word == "dropped") != bool(spoken):
        texts.append("warnings: %s" % spoken)
    texts += compare.differences(compare.Source(path), run)
    if word.startswith("carried") and kind == "subtitle":
        texts += captions(path, run.target)
    return texts


def captions(before, after):
    """Differences of what subtitles say, and of when; of pictures, the packets are compared."""
    def drawn(path):
        return [packet.payload for stream in reading.read(path, media_only=False)
                if stream.kind == "subtitle" and stream.codec in recipes.BITMAPS
                for packet in stream.packets if packet.size]
    if drawn(before):
        return [] if drawn(before) == drawn(after) else ["the packets of the subtitles differ"]

    def told(path):
        return subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", path, "-map", "0:s:0",
                               "-f", "srt", "-"], capture_output=True, stdin=subprocess.DEVNULL,
                              text=True, timeout=60).stdout
    one, other = told(before), told(after)
    return [] if one == other and one else ["subtitles %r became %r" % (one, other)]


# MARK: everything else

def special(name, folder, options):
    """The media of a row that is no codec's."""
    made = os.path.join(folder, "made")
    fixtures = os.path.join(options.root, "Tests", "Fixtures", "media")
    beside = os.path.join(made, "beside")
    if name == "timecode track":
        return recipes.film(made, "mov", "-timecode 01:02:03:04")
    if name == "timed metadata (mebx)":
        return shutil.copy(os.path.join(fixtures, "data_tracks.mov"), made)
    if name == "chapters":
        with open(beside, "w") as file:
            file.write(recipes.CHAPTERS)
        return recipes.film(made, "mkv", "-f ffmetadata", ["-i", beside], "-map_chapters 2")
    if name == "cover picture":
        return shutil.copy(os.path.join(fixtures, "cover.mkv"), made)
    if name == "attached fonts":
        with open(beside, "wb") as file:
            file.write(b"\0\1\0\0" + bytes(60))
        return recipes.film(made, "mkv", ["-attach", beside],
                            "-metadata:s:t mimetype=application/x-truetype-font "
                            "-metadata:s:t filename=letters.ttf")
    if name == "rotation":
        return shutil.copy(os.path.join(fixtures, "rot90.mp4"), made)
    if name == "pixel aspect":
        return shutil.copy(os.path.join(fixtures, "sar43.mp4"), made)
    if name == "languages and title":
        return recipes.film(made, "mkv", "-metadata title=Film -metadata:s:a:0 language=deu")
    raise recipes.NotMade("no recipe for this row")


def facts(path):
    """ffprobe's account of a file."""
    done = subprocess.run(["ffprobe", "-v", "error", "-show_streams", "-show_chapters",
                           "-show_format", "-of", "json", path], capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=60)
    return json.loads(done.stdout)


def thing(run, path, name, form, word, wanted):
    """Whether what became of something that is no codec is what its row says."""
    if run.status != 0:
        return [run.ended]
    before, after = shown(name, facts(path)), shown(name, facts(run.target))
    spoken = [w["message"] for w in run.result["warnings"]]
    pattern = re.compile({"timed metadata (mebx)": "mebx", "cover picture": "cover|picture",
                          "attached fonts": "attach|ttf|font"}.get(name, name), re.I)
    named = any(pattern.search(text) for text in spoken)
    texts = compare.differences(compare.Source(path), run)
    if not before:
        texts.append("the source shows nothing of it")
    if word == "carried" and before != after:
        texts.append("%s became %s" % (before, after))
    if word == "dropped" and (after or not named):
        texts.append("not dropped with a warning: %s, %s" % (after, spoken))
    return texts


def shown(name, told):
    """What a file shows of the thing."""
    streams = told.get("streams", [])
    if name == "timecode track":
        return [s["tags"].get("timecode") for s in streams
                if s.get("codec_tag_string") == "tmcd"]
    if name == "timed metadata (mebx)":
        return [s["codec_tag_string"] for s in streams if s.get("codec_tag_string") == "mebx"]
    if name == "chapters":
        return [(c["start_time"], c["end_time"], c["tags"].get("title"))
                for c in told.get("chapters", [])]
    if name == "cover picture":
        return [(s["codec_name"], s["width"], s["height"]) for s in streams
                if s["disposition"].get("attached_pic")]
    if name == "attached fonts":
        return [s["tags"].get("filename") for s in streams if s["codec_type"] == "attachment"]
    if name == "rotation":
        return [d["displaymatrix"] for s in streams for d in s.get("side_data_list", [])
                if "displaymatrix" in d]
    if name == "pixel aspect":
        return [s["sample_aspect_ratio"] for s in streams if "sample_aspect_ratio" in s]
    if name == "languages and title":
        return [told["format"].get("tags", {}).get("title")] + [
            s.get("tags", {}).get("language") for s in streams if s["codec_type"] == "audio"]
    return None
