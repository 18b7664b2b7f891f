"""Medians, ratios within a round, and the order of rounds. Pure."""
import math
import statistics

MIB = 2**20


def order(names, round_number):
    """The names as they run in a round: a rotation that puts each at every place in turn.

    The step is about half of their number, so that two rounds already differ much.
    """
    count = len(names)
    step = count // 2 + 1
    while math.gcd(step, count) != 1:
        step += 1
    shift = round_number * step % count if count else 0
    return names[shift:] + names[:shift]


def schedule(rounds):
    """(case, round) in the order in which they run, from the rounds that each case is to have.

    Every case has its first round before any has its second: a budget cuts all alike.
    """
    return [(case, number) for number in range(max(rounds, default=0))
            for case, count in enumerate(rounds) if number < count]


def scaled(run, factor):
    """A run's figures as if it had done so many times as much; memory is what it was."""
    return {name: value if name == "resident" or value is None else value * factor
            for name, value in run.items()}


def median(runs, figure):
    """The median of a figure over runs, or None where none has it."""
    values = [run[figure] for run in runs if run.get(figure) is not None]
    return statistics.median(values) if values else None


def ratio(runs, others, figure):
    """The median of this figure ÷ the same figure of others, each taken within one round."""
    theirs = {run["round"]: run[figure] for run in others if run.get(figure)}
    values = [run[figure] / theirs[run["round"]] for run in runs
              if run.get(figure) is not None and run["round"] in theirs]
    return statistics.median(values) if values else None


def spread(runs, figure):
    """The smallest and the largest of a figure, or None."""
    values = [run[figure] for run in runs if run.get(figure) is not None]
    return (min(values), max(values)) if values else None


def row(case, name):
    """The row of a peer in a case, or None where it is absent, failed or never ran."""
    for one in case["rows"]:
        if one["peer"] == name and one["runs"] and not one["failed"]:
            return one
    return None


def target_value(case, target):
    """What vidfetch reached for a target, in its unit, or None where it wasn't measured."""
    ours = row(case, "vidfetch")
    if not ours:
        return None
    if target["figure"] == "resident":
        value = median(ours["runs"], "resident")
        return None if value is None else value / MIB
    if target["figure"] == "written":
        value = median(ours["runs"], "written")
        return None if value is None or not ours["output"] else value / ours["output"]
    against = row(case, target["against"])
    return ratio(ours["runs"], against["runs"], target["figure"]) if against else None


def verdict(value, target):
    """A word for a value held against its target."""
    if value is None:
        return "not measured"
    if target.get("stretch") is not None and value <= target["stretch"]:
        return "stretch met"
    if value <= target["limit"]:
        return "met"
    return "missed by %.0f %%" % math.ceil(100 * (value / target["limit"] - 1))


def finishers(case):
    """The rows of other tools that end as vidfetch does, with a complete, index-first file."""
    return [one for one in case["rows"] if one["finishes"] and one["runs"] and not one["failed"]
            and "index last" not in one["remark"] and not one["peer"].startswith("vidfetch")]


def winners(case, margin=0.01):
    """Peers with a finished file that took less time than vidfetch.

    Each as (name, time ÷ vidfetch's, remark), the quickest first.
    """
    ours = row(case, "vidfetch")
    found = []
    for one in finishers(case) if ours else []:
        value = ratio(one["runs"], ours["runs"], "wall")
        if value is not None and value < 1 - margin:
            found.append((one["peer"], value, one["remark"]))
    return sorted(found, key=lambda entry: entry[1])


def fastest_other(case):
    """The quickest of the others with a finished file: (name, time ÷ the yardstick's), or None."""
    yardstick = row(case, case["yardstick"])
    found = [(ratio(one["runs"], yardstick["runs"], "wall"), one["peer"])
             for one in finishers(case)] if yardstick else []
    found = [pair for pair in found if pair[0] is not None]
    return min(found)[::-1] if found else None
