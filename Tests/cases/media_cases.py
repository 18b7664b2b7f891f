"""D01 to D03 and D05 to D08: what becomes of the media."""
import json
import os
import re

from harness import boxes, container, matrices, streams, tool


def hvcc_units(path):
    """NAL unit types of the parameter sets in the hvcC box, and its numOfArrays."""
    with open(path, "rb") as file:
        data = file.read()
    at = data.find(b"hvcC")
    if at < 0:
        return 0, set()
    box = data[at + 4:at - 4 + int.from_bytes(data[at - 4:at], "big")]
    kinds, position = set(), 23
    for _ in range(box[22]):
        kind, count = box[position] & 0x3f, int.from_bytes(box[position + 1:position + 3], "big")
        position += 3
        for _ in range(count):
            position += 2 + int.from_bytes(box[position:position + 2], "big")
        if count:
            kinds.add(kind)
    return box[22], kinds


def video(path):
    found = [s for s in streams(path)
             if s["codec_type"] == "video" and not s["disposition"]["attached_pic"]]
    return found[0] if found else {}


def warned(run, pattern, stream=None):
    """Whether a warning of the result matches, and is about the stream if one is given."""
    for warning in run.result.get("warnings", []):
        if re.search(pattern, json.dumps(warning), re.I):
            if stream is None or warning.get("stream") == stream:
                return True
    return False


def d01(bench):
    for source in ("hevc_hev1.mp4", "hevc.ts"):
        for fmt in ("mp4", "mov"):
            title = "%s to %s" % (source, fmt)
            run = bench.run(source, fmt=fmt, out="out." + fmt)
            if bench.good(title, run, source):
                tag = video(run.target).get("codec_tag_string")
                bench.check(title + ": hvc1", tag == "hvc1", tag)
                count, kinds = hvcc_units(run.target)
                bench.check(title + ": hvcC has VPS, SPS and PPS",
                            count >= 3 and kinds >= {32, 33, 34}, "%s %s" % (count, kinds))
    run = bench.run("hevc_inband.mp4")
    if bench.good("hevc_inband.mp4", run, "hevc_inband.mp4"):
        tag = video(run.target).get("codec_tag_string")
        count, kinds = hvcc_units(run.target)
        filled = tag == "hvc1" and count >= 3 and kinds >= {32, 33, 34}
        bench.check("hevc_inband.mp4: filled hvcC, or hev1 and a warning",
                    filled or tag == "hev1" and warned(run, "apple"),
                    "%s %s %s" % (tag, kinds, run.out))


def d02(bench):
    for fmt in ("mp4", "mov"):
        for source in ("rot90.mp4", "mirror.mp4", "plain.mp4"):
            title = "%s to %s" % (source, fmt)
            run = bench.run(source, fmt=fmt, out="out." + fmt)
            if not bench.good(title, run, source):
                continue
            wanted = matrices(os.path.join(bench.cases, "files", source))
            bench.check(title + ": same display matrix, once",
                        matrices(run.target) == wanted and len(wanted) == (source != "plain.mp4"),
                        "%s, not %s" % (matrices(run.target), wanted))
            size = video(run.target)
            bench.check(title + ": width and height not swapped",
                        (size["width"], size["height"]) == (160, 120), size)
        title = "sar43.mp4 to " + fmt
        run = bench.run("sar43.mp4", fmt=fmt, out="out." + fmt)
        if bench.good(title, run, "sar43.mp4"):
            ratio = video(run.target).get("sample_aspect_ratio")
            bench.check(title + ": sample aspect ratio 4:3", ratio == "4:3", ratio)


def d03(bench):
    gaps = {"late_audio.ts": ("audio", "video", 0.679), "early_audio.ts": ("video", "audio", 0.541)}
    for source, (later, earlier, gap) in gaps.items():
        run = bench.run(source)
        if not bench.good(source, run, source):
            continue
        starts = {s["codec_type"]: float(s["start_time"]) for s in streams(run.target)}
        measured = starts[later] - starts[earlier]
        bench.check("%s: %s %.3f s after %s" % (source, later, gap, earlier),
                    abs(measured - gap) <= 0.03, "%.3f" % measured)
        start = float(container(run.target)["start_time"])
        bench.check(source + ": starts at 0", abs(start) < 0.05, start)
        audio = [s for s in streams(run.target) if s["codec_name"] == "aac"]
        bench.check(source + ": AudioSpecificConfig",
                    audio and int(audio[0].get("extradata_size", 0)) > 0, audio)
        head = tool("ffmpeg", "-nostdin", "-v", "error", "-i", run.target, "-map", "0:a", "-c",
                    "copy", "-f", "data", "-", binary=True)[:2]
        bench.check(source + ": no ADTS headers",
                    len(head) == 2 and not (head[0] == 0xff and head[1] & 0xf0 == 0xf0), head)
    run = bench.run("ac3.ts")
    if bench.good("ac3.ts", run, "ac3.ts"):
        codecs = [s["codec_name"] for s in streams(run.target)]
        bench.check("ac3.ts: stays ac3", "ac3" in codecs, codecs)


