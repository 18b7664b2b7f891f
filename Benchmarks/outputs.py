"""Judges what a command left: the source's packets, its duration, and the index before the media.

ffprobe counts; the order of the boxes is read here (ISO/IEC 14496-12, 4.2).
"""
import filecmp
import json
import os
import struct
import subprocess

# Containers round the end of the last packet in different ways.
DURATION_TOLERANCE = 0.2


def boxes(path):
    """The types of a file's top-level boxes, in order."""
    found, position, size = [], 0, os.path.getsize(path)
    with open(path, "rb") as file:
        while position + 8 <= size:
            file.seek(position)
            length, name = struct.unpack(">I4s", file.read(8))
            if length == 1:
                length = int.from_bytes(file.read(8), "big")
            found.append(name.decode("latin-1"))
            if length < 8:
                break
            position += length
    return found


def index_first(path):
    order = boxes(path)
    return "moov" in order and "mdat" in order and order.index("moov") < order.index("mdat")


def examine(path):
    """What ffprobe finds: kinds and packets of the streams, and the duration."""
    shown = subprocess.run(
        ["ffprobe", "-v", "error", "-count_packets", "-show_entries",
         "stream=codec_type,nb_read_packets:format=duration", "-of", "json", path],
        capture_output=True, text=True, stdin=subprocess.DEVNULL)
    found = json.loads(shown.stdout or "{}")
    return {"streams": [[one.get("codec_type"), int(one.get("nb_read_packets", 0))]
                        for one in found.get("streams", [])],
            "duration": float(found.get("format", {}).get("duration", 0))}


def wrong(source, result):
    """What a result lacks, both examined; empty where nothing."""
    if source["streams"] != result["streams"]:
        return "packets %s, the source has %s" % (result["streams"], source["streams"])
    if abs(source["duration"] - result["duration"]) > DURATION_TOLERANCE:
        return "lasts %.2f s, the source %.2f s" % (result["duration"], source["duration"])
    return ""


def judge(folder, makes, source, source_path, count):
    """(what is wrong, a remark, bytes) of what a peer that makes `makes` left in a folder."""
    if makes == "download":
        size = sum(entry.stat().st_size for entry in os.scandir(folder))
        right = os.path.getsize(source_path) * count
        return ("" if size == right else "%d bytes, not %d" % (size, right)), "", size
    if makes == "batch":
        folder = os.path.join(folder, "out")
    paths = sorted(entry.path for entry in os.scandir(folder) if entry.is_file()
                   and (makes == "batch" or entry.name == "out.mp4"))
    if len(paths) != count:
        return "%d results, not %d" % (len(paths), count), "", 0
    sizes = [os.path.getsize(path) for path in paths]
    first = examine(paths[0])
    fault = wrong(source, first)
    if not fault and min(sizes) < 0.9 * max(sizes):
        fault = "results differ in size"
    remarks = [] if all(index_first(path) for path in paths) else ["index last"]
    if filecmp.cmp(paths[0], source_path, shallow=False):
        remarks.append("as it came")
    return fault, ", ".join(remarks), sum(sizes)
