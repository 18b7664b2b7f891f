"""Table tests of what the benchmark decides: order, medians, ratios, verdicts, tables and chart.

    python3 -m unittest discover -s Benchmarks -p '*_test.py'
"""
import math
import os
import struct
import tempfile
import unittest
import xml.etree.ElementTree as xml

import cases
import chart
import figures
import inputs
import measure
import outputs
import peers
import publish
import report


def a_row(name, walls, finishes=True, **more):
    """A row with one run a round; None leaves the round out."""
    runs = [{"round": i, "wall": wall, "cpu": wall / 2, "resident": 50 * 2**20, "written": 200,
             "cancelled": 0} for i, wall in enumerate(walls) if wall is not None]
    return {"peer": name, "finishes": finishes, "command": "", "runs": runs, "output": 100,
            "remark": "", "failed": "", **more}


def a_case(rows, targets=()):
    return {"group": "files", "title": "a film & more", "yardstick": "curl", "bytes": 100,
            "packets": 7, "duration": 1.0, "rounds": 3, "targets": list(targets), "rows": rows}


def results_of(*all_cases, scale=1):
    return {"name": "1.0", "note": "", "scale": scale, "date": "2026-01-02", "load": [0.5, 1.0],
            "machine": {"processor": "P", "cores": 2, "memory": 2**34, "kernel": "6.1",
                        "file_system": "ext4", "versions": {"vidfetch": "1.0", "aria2c": None}},
            "skipped": [], "cases": list(all_cases)}


class Order(unittest.TestCase):
    def test_each_peer_stands_at_each_place_once(self):
        for count in range(1, 12):
            names = list(range(count))
            places = [tuple(figures.order(names, i).index(name) for i in range(count))
                      for name in names]
            for taken in places:
                self.assertEqual(sorted(taken), names)

    def test_the_first_round_is_in_the_given_order(self):
        self.assertEqual(figures.order(["a", "b", "c"], 0), ["a", "b", "c"])

    def test_every_case_has_its_first_round_before_any_has_its_second(self):
        self.assertEqual(figures.schedule([2, 1, 3]),
                         [(0, 0), (1, 0), (2, 0), (0, 1), (2, 1), (2, 2)])
        self.assertEqual(figures.schedule([]), [])


class Ratios(unittest.TestCase):
    def test_a_ratio_is_taken_within_a_round(self):
        # A neighbour slows the second round tenfold for both: the ratio stays.
        ours, theirs = a_row("vidfetch", [1, 10, 1]), a_row("curl", [2, 20, 2])
        self.assertEqual(figures.ratio(ours["runs"], theirs["runs"], "wall"), 0.5)

    def test_a_round_that_one_of_the_two_lacks_does_not_count(self):
        ours, theirs = a_row("vidfetch", [1, 9, 1]), a_row("curl", [2, None, 4])
        self.assertEqual(figures.ratio(ours["runs"], theirs["runs"], "wall"), 0.375)

    def test_a_part_of_a_batch_stands_for_all_of_it(self):
        run = {"wall": 2.0, "cpu": 3, "resident": 7, "written": 10, "cancelled": None}
        self.assertEqual(figures.scaled(run, 20), {
            "wall": 40.0, "cpu": 60, "resident": 7, "written": 200, "cancelled": None})

    def test_nothing_in_common_is_no_ratio(self):
        ours, theirs = a_row("vidfetch", [1, None]), a_row("curl", [None, 4])
        self.assertIsNone(figures.ratio(ours["runs"], theirs["runs"], "wall"))
        self.assertIsNone(figures.median([], "wall"))


