#!/usr/bin/env python3
"""Draw what --trace wrote, and say how long stages stood idle although they could have gone on.

    bench/trace_picture.py FILE... [-o PICTURE.svg] [--job SESSION]

FILE is the trace of one end or of both (docs/LIMITS.md "The trace"). Time runs across; a row for each side, lane and
stage. Text on stdout: for each row how much of the time it was at work, its throughput, and the longest time it stood
idle while the stage before had a block ready and there was room behind. "at work" is the share of the time with at least
one block at work, "deep" how many there were on average over the whole time (2.60: mostly two or three at once).
"""
import argparse
import html
import json
import sys
from collections import defaultdict

ORDER = ["read", "pool-read", "digest", "send", "receive", "check", "write", "pool-write", "sync", "commit"]
COLOURS = {"read": "#3b82c4", "pool-read": "#3b82c4", "digest": "#8e6bbf", "send": "#d1793a", "receive": "#d1793a",
           "check": "#8e6bbf", "write": "#3f9e5b", "pool-write": "#3f9e5b", "sync": "#b24a4a", "commit": "#b9a13a"}
BEFORE = {"digest": "read", "send": "read", "write": "receive"}


def load(paths):
    """Spans with absolute times, and the header of each end by session and side."""
    spans, heads = [], {}
    for path in paths:
        try:
            load_one(path, spans, heads)
        except OSError as error:
            sys.exit(f"{path}: {error.strerror}")
    return spans, heads


def parse(path, number, line):
    try:
        item = json.loads(line)
    except ValueError:
        sys.exit(f"{path}:{number}: not JSON (a trace that broke off?)")
    if not isinstance(item, dict) or "job" not in item:
        sys.exit(f"{path}:{number}: no line of a trace")
    return item


