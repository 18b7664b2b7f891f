"""Proof: what vidfetch exports is what the source holds.

Every file that ends with exit 0 is compared packet by packet, time by time, frame by frame.
"""
import os

import compare
import reading

# Where ffmpeg's own reading of the source is no yardstick: (what shows it, what is then left out,
# why). The first function gets the source as ffprobe reads it.
EXCEPTIONS = ()


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
        without = set()
        for applies, what, why in EXCEPTIONS:
            if applies(source):
                without.add(what)
                notes.append("%s: %s not compared: %s" % (form, what, why))
        wrong += ["%s: %s" % (form, text) for text in compare.differences(
            source, run, without, notes)]
    return wrong, notes
