"""Proof: what vidfetch exports is what the source holds.

Every file that ends with exit 0 is compared packet by packet, time by time, frame by frame; see
`compare`. What is not compared, and why:

- times, where the source's clock jumps and the run says that the jumps were closed: ffmpeg's own
  reading has the jumps still in it;
- times of packets that have none in the source (AVI), and of uncompressed sound but for the first
  packet: every reader cuts it into other packets;
- times of sound whose stamps leave it less than half of its own length (AVI with a wrong block
  size): it has to come end to end instead;
- decoded media, where ffmpeg has no decoder (xHE-AAC): only the packets are compared;
- decoded media, where the same packets decode to something else each time, or from another
  container: a damaged picture is filled with what the decoder's memory held;
- the end of the last packet of sound: what it is padded with may be heard.
"""
import os

import compare
import reading


def items(binary, options):
    """One item a file and format."""
    for folder in options.media:
        for top, _, names in sorted(os.walk(folder)):
            for name in sorted(names):
                path = os.path.join(top, name)
                yield os.path.relpath(path, folder), (path,)


def check(binary, name, item, folder, options):
    """Exports a file to both formats; returns (wrong, notes)."""
    path, = item
    wrong, notes, source = [], [], None
    for form in ("mp4", "mov"):
        run = binary.run(path, form, os.path.join(folder, form))
        wrong += ["%s: %s" % (form, text) for text in run.wrong()]
        if run.status != 0:
            notes.append("%s: %s" % (form, run.ended))
            continue
        if source is None:
            try:
                source = compare.Source(path)
            except reading.Unreadable as reason:
                # A codec that ffmpeg has no decoder for (xHE-AAC); its packets can be compared.
                notes.append("%s: only packets compared: ffprobe says %s" % (form, reason))
                packets = reading.copied(path)
                if not packets or packets != reading.copied(run.target):
                    wrong.append("%s: packets differ" % form)
                continue
        wrong += ["%s: %s" % (form, text) for text in compare.differences(
            source, run, notes=notes)]
    return wrong, notes
