"""An agent in any language: `partyline run --ndjson` as a child process, one JSON object a line both ways.

    TELEGRAM_BOT_TOKEN=... PARTYLINE_USER=... python3 examples/ndjson-bot.py

PARTYLINE is the command to start (default: the built program of this checkout). Python 3.8 or newer, nothing else.
"""

import json
import os
import shlex
import signal
import subprocess
import sys

checkout = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
command = shlex.split(os.environ.get("PARTYLINE", "node " + shlex.quote(os.path.join(checkout, "dist", "cli.js"))))
child = subprocess.Popen(
    [*command, "run", "--ndjson", "--ack", "explicit", "--name", "python"],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    encoding="utf-8",
)


def send(line):
    child.stdin.write(json.dumps(line) + "\n")
    child.stdin.flush()


def stop(*_):
    # The child leaves the line, and its stdout ends: so does the loop below.
    child.terminate()


signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGINT, stop)

# Our call ids are the ids of the updates they answer, so a result says which update is done.
for text in child.stdout:
    line = json.loads(text)
    kind = line["type"]
    if kind == "ready":
        print(f"ready: {line['thread']['name']}", flush=True)
    elif kind == "update":
        message = line["update"].get("message", {})
        if "text" in message:
            send({"type": "call", "id": line["id"], "method": "sendMessage", "payload": {"text": message["text"][::-1]}})
        else:
            send({"type": "ack", "id": line["id"]})
    elif kind == "result":
        # Acked when it was sent, and when it may have been sent. Otherwise it stays open, and the next process of this
        # name gets it again.
        if line["ok"] or line["outcome"] == "ambiguous":
            send({"type": "ack", "id": line["id"]})
        else:
            print(f"not answered: {line['error']['description']}", file=sys.stderr, flush=True)
    elif kind == "error":
        print(f"trouble ({line['kind']}): {line['message']}", file=sys.stderr, flush=True)

sys.exit(child.wait())