class Verdicts(unittest.TestCase):
    def test_a_target_is_met_up_to_its_limit_and_missed_by_whole_percents(self):
        target = cases.target("wall", 0.85, 0.70)
        for value, word in ((0.70, "stretch met"), (0.71, "met"), (0.85, "met"),
                            (0.851, "missed by 1 %"), (1.7, "missed by 100 %"),
                            (None, "not measured")):
            self.assertEqual(figures.verdict(value, target), word)

    def test_a_target_can_be_held_against_another_peer_than_the_yardstick(self):
        case = a_case([a_row("curl", [1]), a_row("ffmpeg URL", [4]), a_row("vidfetch", [2])])
        self.assertEqual(figures.target_value(case, cases.target("wall", 1)), 2)
        self.assertEqual(
            figures.target_value(case, cases.target("wall", 1, against="ffmpeg URL")), 0.5)
        self.assertEqual(figures.target_value(case, cases.target("written", 2)), 2)
        self.assertEqual(figures.target_value(case, cases.target("resident", 64)), 50)

    def test_a_failed_run_reaches_no_target(self):
        case = a_case([a_row("curl", [1]), a_row("vidfetch", [0.1], failed="exit status 31")])
        self.assertIsNone(figures.target_value(case, cases.target("wall", 1)))

    def test_only_a_finished_index_first_file_wins(self):
        case = a_case([a_row("curl", [1], finishes=False), a_row("vidfetch", [2]),
                       a_row("ffmpeg URL", [1.5]), a_row("yt-dlp", [1.1], remark="index last"),
                       a_row("aria2c, then ffmpeg", [1.2], failed="exit status 1"),
                       a_row("vidfetch, 1", [1.0])])
        self.assertEqual(figures.winners(case), [("ffmpeg URL", 0.75, "")])
        self.assertEqual(figures.fastest_other(case), ("ffmpeg URL", 1.5))

    def test_a_difference_within_the_noise_is_no_win(self):
        case = a_case([a_row("curl", [1]), a_row("vidfetch", [1]), a_row("ffmpeg URL", [0.995])])
        self.assertEqual(figures.winners(case), [])


class Tables(unittest.TestCase):
    def test_every_row_has_the_columns_of_the_head(self):
        case = a_case([a_row("curl", [1, 2]), a_row("yt-dlp", [], failed="exit status 1: a | b"),
                       a_row("vidfetch", [1, 2])], [cases.target("wall", 0.85)])
        lines = report.case_text(case).splitlines()
        table = [line for line in lines if line.startswith("|")]
        self.assertEqual(len(table), 5)
        for line in table:
            self.assertEqual(line.replace("\\|", "").count("|"), table[0].count("|"), line)

    def test_a_table_says_how_many_rounds_it_rests_on(self):
        case = a_case([a_row("curl", [1, 2]), a_row("vidfetch", [1, 2])])
        self.assertIn("median of 2 rounds of the 3 planned", report.case_text(case))

    def test_targets_stand_beside_figures_and_peers_that_win_are_named(self):
        case = a_case([a_row("curl", [1]), a_row("ffmpeg URL", [1]), a_row("vidfetch", [2])],
                      [cases.target("wall", 0.85, 0.7)])
        text = report.markdown(results_of(case))
        self.assertIn("≤ 0.85 (stretch 0.70): missed by 136 %", text)
        self.assertIn("ffmpeg URL takes 0.50 of vidfetch's time", text)

    def test_a_trial_with_smaller_inputs_judges_no_target(self):
        case = a_case([a_row("curl", [1]), a_row("vidfetch", [2])], [cases.target("wall", 0.85)])
        text = report.markdown(results_of(case, scale=0.1))
        self.assertNotIn("missed", text)
        self.assertIn("targets are not judged", text)

    def test_numbers_keep_what_tells_them_apart(self):
        for value, text in ((None, "–"), (0.0667, "0.067"), (1.5, "1.50"), (0, "0.00"),
                            (1, "1.00"), (1.0117, "1.012")):
            self.assertEqual(report.times(value), text)
        self.assertEqual(report.number(1.0117), "1.01")

    def test_a_document_keeps_all_but_its_figures(self):
        before = "a\n%s\nold\n%s\nb" % (publish.BEGIN, publish.END)
        after = publish.filled_in(before, "new \\1")
        self.assertEqual(after, "a\n%s\n\nnew \\1\n\n%s\nb" % (publish.BEGIN, publish.END))


class Chart(unittest.TestCase):
    SVG = "{http://www.w3.org/2000/svg}"

    def test_it_is_well_formed_with_a_mark_for_each_figure(self):
        case = a_case([a_row("curl", [1], finishes=False), a_row("ffmpeg URL", [4]),
                       a_row("yt-dlp", [3], remark="index last"), a_row("vidfetch", [0.5])])
        root = xml.fromstring(chart.svg(results_of(case)))
        words = [one.text for one in root.iter(self.SVG + "text")]
        self.assertIn("a film & more", words)
        self.assertIn("0.50", words)
        self.assertNotIn("yt-dlp", words)

    def test_every_mark_lies_within_the_axis(self):
        walls = (0.001, 0.3, 1, 40, 900)
        case = a_case([a_row("curl", [1], finishes=False)] +
                      [a_row(name, [wall]) for name, wall in zip(chart.MARKS, walls)])
        root = xml.fromstring(chart.svg(results_of(case)))
        for one in root.iter(self.SVG + "circle"):
            self.assertTrue(chart.LEFT <= float(one.get("cx")) <= chart.WIDTH - chart.RIGHT)

    def test_a_run_without_figures_still_gives_a_chart(self):
        xml.fromstring(chart.svg(results_of()))


