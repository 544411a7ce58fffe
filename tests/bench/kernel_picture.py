"""The picture of bench/kernels.py as SVG: each level's speed relative to torch, as bars.

SVG is text: it needs no library, browsers and code hosts show it, and two runs can be compared line by line.
"""

from math import floor, log2
from xml.sax.saxutils import escape

COLOURS = ("#9aa5b1", "#4c78a8", "#72b7b2", "#f58518", "#e45756", "#b279a2", "#54a24b", "#eeca3b")
LEFT, WIDTH, BAR, GAP, TOP = 330, 560, 11, 10, 64
STYLE = (
    "text{fill:#222}.ground{fill:#fff}line{stroke:#ccc}.one{stroke:#000}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.ground{fill:#14171b}line{stroke:#444}.one{stroke:#fff}}"
)


def picture(results, machine):
    """Return the SVG of the rows with one thread that have a ratio to torch; a logarithmic scale, 1 is torch."""
    rows = [row for row in results if row["threads"] == 1 and row["to_torch"]]
    cases = {}
    for row in rows:
        cases.setdefault(f"{row['kernel']} {row['size']}", []).append(row)
    levels = list(dict.fromkeys(row["level"] for row in rows))
    ratios = [row["to_torch"] for row in rows] or [1.0]
    low, high = floor(log2(min([*ratios, 0.9]))), floor(log2(max([*ratios, 1.1]))) + 1

    def x(ratio):
        return LEFT + WIDTH * (log2(ratio) - low) / (high - low)

    parts = []

    def text(left, top, words, anchor="start", size=12):
        parts.append(
            f'<text x="{left:.1f}" y="{top:.1f}" font-size="{size}" text-anchor="{anchor}">{escape(words)}</text>'
        )

    text(10, 20, "How many times as fast as torch, one thread", size=15)
    text(10, 38, f"{machine['cpu']}, torch {machine['torch']}")
    for i, level in enumerate(levels):
        left = 10 + i * 115
        parts.append(f'<rect x="{left}" y="44" width="10" height="10" fill="{COLOURS[i % len(COLOURS)]}"/>')
        text(left + 14, 53, level)
    top = TOP
    for name, bars in cases.items():
        height = BAR * len(bars)
        text(LEFT - 8, top + height / 2 + 4, name, "end")
        for i, row in enumerate(bars):
            left, right = sorted((x(1), x(row["to_torch"])))
            colour = COLOURS[levels.index(row["level"]) % len(COLOURS)]
            box = f'x="{left:.1f}" y="{top + i * BAR}" width="{right - left:.1f}" height="{BAR - 1}"'
            parts.append(f'<rect {box} fill="{colour}"/>')
            text(right + 3, top + i * BAR + 9, f"{row['to_torch']:.2f}", size=9)
        top += height + GAP
    for power in range(low, high + 1):
        place = x(2.0**power)
        kind = ' class="one"' if power == 0 else ""
        parts.append(f'<line{kind} x1="{place:.1f}" y1="{TOP - 4}" x2="{place:.1f}" y2="{top}" stroke-width="0.7"/>')
        text(place, top + 14, f"{2.0**power:g}", "middle", 11)
    width, height = LEFT + WIDTH + 50, top + 26
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="sans-serif"'
    ground = '<rect class="ground" width="100%" height="100%"/>'
    style = f"<style>{STYLE}</style>"
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size}>', style, ground, *parts, "</svg>", ""])
