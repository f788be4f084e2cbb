"""The report on one decision: all that the record has of it, on one page, with the proof."""
