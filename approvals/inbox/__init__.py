"""The inbox: boxes, rows and the load of reviewers."""
