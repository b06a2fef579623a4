"""Releases that are killed without a chance to clean up; run as a program, which imports all once and forks.

It reads jobs from its input, a line of JSON each: how to die, where, and the settings of the release. It
answers with what was heard of the steps, a line each, and last with the exit code of the process.
"""

import json
import os
import signal
import sys
from pathlib import Path

from flows.release import release
from tasks import publish
from tasks.events import listening
from tasks.program import program_digest
from tasks.read_config import parse_config


def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def die_before(module, name, call):
    """Die when a function of a module is called for the nth time."""
    function, calls = getattr(module, name), []

    def counted(*args, **kwargs):
        calls.append(name)
        if len(calls) == call:
            die()
        return function(*args, **kwargs)

    setattr(module, name, counted)


def after(step):
    """Die when a step is done and recorded: when the next one starts, or the run ends."""
    done = []

    def hear(event):
        if event.kind == "started" and done:
            die()
        if event.kind == "finished" and event.step == step:
            done.append(step)

    return hear


def within(step):
    """Die when a step has done its work, and nothing says so yet."""
    return lambda event: die() if event.kind == "finished" and event.step == step else None


def publishing(call):
    """Die before a call of the step that publishes, named and numbered: "rename", "flush:3"."""
    name, _, number = call.partition(":")

    def hear(event):
        if event.step == "publish the release" and event.kind == "started":
            die_before(publish if hasattr(publish, name) else Path, name, int(number or 1))

    return hear


WAYS = {"after": after, "within": within, "publishing": publishing}


def tell(*what):
    print(json.dumps(what), flush=True)  # noqa: T201 - the answer


def run(way, where, settings):
    def hear(event):
        if event.kind in {"kept", "finished", "remark"}:
            tell(event.kind, event.text or event.step)

    with listening(hear), listening(WAYS[way](where)):
        release.fn(parse_config(settings))


if __name__ == "__main__":
    program_digest()  # once for all
    for line in sys.stdin:
        child = os.fork()
        if not child:
            run(*json.loads(line))
            os._exit(0)
        tell("exit", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
