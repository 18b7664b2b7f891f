"""Media made by ffmpeg, a second long: one recipe a codec, and one a thing beside the streams."""
import os
import shlex
import struct
import subprocess

PICTURE = "testsrc2=s=%s:r=25"
TONE = "sine=f=440:r=%d"
EXACT = "-fflags +bitexact -flags +bitexact -threads 1"
FILM = "-c:v libx264 -preset veryfast -pix_fmt yuv420p -g 25 -bf 2"

# Encoder and options where `-c NAME` alone does not do; the size or rate that it wants.
VIDEO = {
    "h264": ("-c:v libx264 -preset veryfast -pix_fmt yuv420p -g 10 -bf 2", "160x120"),
    "hevc": ("-c:v libx265 -preset veryfast -pix_fmt yuv420p -x265-params "
             "log-level=none:keyint=10:bframes=2:pools=1:frame-threads=1", "160x120"),
    "av1": ("-c:v libaom-av1 -cpu-used 8 -b:v 80k -pix_fmt yuv420p", "160x120"),
    "vp8": ("-c:v libvpx -b:v 80k -deadline realtime -cpu-used 8", "160x120"),
    "vp9": ("-c:v libvpx-vp9 -b:v 80k -deadline realtime -cpu-used 8", "160x120"),
    "mpeg1video": ("-c:v mpeg1video -bf 2", "160x112"),
    "mpeg2video": ("-c:v mpeg2video -bf 2", "160x112"),
    "mpeg4": ("-c:v mpeg4 -bf 2", "160x112"),
    "h263": ("-c:v h263", "176x144"),
    "mjpeg": ("-c:v mjpeg -pix_fmt yuvj420p", "160x120"),
    "prores": ("-c:v prores_ks", "160x120"),
    "dnxhd": ("-c:v dnxhd -profile:v dnxhr_lb -pix_fmt yuv422p", "256x128"),
    "dvvideo": ("-c:v dvvideo -pix_fmt yuv420p", "720x576"),
    "theora": ("-c:v libtheora -b:v 100k", "160x112"),
    "msmpeg4v3": ("-c:v msmpeg4", "160x112"),
    "ffv1": ("-c:v ffv1 -level 3", "160x120"),
    "huffyuv": ("-c:v huffyuv -pix_fmt yuv422p", "160x120"),
    "rawvideo": ("-c:v rawvideo -pix_fmt uyvy422", "96x64"),
    "png": ("-c:v png -pix_fmt rgb24", "96x64"),
    "gif": ("-c:v gif -pix_fmt rgb8", "96x64"),
    "cinepak": ("-c:v cinepak", "96x64"),
    "qtrle": ("-c:v qtrle -pix_fmt rgb24", "96x64"),
    "jpeg2000": ("-c:v jpeg2000 -pix_fmt yuv420p", "96x64"),
    "r210": ("-c:v r210 -pix_fmt gbrp10be", "96x64"),
    "v210": ("-c:v v210", "96x64"),
    "svq1": ("-c:v svq1", "96x64"),
    # Other widths than multiples of 64 corrupt the memory of ffmpeg 5.1 on some processors.
    "rpza": ("-c:v rpza -pix_fmt rgb555", "128x64"),
    "tiff": ("-c:v tiff -pix_fmt rgb24", "96x64"),
    "hap": ("-c:v hap", "96x64"),
    "cfhd": ("-c:v cfhd -pix_fmt yuv422p10le", "160x120"),
    "utvideo": ("-c:v utvideo -pix_fmt yuv422p", "96x64"),
    "snow": ("-c:v snow -strict -2", "160x112"),
    "flv1": ("-c:v flv", "160x112"),
    "wmv1": ("-c:v wmv1", "160x112"),
    "wmv2": ("-c:v wmv2", "160x112"),
    "h261": ("-c:v h261", "176x144"),
}
AUDIO = {
    "mp3": ("-c:a libmp3lame -b:a 64k", 48000),
    "dts": ("-c:a dca -strict -2", 48000),
    "truehd": ("-c:a truehd -strict -2", 48000),
    "mlp": ("-c:a mlp -strict -2", 48000),
    "opus": ("-c:a libopus -b:a 48k", 48000),
    "vorbis": ("-c:a libvorbis", 48000),
    "gsm": ("-c:a libgsm -ac 1", 8000),
    "gsm_ms": ("-c:a libgsm_ms -ac 1", 8000),
    "adpcm_ima_qt": ("-c:a adpcm_ima_qt -ac 1", 44100),
    "speex": ("-c:a libspeex", 16000),
    "nellymoser": ("-c:a nellymoser -ac 1", 44100),
}
SUBTITLES = {
    "mov_text": "-c:s mov_text", "subrip": "-c:s subrip", "ass": "-c:s ass",
    "webvtt": "-c:s webvtt", "dvb_subtitle": "-c:s dvbsub", "dvd_subtitle": "-c:s dvdsub",
    "hdmv_pgs_subtitle": "-c:s copy",
}
BITMAPS = ("dvb_subtitle", "dvd_subtitle", "hdmv_pgs_subtitle")

