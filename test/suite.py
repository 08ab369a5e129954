"""Shared parts of the runners of foreign test suites (test/onnx, test/torch): processes that run cases, and reasons of
failures."""

import collections
import multiprocessing
import multiprocessing.connection
import re
import resource
import sys
import time


def reason_of(error):
    """Summarises a failure in a line without names, numbers and types, so that similar failures have the same line."""
    text = str(error).strip()
    found = re.search(r"error\[(R\d+)\]: (.*)", text)
    line = found.group(2) if found else (text.splitlines() or [type(error).__name__])[0]
    line = re.sub(r"^(\w+) (?:'[^']*'|that computes '[^']*'): ", r"\1: ", line)
    line = re.sub(r"'[^']*'", "'..'", line)
    line = re.sub(r"Tensor\[[^\]]*\]", "Tensor[..]", line)
    line = re.sub(r"\(opset \d+\) ", "", line)
    line = re.sub(r"\b\d+\b", "N", line)
    return f"{found.group(1)}: {line}" if found else line[:160]


def cell(text):
    """Text that may stand in a cell of a table."""
    return text.replace("|", "\\|")


def reason_rows(reasons):
    """Lines of a table: how many cases each reason has, the most frequent first."""
    counts = collections.Counter(reasons)
    return [f"| {count} | {cell(why)} |" for why, count in sorted(counts.items(), key=lambda one: (-one[1], one[0]))]


def progress(pairs, total):
    """The same pairs, counted on standard error."""
    for done, pair in enumerate(pairs, 1):
        yield pair
        if sys.stderr.isatty() or done % 500 == 0:
            print(f"\r{done} of {total}", end="\n" if done % 500 == 0 else "", file=sys.stderr, flush=True)


def _worker(connection, run, memory):
    """Runs what it is told to until it is told None."""
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    while (job := connection.recv()) is not None:
        connection.send(run(job))


class Workers:
    """Processes that run jobs; one that takes too long or dies is replaced, and its job's result is lost(why)."""

    def __init__(self, run, lost, processes, seconds, mebibytes):
        self.run_job, self.lost, self.processes = run, lost, processes
        self.seconds, self.memory = seconds, mebibytes << 20
        self.context = multiprocessing.get_context("fork")
        self.busy = {}  # connection: (process, job, since)

    def start(self):
        here, there = self.context.Pipe()
        process = self.context.Process(target=_worker, args=(there, self.run_job, self.memory), daemon=True)
        process.start()
        there.close()
        return here, process

    def run(self, jobs):
        """Yields (job, result) in the order in which they end."""
        waiting = collections.deque(jobs)
        idle = [self.start() for _ in range(min(self.processes, len(waiting)))]
        while waiting or self.busy:
            while idle and waiting:
                connection, process = idle.pop()
                job = waiting.popleft()
                connection.send(job)
                self.busy[connection] = (process, job, time.monotonic())
            for connection in multiprocessing.connection.wait(list(self.busy), timeout=1):
                process, job, _ = self.busy.pop(connection)
                try:
                    yield job, connection.recv()
                    idle.append((connection, process))
                except EOFError:
                    process.join()
                    yield job, self.lost(f"crash: exit status {process.exitcode}")
                    idle.append(self.start())
            for connection, (process, job, since) in list(self.busy.items()):
                if time.monotonic() - since > self.seconds:
                    process.kill()
                    del self.busy[connection]
                    yield job, self.lost("takes too long")
                    idle.append(self.start())
        for connection, _ in idle:
            connection.send(None)
