#!/usr/bin/env python3
"""Draw one CSV of bench/run.sh as an SVG: a bar a subject, fastest first, with the 80 % interval of its seconds.

Usage: bench/chart.py FILE.csv FILE.svg [TITLE]

The numbers are bench/summary.awk's. Colours are chosen to be read on a light and on a dark page; there is no background.
Subjects that encrypt are drawn full, plain text and local ones paler, limits outlined.
"""
import os
import subprocess
import sys
from xml.sax.saxutils import escape

LIMITS = {"limit", "limit-phased", "limit-buffered", "limit-read", "limit-write", "iperf3"}
PLAIN = {"rsync-daemon", "tar-socat", "gridftp", "cp", "cp-r", "diff", "rm", "mv"}
LABELS = {
    "rsync-ssh": "rsync over ssh", "rsync-daemon": "rsync daemon, plain text", "tar-ssh": "tar over ssh",
    "tar-socat": "tar, socat, plain text", "rclone-sftp": "rclone sftp", "gridftp": "GridFTP, plain text",
    "cp-r": "cp -r, local", "cp": "cp -a, local", "rm": "rm -rf", "diff": "diff -r, local",
    "haul-pull": "haul, fetching", "haul-local": "haul, local", "haul-move": "haul move", "haul-remove": "haul remove",
    "limit": "limit: mixed", "limit-phased": "limit: phased", "limit-buffered": "limit: buffered",
    "limit-read": "source disk alone", "limit-write": "destination disk alone", "iperf3": "link alone",
}
WIDTH, LEFT, RIGHT, ROW, TOP, BOTTOM = 760, 190, 150, 26, 56, 44
GREY, HAUL, OTHER = "#6e7781", "#2f81f7", "#9a7d56"
STYLE = "<style>@media (prefers-color-scheme: dark) { text[fill=\"#6e7781\"] { fill: #9da7b3 } }</style>"


def summary_of(path):
    """Lines of the summary, the derived limit L left out: its parts are drawn."""
    awk = os.path.join(os.path.dirname(os.path.abspath(__file__)), "summary.awk")
    text = subprocess.run(["awk", "-v", "form=csv", "-f", awk, path], check=True, capture_output=True, text=True).stdout
    lines = [line.split(",") for line in text.splitlines()]
    rows = [dict(zip(lines[0], line)) for line in lines[1:]]
    return sorted((r for r in rows if r["subject"] not in ("L", "narrow")), key=lambda r: float(r["seconds"]))


def head_of(path):
    """The session's first comment lines: machine and day, place, tree and command."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return [line[2:].strip() for line in file if line.startswith("# ")][:3]


def step_of(most):
    """A round distance between the lines of the scale, for at most six of them."""
    power = 1e-6
    while True:
        for digit in (1, 2, 5):
            if most / (digit * power) <= 6:
                return digit * power
        power *= 10


def text(x, y, what, size=13, anchor="start", colour=GREY, weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
            f'font-weight="{weight}">{escape(what)}</text>')


def style_of(subject):
    """Fill, opacity and outline of a subject's bar."""
    if subject in LIMITS:
        return "none", 1, GREY
    if subject.startswith("haul"):
        return HAUL, 1, "none"
    return OTHER, 0.6 if subject in PLAIN else 1, "none"


def bar(row, y, scale):
    seconds, low, high = (float(row[k]) for k in ("seconds", "seconds_low", "seconds_high"))
    subject = row["subject"]
    fill, opacity, outline = style_of(subject)
    mine = subject.startswith("haul")
    rate = float(row["mb_per_s"])
    said = f"{seconds:.3g} s" + (f", {rate:.0f} MB/s" if rate >= 1 else "")
    middle = y + ROW / 2
    return [
        text(LEFT - 10, middle + 4.5, LABELS.get(subject, subject), anchor="end", colour=HAUL if mine else GREY,
             weight="bold" if mine else "normal"),
        f'<rect x="{LEFT}" y="{y + 4}" width="{max(seconds * scale, 1):.1f}" height="{ROW - 8}" rx="2" fill="{fill}" '
        f'fill-opacity="{opacity}" stroke="{outline}"/>',
        f'<path d="M{LEFT + low * scale:.1f} {middle}H{LEFT + high * scale:.1f}M{LEFT + low * scale:.1f} {middle - 4}v8'
        f'M{LEFT + high * scale:.1f} {middle - 4}v8" stroke="{GREY}" stroke-width="1.5" fill="none"/>',
        text(LEFT + max(high, seconds) * scale + 8, middle + 4.5, said, size=12),
    ]


def draw(rows, title, notes):
    most = max(max(float(r["seconds_high"]), float(r["seconds"])) for r in rows)
    scale = (WIDTH - LEFT - RIGHT) / most
    rounds = max(int(r["n"]) for r in rows)
    bottom = TOP + ROW * len(rows)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{bottom + BOTTOM + 14 * len(notes)}" '
        f'viewBox="0 0 {WIDTH} {bottom + BOTTOM + 14 * len(notes)}" '
        'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" role="img">',
        f"<title>{escape(title)}</title>",
        STYLE,
        text(10, 24, title, size=16, weight="bold"),
        text(10, 43, f"seconds, {'median and 80 % interval of ' if rounds > 1 else ''}{rounds} round"
             f"{'s' if rounds > 1 else ''}; less is better", size=12),
    ]
    step, at = step_of(most), 0.0
    while at <= most * 1.0001:
        x = LEFT + at * scale
        out.append(f'<path d="M{x:.1f} {TOP}V{bottom + 4}" stroke="{GREY}" stroke-opacity="0.3"/>')
        out.append(text(x, bottom + 18, f"{at:g}", size=11, anchor="middle"))
        at += step
    for index, row in enumerate(rows):
        out += bar(row, TOP + ROW * index, scale)
    for index, line in enumerate(notes):
        out.append(text(10, bottom + 40 + 14 * index, line[:130], size=10))
    return "\n".join(out + ["</svg>", ""])


def main(args):
    if len(args) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 1
    rows = summary_of(args[0])
    if not rows:
        print(f"chart: no measured line in {args[0]}", file=sys.stderr)
        return 1
    notes = head_of(args[0])
    title = args[2] if len(args) == 3 else title_of(args[0])
    with open(args[1], "w", encoding="utf-8") as file:
        file.write(draw(rows, title, notes))
    return 0


def title_of(path):
    """The workload's own first line, when this tree has it; else the file's name."""
    name = os.path.basename(path)[: -len(".csv")]
    what = name.split("-", 4)[-1]
    workload = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads", what + ".sh")
    if not os.path.exists(workload):
        return name
    with open(workload, encoding="utf-8") as file:
        return file.readline()[2:].strip().split(";")[0].rstrip(".")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
