"""Results as Markdown: a table for each case, and one that holds targets and figures side by side.

Pure: takes what run.py measured, gives text.
"""
import figures

MIB = figures.MIB
FIGURES = {"wall": "time", "cpu": "CPU", "resident": "memory", "written": "written"}


def number(value, digits=2):
    """A value with fixed digits, one more where it is small; – for none."""
    if value is None:
        return "–"
    return "%.*f" % (digits + (1 if digits and 0 < abs(value) < 0.1 else 0), value)


def times(value):
    """A ratio of two tools; near 1 it has a digit more, as targets there are close to it."""
    is_close = value is not None and 0 < abs(value - 1) < 0.05
    return number(value, 3 if is_close else 2)


def table(head, rows):
    """A Markdown table; all columns but the first stand to the right."""
    lines = ["| " + " | ".join(head) + " |",
             "|---|" + "---:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def machine(results):
    """The machine, its load and the versions, in one paragraph."""
    one = results["machine"]
    versions = ["%s %s" % pair for pair in one["versions"].items() if pair[1]]
    return "%s, %d cores, %.0f GiB, Linux %s, %s; load %s; %s; %s." % (
        one["processor"], one["cores"], one["memory"] / 2**30, one["kernel"], one["file_system"],
        " to ".join("%.1f" % load for load in results["load"]), ", ".join(versions),
        results["date"])


def limits(target, unit=""):
    """A target's limit, as tables show it."""
    text = "≤ %s%s" % (number(target["limit"], 0 if unit else 2), unit)
    if target.get("stretch") is not None:
        text += " (stretch %s)" % number(target["stretch"])
    return text


def case_row(case, one):
    """A peer's row in the table of a case."""
    name = "**%s**" % one["peer"] if one["peer"].startswith("vidfetch") else one["peer"]
    if one["failed"]:
        return [name, "failed"] + [""] * 7 + [one["failed"].replace("|", "\\|")[:100]]
    runs, yardstick = one["runs"], figures.row(case, case["yardstick"])
    base = yardstick["runs"] if yardstick else []
    low, high = figures.spread(runs, "wall")
    dirtied, dropped = figures.median(runs, "written"), figures.median(runs, "cancelled")
    size = one["output"] or None
    reached = dirtied - dropped if dirtied is not None and dropped is not None else None
    return [name, number(figures.median(runs, "wall"), 2), "%s–%s" % (number(low), number(high)),
            times(figures.ratio(runs, base, "wall")), number(figures.median(runs, "cpu"), 2),
            times(figures.ratio(runs, base, "cpu")),
            number(figures.median(runs, "resident") / MIB, 0),
            number(dirtied / size) if size and dirtied is not None else "–",
            number(reached / size) if size and reached is not None else "–", one["remark"]]


def case_text(case, judged=True):
    """A case: its title, its table, what its targets say, and which peers were quicker."""
    head = ["", "wall s", "from–to", "÷ " + case["yardstick"], "CPU s", "÷ " + case["yardstick"],
            "RSS MiB", "written", "to disk", ""]
    ran = [one for one in case["rows"] if one["runs"] or one["failed"]]
    rounds = max((len(one["runs"]) for one in ran), default=0)
    planned = " of the %d planned" % case["rounds"] if rounds < case["rounds"] else ""
    parts = ["#### %s" % case["title"],
             "%.1f MB, %d packets, median of %d round%s%s" % (
                 case["bytes"] / 1e6, case["packets"], rounds, "" if rounds == 1 else "s", planned),
             table(head, [case_row(case, one) for one in ran])]
    lines = []
    for target in case["targets"] if judged else []:
        value = figures.target_value(case, target)
        lines.append("- %s: %s, target %s: %s" % (
            name_of(target), amount(value, target), limits(target, unit_of(target)),
            figures.verdict(value, target)))
    for peer, value, remark in figures.winners(case):
        lines.append("- **%s is quicker**: %s of vidfetch's time%s" % (
            peer, number(value), remark and "; the file is %s" % remark))
    return "\n\n".join(parts + (["\n".join(lines)] if lines else []))


def unit_of(target):
    return " MiB" if target["figure"] == "resident" else ""


def name_of(target):
    """A target's figure in words."""
    if target["figure"] == "resident":
        return "memory"
    if target["figure"] == "written":
        return "written ÷ result"
    return "%s ÷ %s" % (FIGURES[target["figure"]], target["against"])


def amount(value, target):
    if target["figure"] == "resident":
        return number(value, 0) + (unit_of(target) if value is not None else "")
    return times(value)


def summary(results):
    """A line a case: vidfetch's time and processor, the targets, and the quickest other."""
    rows = []
    for case in results["cases"]:
        cells = [case["title"]]
        for figure in ("wall", "cpu"):
            target = next((one for one in case["targets"] if one["figure"] == figure), None)
            against = target["against"] if target else case["yardstick"]
            shown = target or {"figure": figure, "against": against}
            value = figures.target_value(case, shown)
            note = "" if against == case["yardstick"] else " of " + against
            cells.append(times(value) + note)
            judged = target and results["scale"] == 1
            cells.append("%s: %s" % (limits(target), figures.verdict(value, target))
                         if judged else "")
        best = figures.fastest_other(case)
        cells.append("%s %s" % (times(best[1]), best[0]) if best else "–")
        rows.append(cells)
    return table(["case", "time ÷ curl", "target", "CPU ÷ curl", "target", "quickest other"], rows)


def lost(results):
    """The cases in which a peer is quicker, as a list; a sentence where there are none."""
    lines = ["- %s: %s takes %s of vidfetch's time%s" % (
                 case["title"], peer, number(value), remark and "; the file is %s" % remark)
             for case in results["cases"] for peer, value, remark in figures.winners(case)]
    return "\n".join(lines) or "In these cases no other tool had a finished file sooner."


def overview(results):
    """What comes before the single cases: the conditions, the summary, and where others win."""
    parts = [machine(results)]
    if results["note"]:
        parts.append("*%s*" % results["note"])
    if results["scale"] != 1:
        parts.append("Large inputs were made smaller (× %g); targets are not judged."
                     % results["scale"])
    return parts + [summary(results), "### Where another tool is quicker", lost(results)]


def markdown(results):
    """All of one run."""
    parts = ["## %s" % results["name"]] + overview(results)
    group = None
    for case in results["cases"]:
        if case["group"] != group:
            group = case["group"]
            parts.append("### %s" % group)
        parts.append(case_text(case, results["scale"] == 1))
    if results["skipped"]:
        parts += ["### Left out", "\n".join("- " + line for line in results["skipped"])]
    return "\n\n".join(parts) + "\n"
