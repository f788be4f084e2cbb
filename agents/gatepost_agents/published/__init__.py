"""Reports that several agents publish: the folder, the page, Markdown, and the tool with its gate.

`folder`, `page` and `markdown` know nothing of the engine.
"""
