"""The benchmark's inputs, made once by ffmpeg in a folder outside the project.

A few seconds are encoded, all else is a stream copy of them in a loop; the encoder is told to be
exact, so that the same ffmpeg makes the same bytes. A file counts as made when it bears its name.
"""
import os
import shutil
import subprocess

# Raised when a recipe changes: the folder of the inputs bears it.
VERSION = 1
GIB, MB = 2**30, 1000 * 1000
QUIET = ("ffmpeg", "-nostdin", "-v", "error", "-y")
EXACT = ("-fflags", "+bitexact", "-map_metadata", "-1")

# Seconds that hold whole AAC frames of 1024 samples at 48 kHz, so that copies join without a gap.
SEEDS = {
    # seed: (seconds, picture size, pictures a second, video bits a second, audio bits a second)
    "high": (8, "1280x720", 25, 14_850_000, 128_000),
    "low": (24, "640x360", 50, 221_500, 64_000),
}
# input: (seed, bytes wanted or None, seconds cut from the seed, muxer's options)
RECIPES = {
    "first.mp4": ("high", GIB, None, ("-movflags", "+faststart")),
    "last.mp4": ("high", GIB, None, ()),
    "film.mkv": ("high", GIB, None, ()),
    "film.ts": ("high", GIB, None, ()),
    "packets.mp4": ("low", 400 * MB, None, ("-movflags", "+faststart")),
    "first-120.mp4": ("high", 120 * MB, None, ("-movflags", "+faststart")),
    "last-120.mp4": ("high", 120 * MB, None, ()),
    "ten.mp4": ("high", None, 5.4, ("-movflags", "+faststart")),
    "small.mp4": ("low", None, 5.4, ("-movflags", "+faststart")),
    "tiny.mp4": ("low", None, 0.5, ("-movflags", "+faststart")),
}


class NoSpace(Exception):
    """The folder's disk has too little room."""


def loops(wanted, seed):
    """How often a seed of so many bytes is written for about so many bytes."""
    return max(1, round(wanted / seed))


def space_needed(missing, names, scale):
    """Bytes for the inputs that are missing, and for the largest run on those named.

    A run holds a source and its result, and for a moment perhaps one of them twice.
    """
    def sizes(which):
        return [RECIPES[name][1] * scale for name in which if RECIPES[name][1]]
    return int(1.05 * sum(sizes(missing)) + 3 * max(sizes(names), default=0)) + 300 * MB


def make_seed(name, path):
    seconds, size, rate, video, audio = SEEDS[name]
    subprocess.run(
        [*QUIET, "-f", "lavfi", "-i", "testsrc2=s=%s:r=%d,noise=alls=16:allf=t:all_seed=1"
         % (size, rate), "-f", "lavfi", "-i", "sine=f=330:r=48000,aformat=channel_layouts=stereo",
         "-t", str(seconds), "-c:v", "libx264", "-preset", "ultrafast", "-bf", "2", "-g",
         str(2 * rate), "-sc_threshold", "0", "-threads", "2", "-pix_fmt", "yuv420p", "-b:v",
         str(video), "-minrate", str(video), "-maxrate", str(video), "-bufsize", str(video),
         "-c:a", "aac", "-b:a", str(audio), "-flags:v", "+bitexact", "-flags:a", "+bitexact",
         *EXACT, path], check=True)


def make(folder, names, scale=1.0, say=lambda text: None):
    """Makes what is missing of the inputs; returns name → path."""
    folder = os.path.join(folder, "inputs-%d-%g" % (VERSION, scale))
    os.makedirs(folder, exist_ok=True)
    paths = {name: os.path.join(folder, name) for name in names}
    missing = [name for name in names if not os.path.exists(paths[name])]
    needed = space_needed(missing, names, scale)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise NoSpace("%s has %.1f GB of free space, %.1f GB are needed"
                      % (folder, free / 1e9, needed / 1e9))
    for name in missing:
        seed_name, wanted, cut, options = RECIPES[name]
        seed = os.path.join(folder, "seed-%s.mp4" % seed_name)
        # Under its own name only when it is whole: an interrupted run leaves no half input.
        part = os.path.join(folder, "part." + name)
        if not os.path.exists(seed):
            say("making the seed %s" % seed_name)
            make_seed(seed_name, part + ".seed.mp4")
            os.rename(part + ".seed.mp4", seed)
        say("making %s" % name)
        count = loops(wanted * scale, os.path.getsize(seed)) if wanted else 1
        until = ("-t", str(cut)) if cut else ()
        subprocess.run([*QUIET, "-stream_loop", str(count - 1), "-i", seed, *until, "-map", "0",
                        "-c", "copy", *options, *EXACT, part], check=True)
        os.rename(part, paths[name])
    return paths


def warm(path):
    """Reads a file once, so that the server has it in the page cache."""
    with open(path, "rb", buffering=0) as file:
        buffer = bytearray(1 << 20)
        while file.readinto(buffer):
            pass