def load_one(path, spans, heads):
    t0, sessions = {}, {}
    with open(path, encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            item = parse(path, number, line)
            job = item["job"]
            try:
                if "session" in item:
                    t0[job], sessions[job] = item["t0_ns"], item["session"]
                    heads[item["session"], item["side"]] = item
                elif "dropped" in item:
                    print(f"{path}: {item['dropped']} spans of job {job} found no room", file=sys.stderr)
                elif job in t0:
                    item["session"] = sessions[job]
                    item["start"] += t0[job]
                    item["end"] += t0[job]
                    spans.append(item)
            except (KeyError, TypeError):
                sys.exit(f"{path}:{number}: no line of a trace")


def pick(spans, wanted):
    """The spans of one job: the one asked for, else the one that moved most."""
    bytes_of = defaultdict(int)
    for s in spans:
        bytes_of[s["session"]] += s["bytes"]
    if wanted:
        return [s for s in spans if s["session"].startswith(wanted)]
    best = max(bytes_of, key=bytes_of.get)
    return [s for s in spans if s["session"] == best]


def union(intervals):
    """Length of the union, and the merged intervals."""
    merged = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return sum(e - s for s, e in merged), merged


def by_block(spans):
    return {(s["lane"], s["entry"], s["leaf"]): s for s in spans}


def overlay(*tracks):
    """Cut time at every change of any track; yields (from, to, [levels])."""
    steps = sorted((time, i, step) for i, t in enumerate(tracks) for time, step in t)
    levels, last = [0] * len(tracks), None
    for time, i, step in steps:
        if last is not None and time > last:
            yield last, time, list(levels)
        levels[i] += step
        last = time


def longest(pieces, is_idle):
    """The longest run of neighbouring pieces that are idle: (length, from)."""
    best, start, end = (0, 0), None, None
    for a, b, levels in pieces:
        if not is_idle(levels):
            start = None
            continue
        if start is None or a != end:
            start = a
        end = b
        best = max(best, (end - start, start))
    return best


def waiting(done, begun):
    """+1 when the stage before has finished a block, -1 when this one begins with it."""
    track = []
    for key, span in done.items():
        if key in begun:
            track += [(span["end"], 1), (max(begun[key]["start"], span["end"]), -1)]
    return track


def busy(spans):
    return [x for s in spans for x in ((s["start"], 1), (s["end"], -1))]


def held(first, last):
    """Blocks that the lane holds, from the begin of `first` to the end of `last`."""
    track = []
    for key, span in first.items():
        if key in last:
            track += [(span["start"], 1), (last[key]["end"], -1)]
    return track


def idle_though_fed(rows, heads, session):
    """For each row that has a stage before it: the longest idle time with something ready and room behind."""
    found = {}
    for (side, lane, stage), spans in rows.items():
        here = {st: by_block(rows.get((side, lane, st), [])) for st in ORDER}
        room = heads.get((session, side), {}).get("blocks_per_lane", 8)
        if stage in ("send", "write"):
            ready = waiting(here[BEFORE[stage]], by_block(spans))
            found[side, lane, stage] = longest(overlay(ready, busy(spans)), lambda x: x[0] > 0 and x[1] == 0)
        elif stage == "receive":
            there = by_block(rows.get(("source", lane, "send"), []))
            ready = waiting(there, by_block(spans))
            full = held(by_block(spans), here["write"])
            found[side, lane, stage] = longest(overlay(ready, busy(spans), full),
                                               lambda x: x[0] > 0 and x[1] == 0 and x[2] < room)
        elif stage == "read" and side == "source":
            begin, end = min(s["start"] for s in spans), max(s["start"] for s in spans)
            full = held(by_block(spans), here["send"])
            work = [(begin, 1), (end, -1)]  # until the last read began there was more to read
            found[side, lane, stage] = longest(overlay(work, busy(spans), full),
                                               lambda x: x[0] > 0 and x[1] == 0 and x[2] < room)
    return found


def row_key(row):
    side, lane, stage = row
    return (side != "source", lane if lane >= 0 else 99, ORDER.index(stage))


def row_name(row):
    side, lane, stage = row
    return f"{side} {'commit thread' if lane < 0 else 'lane %d' % lane} {stage}"


def summary(rows, gaps, begin, end):
    whole = end - begin
    print(f"{'row':36} {'at work':>8} {'deep':>8} {'GB/s':>7}   longest idle though fed")
    for row in sorted(rows, key=row_key):
        spans = rows[row]
        length, _ = union([(s["start"], s["end"]) for s in spans])
        worked, total = sum(s["busy"] for s in spans), sum(s["bytes"] for s in spans)
        gap = "" if row not in gaps else f"{gaps[row][0] / 1e6:.2f} ms at {(gaps[row][1] - begin) / 1e9:.3f} s" \
            if gaps[row][0] else "none"
        print(f"{row_name(row):36} {100 * length / whole:7.1f}% {worked / whole:8.2f} "
              f"{total / whole:7.3f}   {gap}")
    print(f"{whole / 1e9:.3f} s from the first span to the last")


def rect(s, y, height, scale, begin):
    x, width = (s["start"] - begin) * scale, max((s["end"] - s["start"]) * scale, 0.25)
    return f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{height}" fill="{COLOURS[s["stage"]]}"/>'


def lanes_of_rects(spans):
    """Spans that overlap go below one another, in at most eight lines."""
    ends = []
    for s in sorted(spans, key=lambda x: x["start"]):
        line = next((i for i, e in enumerate(ends) if e <= s["start"]), None)
        if line is None:
            line = len(ends)
            ends.append(0)
        ends[line] = s["end"]
        yield s, line


def picture(rows, begin, end, path):
    left, width, line, gap = 250, 1350, 5, 8
    scale, y, out = width / (end - begin), 40, []
    for row in sorted(rows, key=row_key):
        placed = list(lanes_of_rects(rows[row]))
        height = line * (1 + max(min(n, 7) for _, n in placed))
        out.append(f'<text x="-8" y="{y + height / 2 + 4}" text-anchor="end">{html.escape(row_name(row))}</text>')
        out.append(f'<rect x="0" y="{y - 1}" width="{width}" height="{height + 2}" class="ground"/>')
        out += [rect(s, y + line * min(n, 7), line - 1, scale, begin) for s, n in placed]
        y += height + gap
    ticks = [f'<line x1="{width * i / 10}" x2="{width * i / 10}" y1="30" y2="{y}" class="tick"/>'
             f'<text x="{width * i / 10}" y="22" text-anchor="middle">{(end - begin) * i / 1e10:.3f} s</text>'
             for i in range(11)]
    with open(path, "w", encoding="utf-8") as f:
        f.write(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{-left} 0 {left + width + 40} {y + 10}" '
                f'font-family="sans-serif" font-size="12"><style>text{{fill:#777}}.ground{{fill:#8881}}'
                f'.tick{{stroke:#8885;stroke-width:.5}}</style>{"".join(ticks)}{"".join(out)}</svg>\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("-o", "--output", metavar="PICTURE.svg")
    parser.add_argument("--job", metavar="SESSION", help="of several in the files; else the one that moved most")
    options = parser.parse_args()
    spans, heads = load(options.files)
    if not spans:
        sys.exit("no spans in the trace")
    spans = pick(spans, options.job)
    if not spans:
        sys.exit("no such job in the trace")
    rows = defaultdict(list)
    for s in spans:
        rows[s["side"], s["lane"], s["stage"]].append(s)
    begin, end = min(s["start"] for s in spans), max(s["end"] for s in spans)
    summary(rows, idle_though_fed(rows, heads, spans[0]["session"]), begin, end)
    if options.output:
        picture(rows, begin, end, options.output)


if __name__ == "__main__":
    main()
