"""Forks rank processes from one interpreter that has imported torch, so that a test world costs no imports.

Orders come as JSON lines on stdin: `{"env": …, "argv": …, "script": …, "out": …, "err": …, "real_exit": …}` starts a
process and prints its pid; `{"wait": pid}` prints its exit code.
"""

import json
import os
import runpy
import sys
import warnings

import torch
import torch.distributed

from clusterwright_tools.main import main


def become_rank(order: dict) -> None:
    for descriptor, name in ((0, "/dev/null"), (1, order["out"]), (2, order["err"])):
        os.dup2(os.open(name, os.O_RDWR if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
    os.environ.update(order["env"])
    warnings.simplefilter("error")
    torch.set_num_threads(1)
    if order["script"]:
        runpy.run_path(order["script"], run_name="__main__")
    else:
        main(order["argv"])


for line in sys.stdin:
    order = json.loads(line)
    if "wait" in order:
        print(os.waitstatus_to_exitcode(os.waitpid(order["wait"], 0)[1]), flush=True)
        continue
    pid = os.fork()
    if pid == 0:
        try:
            become_rank(order)
            code = 0
        except SystemExit as end:
            code = end.code
        if order["real_exit"]:
            sys.exit(code)
        # Taking torch apart at the end of an interpreter costs a second.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    print(pid, flush=True)
