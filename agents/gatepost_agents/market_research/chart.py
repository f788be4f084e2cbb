"""Fourth step: draws the analysis as one picture, the same bytes for the same figures.

Bars are the means of the groups with their 95 % intervals; below, the mean over time. Only numbers
of the analysis are drawn (see `chart_data`), no pyplot, no font but the one matplotlib brings. That
is imported with the first picture.
"""

from __future__ import annotations

import io
import threading
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .figures.names import title_of, with_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

INK, MUTED, LINE = "#12161c", "#535d6b", "#dde1e7"
ACCENT, FILL, PALE = "#1d5bbf", "#7ba4e2", "#d3e1f6"
STYLE: Any = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "text.color": INK,
    "text.parse_math": False,
    "axes.edgecolor": LINE,
    "axes.labelcolor": MUTED,
    "xtick.color": MUTED,
    "ytick.color": INK,
    "svg.hashsalt": "gatepost",
    "svg.fonttype": "path",
    "axes.unicode_minus": True,
}
# Inches, from the top and the left edge.
WIDTH, EDGE, HEAD, BAR, FOOT = 9.0, 0.35, 1.05, 0.27, 0.55
AXIS, TREND = 0.5, 1.35
MAX_BARS = 24
LABEL_LENGTH = 34
PNG_DPI = 160
# matplotlib's settings are global: two pictures at the same time would mix them.
_LOCK = threading.Lock()


def chart_data(analysis: Mapping[str, Any]) -> dict[str, Any]:
    """Exactly what the picture shows, as plain values.

    {"bars": [{"label", "mean", "low", "high", "rows", "few"}], "bars_left_out", "overall",
     "trend": [{"period", "mean", "rows"}]}.
    """
    rows = analysis["groups"][0]["rows"] if analysis["groups"] else []
    levels = analysis["groups"][0]["levels"] if analysis["groups"] else 0
    half = MAX_BARS // 2
    shown = rows if len(rows) <= MAX_BARS else [*rows[:half], *rows[-half:]]
    keys = ("label", "mean", "low", "high", "rows", "few")
    return {
        "bars": [{key: row[key] for key in keys} for row in shown],
        "bars_left_out": levels - len(shown),
        "overall": analysis["overall"]["mean"],
        "trend": list(analysis["trend"]["rows"]) if analysis["trend"] else [],
    }


def chart(analysis: Mapping[str, Any], *, source: str) -> dict[str, bytes]:
    """{"svg": ..., "png": ...} of the picture; `source` says where the data come from."""
    import matplotlib as mpl

    with _LOCK, mpl.rc_context(STYLE), warnings.catch_warnings():
        # A label in a script that the font lacks shows boxes; that is no reason to stop.
        warnings.filterwarnings("ignore", message=".*missing from font.*")
        picture = draw(analysis, chart_data(analysis), source)
        svg, png = io.BytesIO(), io.BytesIO()
        picture.savefig(svg, format="svg", metadata={"Date": None, "Title": title_of(analysis)})
        picture.savefig(png, format="png", dpi=PNG_DPI, metadata={"Software": None})
    return {"svg": svg.getvalue(), "png": png.getvalue()}


def alt_text(analysis: Mapping[str, Any]) -> str:
    """Describe the picture for those who do not see it."""
    bars, timed = chart_data(analysis)["bars"], analysis["trend"]
    parts = []
    if bars:
        parts.append(f"a bar for each group's mean, from {bars[0]['label']} to {bars[-1]['label']}")
    if timed:
        parts.append(f"a line of the mean by {timed['by']}")
    return f"{title_of(analysis)}: {' and '.join(parts) or 'the mean of all rows'}."