class Commands(unittest.TestCase):
    def test_every_word_of_every_command_is_known(self):
        known = "url local many list count options vidfetch".split()
        values = dict.fromkeys([*known, *peers.certificates(None)], "X")
        for peer in peers.FILE + peers.LIMITS + peers.BATCH:
            self.assertNotIn("{url}", peers.command(peer, values))

    def test_a_variant_is_vidfetch_with_options_quoted(self):
        one = peers.variant(peers.FILE[-1], "one connection=-x 1 -A 'a b'")
        self.assertEqual(one.name, "vidfetch, one connection")
        self.assertIn("-x 1 -A 'a b'", one.template)
        with self.assertRaises(ValueError):
            peers.variant(peers.FILE[-1], "no options")

    def test_the_yardstick_and_vidfetch_always_run(self):
        names = [peer.name for peer in peers.chosen(peers.FILE, ["aria2c"], [])]
        self.assertEqual(names, ["curl", "aria2c, then ffmpeg", "aria2c -k1M, then ffmpeg",
                                 "vidfetch"])

    def test_every_case_names_known_inputs_and_peers(self):
        for case in cases.CASES:
            self.assertIn(case.source, inputs.RECIPES)
            known = peers.BATCH if case.is_batch else peers.FILE
            self.assertLessEqual(set(case.peers), {peer.name for peer in known})
            self.assertEqual({"curl", "vidfetch"} & set(case.peers), {"curl", "vidfetch"})

    def test_titles_differ(self):
        titles = [case.title for case in cases.CASES]
        self.assertEqual(len(titles), len(set(titles)))


class Inputs(unittest.TestCase):
    def test_a_seed_holds_whole_audio_frames(self):
        for seconds, *_ in inputs.SEEDS.values():
            self.assertEqual(math.fmod(seconds * 48000, 1024), 0)

    def test_loops_come_as_near_as_they_can(self):
        for wanted, seed, count in ((100, 10, 10), (104, 10, 10), (106, 10, 11), (1, 10, 1)):
            self.assertEqual(inputs.loops(wanted, seed), count)

    def test_room_is_asked_for_the_run_even_where_all_inputs_exist(self):
        names = ["first.mp4", "small.mp4"]
        self.assertGreater(inputs.space_needed([], names, 1), 2 * inputs.GIB)
        self.assertGreater(inputs.space_needed(names, names, 1),
                           inputs.space_needed([], names, 1) + inputs.GIB)


class Outputs(unittest.TestCase):
    def boxes(self, *names):
        with tempfile.NamedTemporaryFile() as file:
            for name in names:
                file.write(struct.pack(">I4s4x", 12, name))
            file.flush()
            return outputs.index_first(file.name)

    def test_the_index_is_first_only_before_the_media(self):
        self.assertTrue(self.boxes(b"ftyp", b"moov", b"free", b"mdat"))
        self.assertFalse(self.boxes(b"ftyp", b"mdat", b"moov"))
        self.assertFalse(self.boxes(b"ftyp", b"mdat"))

    def test_a_packet_or_a_second_that_lacks_is_wrong(self):
        source = {"streams": [["video", 10], ["audio", 20]], "duration": 5.0}
        self.assertEqual(outputs.wrong(source, {**source, "duration": 5.1}), "")
        self.assertIn("packets", outputs.wrong(source, {**source, "streams": [["video", 10]]}))
        self.assertIn("lasts", outputs.wrong(source, {**source, "duration": 4.0}))


class Measure(unittest.TestCase):
    def run_one(self, command, limit=60):
        with tempfile.TemporaryDirectory() as folder:
            here = os.path.join(folder, "here")
            os.mkdir(here)
            return measure.run(command, here, limit=limit)

    def test_a_command_that_fails_is_no_figure(self):
        with self.assertRaisesRegex(measure.Failed, "exit status 3: no luck"):
            self.run_one("echo no luck >&2; exit 3")

    def test_a_command_that_does_not_end_is_ended(self):
        with self.assertRaisesRegex(measure.Failed, "took more than 1 s"):
            self.run_one("sleep 600 & sleep 600", limit=1)

    def test_what_children_use_counts(self):
        run = self.run_one("sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; true")
        self.assertGreater(run["cpu"], 0.02)


if __name__ == "__main__":
    unittest.main()
