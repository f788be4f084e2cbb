"""The report as one HTML page that needs nothing but the chart beside it."""

from html import escape

from markdown_it import MarkdownIt

# Raw HTML in the Markdown stays text: labels come from files that anyone may have written.
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --ink: #12161c; --muted: #535d6b; --line: #dde1e7; --bg: #fff; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #e8ecf1; --muted: #9ba7b5; --line: #2a313b; --bg: #14181e; }}
}}
body {{ margin: 0 auto; max-width: 54rem; padding: 2.5rem 1.25rem 4rem; background: var(--bg);
  color: var(--ink); font: 400 1rem/1.55 ui-sans-serif, system-ui, sans-serif; }}
h1 {{ font-size: 1.75rem; line-height: 1.2; margin: 0 0 1rem; }}
h2 {{ font-size: 1.1rem; margin: 2.25rem 0 .5rem; }}
blockquote {{ margin: 0 0 1rem; padding-left: 1rem; border-left: 3px solid var(--line);
  color: var(--muted); }}
img {{ width: 100%; height: auto; border: 1px solid var(--line); border-radius: 7px;
  background: #fff; margin-top: 1rem; }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums;
  font-size: .9rem; display: block; overflow-x: auto; }}
th, td {{ padding: .35rem .75rem; border-bottom: 1px solid var(--line); text-align: left; }}
th {{ color: var(--muted); font-weight: 600; }}
code {{ font-size: .88em; overflow-wrap: anywhere; }}
li {{ margin: .3rem 0; }}
</style>
</head>
<body>
{body}</body>
</html>
"""


def page(title: str, markdown: str) -> str:
    """A whole page; `markdown` as `report` answers it."""
    return PAGE.format(title=escape(title), body=_MARKDOWN.render(markdown))
