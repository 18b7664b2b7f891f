"""How many samples a source's own index or structure declares, and how many an output holds.

Own readings of three families, from their specifications: ISO base media (sample tables and
fragments), Matroska (blocks), AVI (chunks). Each returns one number a track, sound and pictures in
the file's order, or None where the structure is too broken to declare anything. Samples without a
byte are not counted.
"""


def boxes(data, start, end):
    """(name, payload's start, end) of the boxes in a range; stops where they make no sense."""
    while start + 8 <= end:
        size, name, head = word(data, start), data[start + 4:start + 8], 8
        if size == 1:
            size, head = word(data, start + 8, 8), 16
        elif size == 0:
            size = end - start
        if size < head or start + size > end:
            return
        yield name, start + head, start + size
        start += size


def inside(data, box, *path):
    """The first box at a path of names below another; None where there is none."""
    for name in path:
        box = next(((start, end) for kind, start, end in boxes(data, *box) if kind == name), None)
        if box is None:
            return None
    return box


def word(data, at, width=4):
    return int.from_bytes(data[at:at + width], "big")


def movie(data):
    """Samples of each sound and picture track: ISO/IEC 14496-12, 8.7 (stsz) and 8.8 (trun)."""
    moov = inside(data, (0, len(data)), b"moov")
    if moov is None:
        return None
    counts = {}
    for name, start, end in boxes(data, *moov):
        if name != b"trak":
            continue
        header = inside(data, (start, end), b"tkhd")
        handler = inside(data, (start, end), b"mdia", b"hdlr")
        sizes = inside(data, (start, end), b"mdia", b"minf", b"stbl", b"stsz")
        if header is None or handler is None or data[handler[0] + 8:handler[0] + 12] not in (
                b"vide", b"soun"):
            continue
        track = word(data, header[0] + (20 if data[header[0]] == 1 else 12))
        counts[track] = 0
        if sizes is None:
            continue
        fixed, count = word(data, sizes[0] + 4), word(data, sizes[0] + 8)
        if fixed:
            counts[track] = count
        elif 12 + 4 * count <= sizes[1] - sizes[0]:
            counts[track] = sum(1 for at in range(sizes[0] + 12, sizes[0] + 12 + 4 * count, 4)
                                if any(data[at:at + 4]))
    for name, start, end in boxes(data, 0, len(data)):
        if name != b"moof":
            continue
        for kind, first, last in boxes(data, start, end):
            if kind != b"traf":
                continue
            header = inside(data, (first, last), b"tfhd")
            if header is None or word(data, header[0] + 4) not in counts:
                continue
            for inner, at, _ in boxes(data, first, last):
                if inner == b"trun":
                    counts[word(data, header[0] + 4)] += word(data, at + 4)
    return list(counts.values())


def element(data, at):
    """(identifier, payload's start, end) of an EBML element; None where there is none."""
    if at >= len(data) or data[at] == 0:
        return None
    width = 9 - data[at].bit_length()
    size_at = at + width
    if width > 4 or size_at >= len(data) or data[size_at] == 0:
        return None
    size_width = 9 - data[size_at].bit_length()
    size = word(data, size_at, size_width) & ((1 << 7 * size_width) - 1)
    start = size_at + size_width
    if size == (1 << 7 * size_width) - 1:
        return word(data, at, width), start, None
    return word(data, at, width), start, start + size


def matroska(data):
    """Blocks of each sound and picture track; None unless every element is whole (RFC 9559)."""
    tracks, counts = {}, {}

    def walk(start, end):
        while start < end:
            found = element(data, start)
            if found is None:
                return False
            name, inner, last = found
            last = end if last is None else last
            if last > end:
                return False
            if name in (0x18538067, 0x1F43B675, 0xA0, 0x1654AE6B):
                if not walk(inner, last):
                    return False
            elif name == 0xAE:
                fields = {}
                at = inner
                while at < last and (field := element(data, at)) and field[2] is not None:
                    fields[field[0]] = word(data, field[1], field[2] - field[1])
                    at = field[2]
                tracks[fields.get(0xD7)] = fields.get(0x83)
            elif name in (0xA3, 0xA1):
                track = element_number(data, inner)
                if track is None or inner + 4 > last:
                    return False
                number, width = track
                lacing = data[inner + width + 2] >> 1 & 3
                if last > inner + width + 3:
                    counts[number] = counts.get(number, 0) + (
                        data[inner + width + 3] + 1 if lacing else 1)
            start = last
        return True

    if not walk(0, len(data)):
        return None
    return [counts.get(number, 0) for number, kind in tracks.items() if kind in (1, 2)]


def element_number(data, at):
    """A variable-size number and its width; None where there is none."""
    if at >= len(data) or data[at] == 0:
        return None
    width = 9 - data[at].bit_length()
    return word(data, at, width) & ((1 << 7 * width) - 1), width


def video_chunks(data):
    """Chunks of each stream in `movi` of an AVI file, as its index `idx1` lists them."""
    def chunks(start, end):
        while start + 8 <= end:
            size = int.from_bytes(data[start + 4:start + 8], "little")
            yield data[start:start + 4], start + 8, start + 8 + size
            start += 8 + size + (size & 1)

    if data[:4] != b"RIFF":
        return None
    for name, start, end in chunks(12, len(data)):
        if name == b"idx1" and end <= len(data):
            return sum(1 for at in range(start, end - 15, 16)
                       if data[at + 2:at + 4] in (b"dc", b"db")
                       and any(data[at + 12:at + 16]))
    return None
