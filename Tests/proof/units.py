"""Where a format without an end of its own may be cut so that nobody can tell.

A second opinion, from the specifications alone: nothing here is taken from the program. Each
function gets the whole file and returns the lengths at which what is left is made of whole units.
What a unit declares about its own content (the length of a PES packet, a page that continues) is
held against a cut as well. What only a decoder could tell (a picture of which the last slices are
missing) is not.
"""


def never(data):
    """The container declares its end."""
    return set()


def transport(data):
    """ISO/IEC 13818-1, 2.4.3: packets of 188 bytes, no PES packet of declared length unfinished."""
    whole, open_packets, begun = set(), {}, False
    for position in range(0, len(data) - 187, 188):
        packet = data[position:position + 188]
        pid = (packet[1] & 0x1F) << 8 | packet[2]
        at = 4 + (1 + packet[4] if packet[3] & 0x20 else 0)
        if packet[3] & 0x10 and at < 188 and pid > 31:
            content = packet[at:]
            if packet[1] & 0x40 and content[:3] == b"\0\0\1":
                length = int.from_bytes(content[4:6], "big")
                open_packets[pid] = length + 6 - len(content) if length else 0
                begun = True
            elif open_packets.get(pid):
                open_packets[pid] -= len(content)
        if begun and not any(left > 0 for left in open_packets.values()):
            whole.add(position + 188)
    return whole


def program(data):
    """ISO/IEC 13818-1, 2.5.3: pack headers, system headers and PES packets."""
    whole, position, begun = set(), 0, False
    while position + 6 <= len(data) and data[position:position + 3] == b"\0\0\1":
        code = data[position + 3]
        if code == 0xB9:
            break
        if code == 0xBA:
            is_second = data[position + 4] & 0xC0 == 0x40
            position += 14 + (data[position + 13] & 7) if is_second else 12
        else:
            position += 6 + int.from_bytes(data[position + 4:position + 6], "big")
            begun = begun or code >= 0xC0
        if begun and position <= len(data):
            whole.add(position)
    return whole


def flash(data):
    """Adobe Flash Video 10.1, E.3: tags, with or without the size behind the last one."""
    whole, position, begun = set(), 13, False
    while position + 11 <= len(data):
        end = position + 11 + int.from_bytes(data[position + 1:position + 4], "big")
        begun = begun or data[position] in (8, 9)
        if begun:
            whole |= {end, end + 4}
        position = end + 4
    return {at for at in whole if at <= len(data)}


def pages(data):
    """RFC 3533, 6: pages that finish the packets which they hold, before the one that ends."""
    whole, position, number = set(), 0, 0
    while position + 27 <= len(data) and data[position:position + 4] == b"OggS":
        table = data[position + 27:position + 27 + data[position + 26]]
        if data[position + 5] & 4:
            break
        position += 27 + len(table) + sum(table)
        number += 1
        if table and table[-1] < 255 and number > 2:
            whole.add(position)
    return whole


def fragments(data):
    """ISO/IEC 14496-12, 8.8: whole fragments; the random access box behind the last ends them."""
    whole, position, last = set(), 0, b""
    while position + 8 <= len(data):
        size = int.from_bytes(data[position:position + 4], "big")
        name = data[position + 4:position + 8]
        position += size
        if name == b"mdat" and last == b"moof":
            whole.add(position)
        last = name
    return whole


def clusters(data):
    """RFC 9559: whole elements of a Segment of unknown size."""
    def number(at, keep):
        width = 9 - data[at].bit_length()
        value = int.from_bytes(data[at:at + width], "big")
        return (value if keep else value & ((1 << 7 * width) - 1)), at + width, width

    whole, position, is_inside, begun = set(), 0, False, False
    while position < len(data):
        name, after, _ = number(position, True)
        size, after, width = number(after, False)
        if name == 0x18538067 or (name == 0x1F43B675 and size == (1 << 7 * width) - 1):
            position, is_inside = after, True
            continue
        position = after + size
        begun = begun or name in (0x1F43B675, 0xA3, 0xA0)
        if is_inside and begun and position <= len(data):
            whole.add(position)
    return whole


def adts(data):
    """ISO/IEC 14496-3, 1.A.3.2: frames, whose 13 bits say how long they are."""
    whole, position = set(), 0
    while position + 7 <= len(data):
        length = data[position + 3] << 16 | data[position + 4] << 8 | data[position + 5]
        position += length >> 5 & 0x1FFF
        whole.add(position)
    return whole


def mpeg_audio(data):
    """ISO/IEC 11172-3, 2.4.1.3: frames of layer III."""
    rates = (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)
    whole, position = set(), 0
    while position + 4 <= len(data) and data[position] == 0xFF:
        rate, frequency = rates[data[position + 2] >> 4], (44100, 48000, 32000)[
            data[position + 2] >> 2 & 3]
        position += 144000 * rate // frequency + (data[position + 2] >> 1 & 1)
        whole.add(position)
    return whole


def dolby(data):
    """ETSI TS 102 366, 5.4.1: AC-3 frames at 48 kHz."""
    rates = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640)
    whole, position = set(), 0
    while position + 5 <= len(data):
        position += rates[(data[position + 4] & 63) >> 1] * 4
        whole.add(position)
    return whole
