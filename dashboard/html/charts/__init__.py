"""Charts as geometry for SVG: bars and lines over time, and parts of a whole side by side; pure."""