LINES = ("1\n00:00:00,100 --> 00:00:00,500\nThe <i>first</i> line\n\n"
         "2\n00:00:00,600 --> 00:00:00,900\nand the second\n\n")
CHAPTERS = (";FFMETADATA1\n"
            "[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=400\ntitle=Opening\n"
            "[CHAPTER]\nTIMEBASE=1/1000\nSTART=400\nEND=1000\ntitle=Ending\n")


class NotMade(Exception):
    """ffmpeg did not make the file."""


def ffmpeg(*words):
    """Runs ffmpeg with strings of words; raises NotMade with what it says."""
    command = ["ffmpeg", "-nostdin", "-hide_banner", "-v", "error", "-y"]
    for word in words:
        command += word if isinstance(word, list) else shlex.split(word)
    done = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, timeout=120)
    if done.returncode != 0:
        raise NotMade(done.stderr.decode(errors="replace").strip()[-300:])


def kind(codec):
    """Whether a codec's row is of pictures, sound or text."""
    if codec in SUBTITLES:
        return "subtitle"
    return "video" if codec in VIDEO else "audio"


def make(codec, container, folder, seconds=1):
    """A file that holds the codec (text: beside a film); returns its path."""
    path = os.path.join(folder, "source." + container)
    muxer = {"asf": "-f asf", "mpg": "-f mpeg -muxrate 2000k"}.get(container, "")
    length = "-t %g" % seconds
    if codec in SUBTITLES:
        if codec in BITMAPS:
            _bitmap(codec, path, folder)
            return path
        text = os.path.join(folder, "lines.srt")
        with open(text, "w") as file:
            file.write(LINES)
        ffmpeg("-f lavfi -i " + PICTURE % "160x120", ["-i", text], "-map 0:v -map 1:s", length,
               FILM, SUBTITLES[codec], EXACT, [path])
    elif codec in VIDEO:
        encode, size = VIDEO[codec]
        ffmpeg("-f lavfi -i " + PICTURE % size, length, encode, EXACT, muxer, [path])
    else:
        encode, rate = AUDIO.get(codec, ("-c:a " + codec, 48000))
        ffmpeg("-f lavfi -i " + TONE % rate, "-af aformat=channel_layouts=stereo"
               if "-ac 1" not in encode else "", length, encode, EXACT, muxer, [path])
    return path


def _bitmap(codec, path, folder):
    """A film with pictures for subtitles, which ffmpeg makes from other pictures only."""
    pictures = os.path.join(folder, "pictures.sup")
    with open(pictures, "wb") as file:
        file.write(presentation_graphics())
    ffmpeg("-f lavfi -i " + PICTURE % "160x120", "-fix_sub_duration", ["-i", pictures],
           "-map 0:v -map 1:s -t 1", FILM,
           SUBTITLES[codec], EXACT, [path])


def presentation_graphics():
    """A Blu-ray subtitle stream (.sup): an 8x8 square, shown from 0.1 s to 0.5 s."""
    def segment(time, kind, content):
        return b"PG" + struct.pack(">IIBH", time, 0, kind, len(content)) + content

    def composition(number, objects):
        return struct.pack(">HHBHBBBB", 160, 120, 0x10, number, 0x80 if objects else 0, 0, 0,
                           len(objects)) + b"".join(objects)

    lines = b"\1" * 8 + b"\0\0"
    picture = struct.pack(">HH", 8, 8) + lines * 8
    window = struct.pack(">BBHHHH", 1, 0, 16, 16, 8, 8)
    shown, gone = 9000, 45000
    return b"".join((
        segment(shown, 0x16, composition(0, [struct.pack(">HBBHH", 0, 0, 0, 16, 16)])),
        segment(shown, 0x17, window),
        segment(shown, 0x14, bytes((0, 0, 1, 235, 128, 128, 255))),
        segment(shown, 0x15, struct.pack(">HBB", 0, 0, 0xC0) + len(picture).to_bytes(3, "big")
                + picture),
        segment(shown, 0x80, b""),
        segment(gone, 0x16, composition(1, [])), segment(gone, 0x17, window),
        segment(gone, 0x80, b"")))


def film(folder, container, *more, seconds=1):
    """A film with sound in a container; `more` are words of ffmpeg before the output's name."""
    path = os.path.join(folder, "source." + container)
    ffmpeg("-f lavfi -i " + PICTURE % "160x120", "-f lavfi -i " + TONE % 48000, *more,
           "-t %g" % seconds, FILM, "-c:a aac -b:a 48k", EXACT, [path])
    return path
