"""An MCP server over stdio that notes each message that reaches it, and answers `{}` to requests.

`python recorder.py FOLDER`: one JSON message a line in FOLDER/seen.txt.
"""

import json
import sys
from pathlib import Path

SEEN = Path(sys.argv[1]) / "seen.txt"
TOOL = {"name": "say", "description": "Say.", "inputSchema": {"type": "object"}}

for line in sys.stdin:
    message = json.loads(line)
    with SEEN.open("a") as file:
        file.write(json.dumps(message) + "\n")
    if message.get("id") is not None and "method" in message:
        result = {"tools": [TOOL]} if message["method"] == "tools/list" else {}
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
