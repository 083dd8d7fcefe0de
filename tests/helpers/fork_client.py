"""Behaves as `python ARGUMENTS`, by a process that fork_server.py forks.

python -IS fork_client.py SOCKET PYTHON ARGUMENTS
"""

import json
import os
import signal
import socket
import sys

FORWARDED = (signal.SIGINT, signal.SIGTERM)

path, python, *arguments = sys.argv[1:]
request = {
    "python": python,
    "arguments": arguments,
    "cwd": os.getcwd(),
    "environment": dict(os.environ),
}
# Nothing is lost that comes before there is a process to send it to.
signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
server = socket.socket(socket.AF_UNIX)
server.connect(path)
socket.send_fds(server, [b" "], [0, 1, 2])
server.sendall(json.dumps(request).encode() + b"\n")
answers = server.makefile()
process = int(answers.readline())
for each in FORWARDED:
    signal.signal(each, lambda number, _: os.kill(process, number))
signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
status = int(answers.readline())
if status < 0:
    if -status in FORWARDED:
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
sys.exit(status)