def d05(bench):
    for fmt in ("mp4", "mov"):
        title = "data_tracks.mov to " + fmt
        run = bench.run("data_tracks.mov", fmt=fmt, out="out." + fmt)
        if not bench.good(title, run, "data_tracks.mov"):
            continue
        tags = [s.get("codec_tag_string") for s in streams(run.target)]
        if fmt == "mp4":
            bench.check(title + ": mebx left out with a warning that names it",
                        "mebx" not in tags and warned(run, "mebx", 2), run.out)
        else:
            bench.check(title + ": mebx kept or named", "mebx" in tags or warned(run, "mebx", 2),
                        "%s %s" % (tags, run.out))
        bench.check(title + ": timecode kept or named",
                    "tmcd" in tags or warned(run, "tmcd|timecode", 3), "%s %s" % (tags, run.out))


def d06(bench):
    for source in ("cover.mp4", "cover_first.mp4", "cover.mkv"):
        run = bench.run(source)
        if not bench.good(source, run, source):
            continue
        found = streams(run.target)
        film = [s for s in found if s["codec_name"] == "h264"]
        covers = [s for s in found if s["codec_name"] in ("mjpeg", "png")]
        bench.check(source + ": h264 is the default, not a picture",
                    len(film) == 1 and film[0]["disposition"]["default"] == 1
                    and film[0]["disposition"]["attached_pic"] == 0, film)
        kept = len(covers) == 1 and covers[0]["disposition"]["attached_pic"] == 1 \
            and covers[0]["disposition"]["default"] == 0
        bench.check(source + ": the cover is kept as such, or named",
                    kept or not covers and warned(run, "picture|cover|mjpeg"), run.out)


def d07(bench):
    for path, what, says in (
            ("~body=login/plain.mp4", "HTML", r"web page"),
            ("~body=login&type=video%2Fmp4/plain.mp4", "HTML as video/mp4", r"web page"),
            ("~body=json/plain.mp4", "JSON", None), ("~body=xml/plain.mp4", "XML", None),
            ("~body=empty/plain.mp4", "empty body", r"\bempty\b"),
            ("empty.mp4", "empty file", r"\bempty\b")):
        bench.server.reset()
        run = bench.run(path)
        bench.bad(what, run, "not-media", says=says)
        if says == "web page":
            bench.check(what + ": asks about signing in", run.says(r"sign(ed)?[- ]?in|log(ged)? ?in"),
                        run.err)
        bench.check(what + ": at most one more request", len(bench.server.gets()) <= 2,
                    len(bench.server.gets()))
    for source, says in (("no_moov.mp4", r"index|moov"), ("cut_mdat.mp4", None)):
        bench.server.reset()
        run = bench.run(source)
        bench.bad(source, run, "damaged", says=says)
        if source == "no_moov.mp4":
            bench.check(source + ": says incomplete at its source",
                        run.says(r"incomplete|not complete|cut (short|off)|truncated"), run.err)
        total = sum(entry["sent"] for entry in bench.server.gets())
        bench.check(source + ": no retry loop", total < 2.2 * bench.facts[source]["size"], total)
    bench.good("moov_first.mp4", bench.run("moov_first.mp4"), "moov_first.mp4")


def d08(bench):
    for source in ("vp9_opus.webm", "vp9_named.MOV"):
        for fmt in (None, "mp4"):
            title = "%s to %s" % (source, fmt or "the default")
            run = bench.run(source, "-d", "made", fmt=fmt, out=None)
            bench.good(title, run, source)
            made = run.result.get("path") or ""
            bench.check(title + ": an mp4 file", made.endswith(".mp4") and os.path.exists(made)
                        and boxes(made)[:1] == ["ftyp"], made)
        bench.server.reset()
        run = bench.run(source, fmt="mov", out="out.mov")
        bench.bad(source + " to mov", run, "cannot-passthrough", says=r"vp9")
        bench.check(source + " to mov: names mov and says that mp4 works",
                    run.says(r"\bmov\b") and run.says(r"mp4"), run.err)
        total = sum(entry["sent"] for entry in bench.server.gets())
        bench.check(source + " to mov: body not fetched twice",
                    total < 1.5 * bench.facts[source]["size"], total)
    for path, title in (("~type=application%2Foctet-stream/vp9_opus.webm", "octet-stream"),
                        ("~file=vp9_opus.webm/clip", "no extension")):
        bench.good(title, bench.run(path), "vp9_opus.webm")
