"""`python -m tests.house.deploy.chart`: render the chart anew; needs Helm 3 or 4 on the path."""

import sys

from tests.house.deploy.chart import RENDERED, mark, template

done = template()
if done.returncode:
    sys.exit(done.stderr)
RENDERED.write_text(f"# {mark()}\n{done.stdout}")
