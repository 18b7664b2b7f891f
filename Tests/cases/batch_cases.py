"""Cases of many items: one bad item in a list, and a shell loop whose child must not eat its input."""
import os
import subprocess


def lines(bench):
    url = bench.server.url
    return [url + "/plain.mp4", url + "/nothing.mp4", url + "/~body=login/x.mp4", "", "# comment",
            "not a url", url + "/rot90.mp4", url + "/plain.mp4"]


def d17(bench):
    plain = "\n".join(lines(bench))
    marked = "\ufeff" + "\r\n".join(lines(bench))
    for title, text, on_stdin in (("a list", plain, False), ("CRLF and a byte order mark", marked, False),
                                  ("standard input", plain, True)):
        bench.server.reset()
        folder = bench.folder()
        path = os.path.join(folder, "work", "list")
        with open(path, "w", newline="", encoding="utf-8") as file:
            file.write(text)
        out = os.path.join(folder, "work", "out")
        words = [bench.binary, "--json", "--progress", "none", "-d", out, "-i",
                 "-" if on_stdin else path]
        with open(path, "rb") as feed:
            run = bench.run("", out=None, folder=folder, words=words,
                            **({"stdin": feed} if on_stdin else {}))
        bench.check(title + ": class some-failed", run.status == 50, "%s %s" % (run.status, run.err))
        results = [one for one in run.results if one and one.get("event") == "result"]
        summary = [one for one in run.results if one and one.get("event") == "summary"]
        bench.check(title + ": one final event an item", len(results) == 6, run.out)
        codes = sorted(one["code"] for one in results if one["code"] != "ok")
        bench.check(title + ": three errors, each its own", codes == ["not-found", "not-media", "refused"]
                    and run.err.count("\n") >= 3, codes)
        bench.check(title + ": the summary counts", summary and summary[0]["ok"] == 2
                    and summary[0]["skipped"] == 1 and sum(summary[0]["failed"].values()) == 3
                    and summary[0]["exit"] == 50, summary)
        bench.check(title + ": both good files, nothing else",
                    sorted(os.listdir(out)) == ["plain.mp4", "rot90.mp4"], os.listdir(out))
        for name in ("plain.mp4", "rot90.mp4"):
            bench.equals(title + ": " + name, os.path.join(out, name), name)
        bench.check(title + ": the repeated URL is fetched once",
                    sum(entry["path"].endswith("plain.mp4") for entry in bench.server.gets()) == 1)
    folder = bench.folder()
    words = [bench.binary, "--json", "--progress", "none", "-d", "out",
             bench.server.url + "/plain.mp4", bench.server.url + "/rot90.mp4"]
    run = bench.run("", out=None, folder=folder, words=words)
    bench.check("all succeed: 0", run.status == 0, run.err)
    loop = ("printf '%%s\\n' %s | while read -r u; do '%s' -q -d out \"$u\"; done" % (
        " ".join("'%s/%s'" % (bench.server.url, name)
                 for name in ("plain.mp4", "rot90.mp4", "sar43.mp4")), bench.binary))
    folder = bench.folder()
    work = os.path.join(folder, "work")
    done = subprocess.run(["sh", "-c", loop], cwd=work, env=bench.environment(folder),
                          capture_output=True, timeout=60)
    bench.check("a shell loop keeps its input",
                sorted(os.listdir(os.path.join(work, "out"))) == ["plain.mp4", "rot90.mp4", "sar43.mp4"],
                done.stderr.decode(errors="replace"))
