"""Writes what is committed: results as JSON; from them RESULTS.md, the document and its chart."""
import json
import os
import re

import chart
import report

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
HEAD = """# Results

`make bench NAME=…` writes this page from the files in [results](results);
[docs/performance.md](../docs/performance.md) says what is measured and how to read it. Ratios are
medians of ratios within a round and hold between rows of one table; seconds depend on the machine
and on its neighbours. `written` is what was dirtied ÷ the size of what is left, `to disk` the same
without what was deleted before it was written back.
"""


def save(path, results):
    """Keeps the raw results."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        json.dump(results, file, indent=1, ensure_ascii=False)
        file.write("\n")


def load_all(folder):
    """Every result that is kept, the newest first."""
    found = []
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if name.endswith(".json"):
            with open(os.path.join(folder, name)) as file:
                found.append(json.load(file))
    return sorted(found, key=lambda results: (results["date"], results["name"]), reverse=True)


def filled_in(document, text):
    """A document with the part between its marks replaced."""
    return re.sub(re.escape(BEGIN) + ".*?" + re.escape(END),
                  lambda _: "%s\n\n%s\n\n%s" % (BEGIN, text, END), document, flags=re.S)


def everything(root):
    """Writes RESULTS.md, and the newest results into the document and the chart."""
    folder = os.path.join(root, "Benchmarks")
    kept = load_all(os.path.join(folder, "results"))
    with open(os.path.join(folder, "RESULTS.md"), "w") as file:
        file.write("\n".join([HEAD] + [report.markdown(one) for one in kept]))
    if not kept:
        return
    with open(os.path.join(root, "docs", "images", "performance.svg"), "w") as file:
        file.write(chart.svg(kept[0]))
    path = os.path.join(root, "docs", "performance.md")
    with open(path) as file:
        document = file.read()
    with open(path, "w") as file:
        file.write(filled_in(document, "\n\n".join(report.overview(kept[0]))))
