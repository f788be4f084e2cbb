"""The right end of each task, what a run left behind, and what is wrong between them."""
