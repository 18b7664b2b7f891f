"""Payloads without what a container adds: start codes, length fields, ADTS headers, delimiters."""


def units(data, length_size):
    """The NAL units of a packet: behind start codes, or behind lengths of `length_size` bytes."""
    found = []
    if length_size:
        position = 0
        while position + length_size <= len(data):
            size = int.from_bytes(data[position:position + length_size], "big")
            position += length_size
            found.append(data[position:position + size].rstrip(b"\0"))
            position += size
        return [unit for unit in found if unit]
    position = data.find(b"\0\0\1")
    while position >= 0:
        after = data.find(b"\0\0\1", position + 3)
        found.append(data[position + 3:after if after >= 0 else len(data)].rstrip(b"\0"))
        position = after
    return [unit for unit in found if unit]


def length_size(stream):
    """The width of the lengths before NAL units; 0 where start codes stand there."""
    extra = stream.extradata
    if stream.codec == "h264" and len(extra) >= 7 and extra[0] == 1:
        return (extra[4] & 3) + 1
    if stream.codec == "hevc" and len(extra) >= 23 and (extra[0] or extra[1] or extra[2] > 1):
        return (extra[21] & 3) + 1
    return 0


def open_bitstream_units(data):
    """The AV1 units of a packet, without those that only delimit or pad."""
    found, position = [], 0
    while position < len(data):
        header = data[position]
        start = position + (2 if header & 4 else 1)
        size = len(data) - start
        if header & 2:
            size, shift = 0, 0
            while start < len(data):
                size |= (data[start] & 0x7F) << shift
                shift += 7
                start += 1
                if data[start - 1] < 0x80:
                    break
        if header >> 3 & 15 not in (2, 7, 8, 15):
            found.append((header >> 3 & 15, data[start:start + size]))
        position = start + size
    return found


def canonical(stream, data):
    """What a packet of the stream holds, whatever its container: comparable."""
    if stream.codec in ("h264", "hevc"):
        return tuple(units(data, length_size(stream)))
    if stream.codec == "av1":
        return tuple(open_bitstream_units(data))
    if stream.codec == "aac" and not stream.extradata and len(data) > 7 \
            and data[0] == 0xFF and data[1] & 0xF0 == 0xF0:
        return data[7 if data[1] & 1 else 9:]
    return data
