#!/usr/bin/env python3
"""Draws docs/images/terminal.svg from a real run of vidfetch in a real terminal.

    scripts/draw-terminal.py BINARY > docs/images/terminal.svg

The sample clip is served by Tests/Fixtures/faultserver.py at a set rate; tmux is the terminal.
Two moments are captured with their colours: under way, and finished. Standard library and tmux.
"""
import os
import re
import subprocess
import sys
import tempfile
import time
from xml.sax.saxutils import escape

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
COLUMNS, ROWS = 100, 8
WIDTH, HEIGHT, LEFT, TOP = 8.43, 20, 16, 44          # of a cell, and of the frame, in pixels
COLOURS = {30: "#21262d", 31: "#ff7b72", 32: "#7ee787", 33: "#e3b341", 34: "#79c0ff",
           35: "#d2a8ff", 36: "#76e3ea", 37: "#c9d1d9", 90: "#8b949e", 91: "#ffa198",
           92: "#aff5b4", 93: "#f2cc60", 94: "#a5d6ff", 95: "#e2c5ff", 96: "#b3f0ff"}
PLAIN = "#c9d1d9"


def capture(binary):
    """The screen under way and at the end, each a list of lines with escape sequences."""
    with tempfile.TemporaryDirectory() as work:
        socket, port_file = os.path.join(work, "tmux"), os.path.join(work, "port")
        server = subprocess.Popen(
            [sys.executable, os.path.join(ROOT, "Tests/Fixtures/faultserver.py"), "--root",
             os.path.join(ROOT, "Tests/Fixtures/media"), "--port-file", port_file],
            stdout=subprocess.DEVNULL)

        def tmux(*words):
            return subprocess.run(["tmux", "-u", "-S", socket, "-f", "/dev/null", *words],
                                  capture_output=True, text=True).stdout

        def screen():
            return [line for line in tmux("capture-pane", "-p", "-e").split("\n") if line.strip()]

        try:
            while not os.path.exists(port_file):
                time.sleep(0.01)
            with open(port_file) as file:
                url = file.read().split("url=")[1].strip() + "/~rate=220000/demo.mp4"
            script = os.path.join(work, "run")
            with open(script, "w") as file:
                file.write("%s -d %s/films '%s'\nprintf '[ended]\\n'\nexec sleep 60\n" %
                           (binary, work, url))
            tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), "-e", "TERM=screen-256color",
                 "env", "-u", "CI", "sh", script)
            under_way, finished = [], []
            while not finished:
                lines = screen()
                text = " ".join(lines)
                found = re.search(r"(\d+)\s?%", re.sub(r"\x1b\[[0-9;]*m", "", text))
                if found and int(found[1]) >= 60 and not under_way:
                    under_way = lines
                if "[ended]" in text:
                    finished = [line for line in lines if "[ended]" not in line]
                time.sleep(0.05)
            host = url.split("/")[2]
            public = [[line.replace(work + "/films", "films").replace(host, "films.example")
                       .replace("/~rate=220000", "") for line in lines]
                      for lines in (under_way, finished)]
            return public
        finally:
            tmux("kill-server")
            server.terminate()
            server.wait()


def spans(line, y):
    """SVG text elements of one line: one for each run of a colour, placed by cell."""
    out, colour, bold, column = [], PLAIN, False, 0
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        code = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if code:
            for number in (int(n or 0) for n in code[1].split(";")):
                if number == 0:
                    colour, bold = PLAIN, False
                elif number == 1:
                    bold = True
                elif number == 2:
                    colour = COLOURS[90]
                elif number == 39:
                    colour = PLAIN
                elif number in COLOURS:
                    colour = COLOURS[number]
        elif part:
            if part.strip():
                out.append('<text x="%.1f" y="%d" fill="%s"%s textLength="%.1f" '
                           'xml:space="preserve">%s</text>' %
                           (LEFT + column * WIDTH, y, colour, ' font-weight="600"' * bold,
                            len(part) * WIDTH, escape(part)))
            column += len(part)
    return out


def main():
    binary = os.path.abspath(sys.argv[1])
    under_way, finished = capture(binary)
    prompt = "\x1b[32m$\x1b[0m vidfetch -d films http://films.example/demo.mp4"
    lines = [prompt] + under_way + ["", "\x1b[90ma moment later:\x1b[0m"] + finished
    width, height = int(2 * LEFT + COLUMNS * WIDTH), TOP + HEIGHT * len(lines)
    body = [text for number, line in enumerate(lines)
            for text in spans(line, TOP + HEIGHT * number)]
    print('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" '
          'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, \'DejaVu Sans Mono\', '
          'monospace" font-size="14">' % (width, height, width, height))
    print('<title>vidfetch fetching a clip in a terminal</title>')
    print('<rect width="%d" height="%d" rx="8" fill="#0d1117"/>' % (width, height))
    for number, fill in enumerate(("#ff5f56", "#ffbd2e", "#27c93f")):
        print('<circle cx="%d" cy="17" r="5" fill="%s"/>' % (LEFT + 6 + 18 * number, fill))
    print("\n".join(body))
    print("</svg>")


if __name__ == "__main__":
    sys.exit(main())
