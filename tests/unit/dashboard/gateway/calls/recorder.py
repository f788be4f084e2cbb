"""An MCP server over stdio that notes each message that reaches it, and answers `{}` to requests.

`python recorder.py FOLDER`: one JSON message a line in FOLDER/seen.txt. A tool call is answered
with the JSON of FOLDER/result.txt, if there is one, after a line that is no message.
"""

import json
import sys
from pathlib import Path

SEEN = Path(sys.argv[1]) / "seen.txt"
RESULT = Path(sys.argv[1]) / "result.txt"
TOOL = {"name": "say", "description": "Say.", "inputSchema": {"type": "object"}}

for line in sys.stdin:
    message = json.loads(line)
    with SEEN.open("a") as file:
        file.write(json.dumps(message) + "\n")
    if message.get("id") is not None and "method" in message:
        result = {"tools": [TOOL]} if message["method"] == "tools/list" else {}
        spelled = json.dumps(result)
        if message["method"] == "tools/call" and RESULT.exists():
            spelled = RESULT.read_text()
            sys.stdout.write("no message\n")
        ident = json.dumps(message["id"])
        sys.stdout.write(f'{{"jsonrpc":"2.0","id":{ident},"result":{spelled}}}\n')
        sys.stdout.flush()
