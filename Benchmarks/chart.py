"""The chart: one line a case, time ÷ the yardstick's on a logarithmic axis, a mark a peer.

It brings its own background and follows the reader's colour scheme, so that it can be read on any
page. Peers differ in colour and in shape. Pure: takes results, gives SVG.
"""
import math
from xml.sax.saxutils import escape

import figures

WIDTH, LEFT, RIGHT, TOP, STEP, BOTTOM = 980, 370, 40, 92, 34, 44
TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500)
# class: (colour on a light page, on a dark one)
COLOURS = {"back": ("#ffffff", "#0d1117"), "text": ("#1f2328", "#e6edf3"),
           "faint": ("#656d76", "#8d96a0"), "line": ("#d0d7de", "#30363d"),
           "ours": ("#0969da", "#58a6ff"), "violet": ("#8250df", "#bc8cff"),
           "red": ("#cf222e", "#ff7b72"), "green": ("#1a7f37", "#3fb950"),
           "brown": ("#9a6700", "#d29922")}
FONT = '-apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif'
# peer: (class, shape)
MARKS = {"vidfetch": ("ours", "diamond"), "curl, then ffmpeg": ("violet", "square"),
         "ffmpeg URL": ("red", "triangle"), "aria2c, then ffmpeg": ("green", "circle"),
         "aria2c -k1M, then ffmpeg": ("green", "ring"), "yt-dlp": ("brown", "cross")}


def style():
    """Classes that set a colour; shapes and words take it as their current one."""
    def rules(which):
        return " ".join(".%s { color: %s; }" % (name, pair[which])
                        for name, pair in COLOURS.items())
    return "text { font: 13px %s; fill: currentColor; } .title { font-size: 15px; } %s " \
        "@media (prefers-color-scheme: dark) { %s }" % (FONT, rules(0), rules(1))


def shape(kind, x, y, colour):
    """A mark at a place."""
    fill = 'class="%s" fill="currentColor"' % colour
    if kind == "diamond":
        return '<path d="M%.1f %.1fl8 8-8 8-8-8z" %s/>' % (x, y - 8, fill)
    if kind == "square":
        return '<rect x="%.1f" y="%.1f" width="9" height="9" %s/>' % (x - 4.5, y - 4.5, fill)
    if kind == "triangle":
        return '<path d="M%.1f %.1fl5.5 10h-11z" %s/>' % (x, y - 6, fill)
    if kind == "circle":
        return '<circle cx="%.1f" cy="%.1f" r="5" %s/>' % (x, y, fill)
    line = 'class="%s" fill="none" stroke="currentColor" stroke-width="2"' % colour
    if kind == "ring":
        return '<circle cx="%.1f" cy="%.1f" r="4.5" %s/>' % (x, y, line)
    return '<path d="M%.1f %.1fl9 9m0-9l-9 9" %s/>' % (x - 4.5, y - 4.5, line)


def text(x, y, words, kind="text", anchor="start"):
    return '<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>' % (
        x, y, kind, anchor, escape(words))


def points(results):
    """Case → [(peer, time ÷ the yardstick's)], of the peers that end with a finished file."""
    found = []
    for case in results["cases"]:
        yardstick = figures.row(case, case["yardstick"])
        marks = []
        for one in case["rows"]:
            counts = one["runs"] and not one["failed"] and (
                "index last" not in one["remark"])
            if yardstick and one["peer"] in MARKS and counts:
                value = figures.ratio(one["runs"], yardstick["runs"], "wall")
                if value:
                    marks.append((one["peer"], value))
        if marks:
            found.append((case["title"], marks))
    return found


def svg(results):
    """The chart of a run."""
    lines = points(results)
    values = [value for _, marks in lines for _, value in marks] + [1]
    low = max([tick for tick in TICKS if tick <= min(values)], default=min(values))
    high = min([tick for tick in TICKS if tick >= max(values)], default=max(values))
    high = max(high, low * 2)
    height = TOP + STEP * len(lines) + BOTTOM

    def across(value):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(value / low) / math.log(high / low)

    title = "Time until a finished file, divided by the time of the download alone"
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" '
             'role="img" aria-label="%s">' % (WIDTH, height, WIDTH, height, title),
             "<style>%s</style>" % style(),
             '<rect width="%d" height="%d" rx="8" class="back" fill="currentColor"/>'
             % (WIDTH, height), text(20, 30, title, "text title")]
    x = 26
    used = {peer for _, marks in lines for peer, _ in marks}
    for peer, (colour, kind) in MARKS.items():
        if peer in used:
            parts += [shape(kind, x, 52, colour), text(x + 13, 56, peer)]
            x += 40 + 7 * len(peer)
    bottom = TOP + STEP * len(lines) - 6
    for tick in TICKS:
        if low <= tick <= high:
            parts += ['<path d="M%.1f %dV%d" class="%s" stroke="currentColor"/>' % (
                across(tick), TOP - 14, bottom, "faint" if tick == 1 else "line"),
                text(across(tick), bottom + 18, "%g" % tick, "faint", "middle")]
    parts.append(text(WIDTH - RIGHT, bottom + 35,
                      "÷ curl -o; logarithmic; further left is quicker", "faint", "end"))
    for i, (name, marks) in enumerate(lines):
        y = TOP + STEP * i + 4
        parts.append(text(LEFT - 22, y + 4, name, "text", "end"))
        # Ours is drawn last, above the others.
        for peer, value in sorted(marks, key=lambda mark: mark[0] == "vidfetch"):
            colour, kind = MARKS[peer]
            parts.append(shape(kind, across(value), y, colour))
            if peer == "vidfetch":
                parts.append(text(across(value), y - 11, "%.2f" % value, "ours", "middle"))
    return "\n".join(parts + ["</svg>"]) + "\n"