def draw(analysis: Mapping[str, Any], data: Mapping[str, Any], source: str) -> Picture:
    """The picture itself; `data` as `chart_data` gives it. Wants STYLE to be in force."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    bars, points = data["bars"], data["trend"]
    bars_height = BAR * max(len(bars), 1) + AXIS if bars or not points else 0.0
    trend_height = TREND + 0.72 if points else 0.0
    height = HEAD + bars_height + trend_height + FOOT
    picture = Figure(figsize=(WIDTH, height))
    FigureCanvasAgg(picture)
    _head(picture, analysis, height)
    if bars_height:
        bars = bars or [_all_rows(analysis)]
        low = height - HEAD - bars_height + AXIS
        left = EDGE + 0.12 + _label_width(picture, [_short(bar["label"]) for bar in bars])
        columns = _columns(picture, analysis, bars)
        size = (WIDTH - left - columns[1] - EDGE, BAR * len(bars))
        _bars(_axes(picture, left, low, size), analysis, bars, data["overall"], columns)
    if points:
        means = [point["mean"] for point in points]
        ticks = [_tick(float(f"{end:.3g}")) for end in (min(means), max(means))]
        left = EDGE + 0.12 + _label_width(picture, ticks)
        size = (WIDTH - left - EDGE, TREND)
        _trend(_axes(picture, left, FOOT + 0.3, size), analysis, points)
        _text(
            picture, EDGE, FOOT + 0.42 + TREND, f"Mean by {analysis['trend']['by']}", weight="bold"
        )
    note = f"Source: {source}"
    if data["bars_left_out"]:
        note += f" · {data['bars_left_out']} groups not shown"
    _text(picture, EDGE, 0.22, note, size=7.5, color=MUTED)
    return picture


def _head(picture: Picture, analysis: Mapping[str, Any], height: float) -> None:
    few = any(row["few"] for group in analysis["groups"][:1] for row in group["rows"])
    unit = analysis["measure"]["unit"]
    message = f"Mean in {unit}" if unit else "Mean"
    message += f" · {_rows(analysis['rows'])} · thin lines: 95 % confidence interval"
    if few:
        message += f" · pale: fewer than {analysis['few_rows']} rows"
    _text(picture, EDGE, height - 0.42, title_of(analysis), size=14, weight="bold")
    _text(picture, EDGE, height - 0.68, message, color=MUTED)


def _columns(picture: Picture, analysis: Mapping[str, Any], bars: list[Any]) -> tuple[float, float]:
    """The right edges of the two columns of figures, in inches from the right edge of the bars."""
    means = [_number(bar["mean"], analysis["places"]) for bar in bars]
    first = 0.2 + _label_width(picture, [*means, "Mean"])
    return first, first + 0.25 + _label_width(picture, [*(f"{b['rows']:,}" for b in bars), "Rows"])


def _bars(
    axes: Axes,
    analysis: Mapping[str, Any],
    bars: list[Any],
    overall: float,
    columns: tuple[float, float],
) -> None:
    """Horizontal bars from the highest mean down, figures in columns at the right."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    places = range(len(bars))
    colours = [PALE if bar["few"] else FILL for bar in bars]
    axes.barh(places, [bar["mean"] for bar in bars], height=0.62, color=colours, zorder=2)
    for place, bar in zip(places, bars, strict=True):
        if bar["low"] is not None:
            axes.plot([bar["low"], bar["high"]], [place, place], color=INK, lw=1.1, zorder=3)
    axes.set_yticks(places, [_short(bar["label"]) for bar in bars])
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.axvline(0, color=MUTED, lw=0.8, zorder=2.5)
    axes.axvline(overall, color=INK, lw=0.9, ls=(0, (4, 3)), zorder=2.2)
    for side in ("top", "right", "left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0)
    axes.grid(axis="x", color=LINE, lw=0.7, zorder=0)
    axes.set_axisbelow(True)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.xaxis.set_major_formatter(FuncFormatter(_tick))
    axes.set_xlabel(with_unit(analysis), fontsize=8, labelpad=5)
    axes.tick_params(axis="x", labelsize=8)
    shown = f"all rows {_number(overall, analysis['places'])}"
    axes.annotate(
        shown, (overall, 1), xycoords=("data", "axes fraction"), xytext=(0, 3),
        textcoords="offset points", ha="center", va="bottom", fontsize=7.5, color=INK,
    )  # fmt: skip
    means = [_number(bar["mean"], analysis["places"]) for bar in bars]
    rows = [f"{bar['rows']:,}" for bar in bars]
    for inches, head, texts, colour in (
        (columns[0], "Mean", means, INK),
        (columns[1], "Rows", rows, MUTED),
    ):
        _beside(axes, inches, -0.6, head, va="bottom", fontsize=7.5, color=MUTED)
        for place, text in zip(places, texts, strict=True):
            _beside(axes, inches, place, text, va="center_baseline", color=colour)


def _beside(axes: Axes, inches: float, y: float, text: str, **style: Any) -> None:
    axes.annotate(
        text, (1, y), xycoords=("axes fraction", "data"), xytext=(inches * 72, 0 if y >= 0 else 3),
        textcoords="offset points", ha="right", **style,
    )  # fmt: skip


def _trend(axes: Axes, analysis: Mapping[str, Any], points: list[Any]) -> None:
    """The mean over time as a line; the highest and the lowest point carry their figures."""
    from matplotlib.patheffects import withStroke
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    means = [point["mean"] for point in points]
    places = range(len(points))
    axes.plot(places, means, color=ACCENT, lw=1.8, marker="o", ms=3.2, zorder=3)
    span = (max(means) - min(means)) or abs(means[0]) or 1.0
    low, high = min(means) - 0.28 * span, max(means) + 0.28 * span
    axes.set_ylim(low, high)
    if low < 0 < high:
        axes.axhline(0, color=MUTED, lw=0.8, zorder=2)
    for value, offset, va in ((max(means), 6, "bottom"), (min(means), -6, "top")):
        axes.annotate(
            _number(value, analysis["places"]), (means.index(value), value), xytext=(0, offset),
            textcoords="offset points", ha="center", va=va, fontsize=8, color=INK,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
        )  # fmt: skip
    step = max(1, -(-len(points) // 12))
    axes.set_xticks(list(places)[::step], [point["period"] for point in points][::step])
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0, labelsize=8, labelcolor=MUTED)
    axes.grid(axis="y", color=LINE, lw=0.7, zorder=0)
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(FuncFormatter(_tick))


def _all_rows(analysis: Mapping[str, Any]) -> dict[str, Any]:
    about = analysis["overall"]
    saved = {key: about[key] for key in ("mean", "low", "high")}
    return {"label": "All rows", "rows": analysis["rows"], "few": False, **saved}


def _axes(picture: Picture, left: float, low: float, size: tuple[float, float]) -> Axes:
    height = picture.get_figheight()
    return picture.add_axes((left / WIDTH, low / height, size[0] / WIDTH, size[1] / height))


def _text(picture: Picture, left: float, low: float, text: str, **style: Any) -> None:
    picture.text(left / WIDTH, low / picture.get_figheight(), text, **style)


def _label_width(picture: Picture, labels: list[str]) -> float:
    """Inches that the widest label takes."""
    probe = picture.text(0, 0, "")
    widths = []
    for label in labels:
        probe.set_text(label)
        widths.append(probe.get_window_extent().width / picture.dpi)
    probe.remove()
    return max(widths)


def _short(label: str) -> str:
    plain = " ".join(label.split())
    return plain if len(plain) <= LABEL_LENGTH else plain[: LABEL_LENGTH - 1] + "…"


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _number(value: float, places: int) -> str:
    return f"{value:,.{places}f}".replace("-", "\N{MINUS SIGN}")


def _tick(value: float, _place: int | None = None) -> str:
    return f"{value:,.10g}".replace("-", "\N{MINUS SIGN}")
