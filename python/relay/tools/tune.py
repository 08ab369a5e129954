"""relay tune: measures the candidates of a model's groups, and keeps the fastest for `relay compile`.

    python -m relay.tools.tune MODEL --budget 5m -- OPTIONS OF relay compile

A trial is a build of the whole model with another candidate in each of its groups. Builds of a batch run on all cores;
then each is profiled alone, in a process of its own, in turn with the default build: on this machine, or on others of
one type (tuning_machines.py). Kernels are therefore measured where they run, with the caches as their neighbours leave
them. If a trial crashes, takes too long or changes the
results, it is halved until the group is found. A candidate is kept if it was faster in two measurements. In the end the
whole model is compared with the default, and records that do not help are dropped.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

from relay.arguments import ArgumentParser
from relay.errors import InputError
from relay.tools import tuning_machines, tuning_records
from relay.tools.tuning_machines import File, Here, LostMachine, Machines
from relay.tools.tuning_records import Measurement, Record, Store
from relay.tools.tuning_search import Candidate, Correction, Group

# A change of the results larger than this, relative to the largest value, is taken for a fault.
MOST_DIFFERENCE = 1e-3
# Seconds of a burst of profile_in_turn (src/relay/measure/profile_in_turn.cpp), and rounds of a measurement.
BURST, ROUNDS = 0.02, 9
# Other programs disturb a measurement if the default's usual round takes this many times as long as its fastest.
DISTURBED = 1.2
# Groups whose kernels take less than this share of a run are not tuned: their times are mostly noise.
LEAST_SHARE = 0.002


class Failure(Exception):
    """An error for the user."""


def seconds_of(text: str) -> float:
    """The seconds of "90s", "5m", "1h"."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)", text)
    if not match or float(match[1]) <= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time: write 90s, 5m or 1h")
    return float(match[1]) * {"s": 1, "m": 60, "h": 3600}[match[2]]


def minutes(seconds: float) -> str:
    whole = max(0, round(seconds))
    return f"{whole // 60}:{whole % 60:02}"


def median_and_high(values: list[float]) -> tuple[float, float]:
    """The median, and the upper end of its 95 % interval by order statistics; infinite with fewer than six values."""
    ordered = sorted(values)
    count = len(ordered)
    below, total, ways = 0, 0.0, 1.0  # binomial coefficients of `count` coins
    while total + ways <= 0.025 * 2**count:
        total, ways, below = total + ways, ways * (count - below) / (below + 1), below + 1
    return ordered[count // 2], ordered[count - below] if below else float("inf")


def ratio_and_high(own: list[float], other: list[float]) -> tuple[float, float] | None:
    """The ratio of two builds' times over the same rounds, with the upper end of its interval. If other programs
    disturbed the default, the ratio of the fastest rounds, with no end; None without times."""
    pairs = [(a, b) for a, b in zip(own, other, strict=False) if a > 0 and b > 0]
    if not pairs:
        return None
    usual = sorted(b for _, b in pairs)
    if usual[len(usual) // 2] > DISTURBED * usual[0]:
        return min(a for a, _ in pairs) / usual[0], float("inf")
    return median_and_high([a / b for a, b in pairs])


class Build:
    """A compiled artifact and its groups."""

    def __init__(self, artifact: pathlib.Path, described: dict):
        self.artifact, self.described = artifact, described
        self.share: dict[str, dict[str, float]] = {}  # by kernel: the share of each key in its calls
        for group in described["groups"]:
            for kernel in group["kernels"]:
                keys = self.share.setdefault(kernel, {})
                keys[group["key"]] = keys.get(group["key"], 0) + 1
        for keys in self.share.values():
            calls = sum(keys.values())
            for key in keys:
                keys[key] /= calls
        self.tuned = {g["key"] for g in described["groups"] if g["tuned"]}

    def by_key(self, kernels: dict[str, list[float]]) -> dict[str, list[float]]:
        """The times of each round by key."""
        out: dict[str, list[float]] = {}
        for kernel, times in kernels.items():
            for key, share in self.share.get(kernel, {}).items():
                sums = out.setdefault(key, [0.0] * len(times))
                for i, us in enumerate(times):
                    sums[i] += share * us
        return out


def input_word(given: str) -> str | File:
    """NAME=WHAT or FILE, as a file if it names one."""
    name, equals, what = given.rpartition("=")
    return File(pathlib.Path(what).resolve(), name + equals) if os.path.isfile(what) else given


class Compiler:
    """Builds in child processes of this machine, and profiles on `machines`."""

    def __init__(self, relay, model: str, words: list[str], threads: int, folder, machines: Machines, inputs=()):
        self.relay, self.model, self.words, self.folder, self.machines = relay, model, words, folder, machines
        self.threads = ["--threads", str(threads)] if threads else []
        self.inputs = [word for one in inputs for word in ("--input", input_word(one))]

    def build(self, number: str, decisions: dict[str, str], machine: str = "", compiler: str = "") -> Build:
        """The model with these decisions, by key; those that cannot be built are left out."""
        artifact, described = self.folder / f"{number}.rart", self.folder / f"{number}.json"
        which = ["--no-tuned"]
        if decisions:
            trial = self.folder / f"{number}.db"
            trial.unlink(missing_ok=True)
            store = Store(trial)
            for key, decided in decisions.items():
                store.keep(Record(key, machine, compiler, decided, 1, 1, 1, "", tuning_records.today()))
            store.close()
            which = ["--records", str(trial)]
        command = [*self.relay, "compile", self.model, "-o", artifact, "--candidates", described]
        result = subprocess.run([*command, *which, *self.threads, *self.words], capture_output=True, text=True)
        if result.returncode != 0:
            raise Failure(result.stderr.strip() or f"relay compile ended with status {result.returncode}")
        return Build(artifact, json.loads(described.read_text()))

    def profile(self, build: Build, default: Build, seconds: float, limit: float) -> dict | str:
        """The times of both in turn; or the reason why there are none."""
        words = ["profile", File(build.artifact), "--against", File(default.artifact), "--json", "--time"]
        done = self.machines.run([*words, f"{seconds:g}", *self.threads, *self.inputs], limit)
        if done.status is None:
            return f"it ran for more than {limit:.0f} s"
        if done.status < 0:
            return signal.Signals(-done.status).name
        if done.status != 0:
            return done.said[:200] or f"status {done.status}"
        out = json.loads(done.out)
        if out["largest_difference"] > MOST_DIFFERENCE:
            return f"its results differ by {out['largest_difference']:.1e}"
        return out


class Tuner:
    """The state of a run of `relay tune`."""

    def __init__(self, arguments, store: Store, compiler: Compiler):
        self.store, self.compile = store, compiler
        self.begin = time.monotonic()
        self.end = self.begin + arguments.budget
        self.default = compiler.build("default", {})
        described = self.default.described
        self.machine, self.version, self.threads = described["machine"], described["compiler"], described["threads"]
        self.groups: dict[str, Group] = {}
        for group in described["groups"]:
            first = group["candidates"][0]["ns"]
            candidates = [
                Candidate(c["decisions"], c["what"], c["ns"] / first if first > 0 else 1.0)
                for c in group["candidates"][1:]
            ]
            if candidates:
                self.groups.setdefault(group["key"], Group(group["key"], group["name"], candidates))
        self.correction = Correction()
        self.trials = 0
        self.queue: list[dict[str, Candidate]] = []  # parts of trials that failed
        self.seconds, self.limit = 1.0, 60.0
        self.faults = 0

    # --- measurements --------------------------------------------------------------------------------------------
    def measure_default(self) -> None:
        """The times of the default's groups, the time of a run, and the groups that are worth tuning."""
        first = self.compile.profile(self.default, self.default, 0.2, 600)
        if isinstance(first, str):
            raise Failure(f"the model cannot be measured: {first}")
        run = sorted(first["model"]["us"])[len(first["model"]["us"]) // 2]
        self.run_us = run
        self.seconds = 2 * ROUNDS * max(BURST, 2e-6 * run)
        self.limit = 30 + 20 * self.seconds
        times = self.default.by_key(first["model"]["kernels"])
        for key in list(self.groups):
            us = sorted(times.get(key, [0.0]))
            self.groups[key].default_us = us[len(us) // 2]
            if self.groups[key].default_us < LEAST_SHARE * run:
                del self.groups[key]

    def resume(self) -> int:
        """Takes in earlier measurements. Returns the number of those of this model's groups."""
        known = 0
        for m in self.store.measurements(self.machine, self.version, self.threads):
            if m.ratio is not None:
                self.correction.add(m.family, m.decisions, m.estimate, m.ratio)
            if group := self.groups.get(m.key):
                group.candidates.setdefault(m.decisions, Candidate(m.decisions, m.family, m.estimate))
                group.add(m.decisions, m.ratio, m.high, m.fault)
                known += 1
        self.correction.fit()
        return known

    def next_trial(self, tried: dict[str, set[str]]) -> dict[str, Candidate]:
        """A candidate for each group that has one left."""
        if self.queue:
            return self.queue.pop(0)
        trial = {}
        for key, group in self.groups.items():
            if candidate := group.next(self.correction, tried.setdefault(key, set())):
                trial[key] = candidate
                tried[key].add(candidate.decisions)
        return trial

    def build(self, number: int, trial: dict[str, Candidate]) -> Build | str:
        decisions = {key: candidate.decisions for key, candidate in trial.items()}
        try:
            return self.compile.build(f"trial{number}", decisions, self.machine, self.version)
        except Failure as error:
            return str(error)

    def measurement(self, key: str, candidate: Candidate, ratio=None, high=None, fault="") -> Measurement:
        self.groups[key].add(candidate.decisions, ratio, high, fault)
        if ratio is not None:
            self.correction.add(candidate.family, candidate.decisions, candidate.estimate, ratio)
        return Measurement(
            key, self.machine, self.version, self.threads, *candidate, ratio, high, fault, tuning_records.today()
        )

    def profile(self, trial: dict[str, Candidate], build: Build | str) -> dict | str:
        """The times of a trial's build and of the default, or why there are none. `build`: or why there is none."""
        if isinstance(build, str) or not any(key in build.tuned for key in trial):
            return build if isinstance(build, str) else {}
        return self.compile.profile(build, self.default, self.seconds, self.limit)

    def measure(self, trial: dict[str, Candidate]) -> None:
        """Builds and profiles a trial by itself, and stores what it says."""
        build = self.build(0, trial)
        self.take(trial, build, self.profile(trial, build))

    def take(self, trial: dict[str, Candidate], build: Build | str, times: dict | str) -> None:
        """Stores what the times of a trial say about each of its candidates."""
        rest, done = dict(trial), []
        if isinstance(build, Build):
            rest = {key: c for key, c in trial.items() if key in build.tuned}
            refused = {key: c for key, c in trial.items() if key not in build.tuned}
            done = [self.measurement(key, c, fault="it cannot be built") for key, c in refused.items()]
        if isinstance(times, str) and len(rest) == 1:
            self.faults += 1
            done += [self.measurement(key, c, fault=times) for key, c in rest.items()]
        elif isinstance(times, str):
            keys = list(rest)
            half = len(keys) // 2
            self.queue += [{key: rest[key] for key in part} for part in (keys[:half], keys[half:])]
        elif rest:
            own, other = build.by_key(times["model"]["kernels"]), self.default.by_key(times["against"]["kernels"])
            for key, c in rest.items():
                if found := ratio_and_high(own.get(key, []), other.get(key, [])):
                    done.append(self.measurement(key, c, *found))
                else:
                    done.append(self.measurement(key, c, fault="it was not called"))
        self.store.add(done)
        self.correction.fit()
        self.trials += 1
        for key in rest:
            self.keep(key)

    # --- results -------------------------------------------------------------------------------------------------
    def keep(self, key: str) -> None:
        """Stores the best candidate of a group, or drops its record."""
        group = self.groups[key]
        best = group.best()
        if best is None:
            return
        times = group.default_us, group.default_us * group.ratio(best)
        self.store.keep(
            Record(key, self.machine, self.version, best, *times, self.threads, group.name, tuning_records.today())
        )

    def best(self) -> dict[str, str]:
        return {key: best for key, group in self.groups.items() if (best := group.best())}

    def line(self) -> str:
        kept = self.best()
        saved = sum(g.default_us * (1 - g.ratio(kept[key])) for key, g in self.groups.items() if key in kept)
        measured = sum(len(g.ratios) + len(g.faults) for g in self.groups.values())
        candidates = sum(len(g.candidates) for g in self.groups.values())
        return (
            f"{len(kept)} of {len(self.groups)} groups faster, {saved:.0f} of {self.run_us:.0f} us saved; "
            f"{measured} of {candidates} candidates, {self.trials} trials; {minutes(self.end - time.monotonic())} left"
        )

    def confirm(self) -> tuple[float, float, float] | None:
        """Compares the whole model with the default. As long as it is slower, drops the half of the records that lose
        most. Returns the ratio of the default's time to it, with its interval; None if no record is left."""
        while kept := self.best():
            build = self.compile.build("tuned", kept, self.machine, self.version)
            times = self.compile.profile(build, self.default, 2 * self.seconds, self.limit)
            if isinstance(times, str):
                for key in list(kept)[: (len(kept) + 1) // 2]:
                    self.forget(key, f"the whole model: {times}")
                continue
            ratios = [b / a for a, b in zip(times["model"]["us"], times["against"]["us"], strict=True)]
            middle, high = median_and_high(ratios)
            _, low = median_and_high([-r for r in ratios])
            if middle >= 1:
                return middle, -low, high
            own, other = build.by_key(times["model"]["kernels"]), self.default.by_key(times["against"]["kernels"])
            lost = {key: sum(own.get(key, [0])) - sum(other.get(key, [0])) for key in kept}
            for key in sorted(kept, key=lambda key: -lost[key])[: (len(kept) + 1) // 2]:
                self.forget(key, "the whole model was slower with it")
        return None

    def forget(self, key: str, reason: str) -> None:
        best = self.groups[key].best()
        self.store.add([self.measurement(key, self.groups[key].candidates[best], fault=reason)])
        self.store.drop(key, self.machine, self.version)
        self.keep(key)


def say(text: str) -> None:
    clear = "\r\x1b[K" if sys.stderr.isatty() else ""
    print(f"{clear}relay: {text}", file=sys.stderr, flush=True)


def show_progress(text: str) -> None:
    """Replaces the last line on a terminal; a line every 30 s elsewhere."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
    elif time.monotonic() - show_progress.last > 30:
        show_progress.last = time.monotonic()
        print(f"relay: {text}", file=sys.stderr, flush=True)


show_progress.last = 0.0


def search(tuner: Tuner) -> None:
    """Trials in batches, until the time or the candidates end."""
    cores = len(os.sched_getaffinity(0))
    machines = tuner.compile.machines
    # Confirming takes a build and a measurement, maybe twice.
    reserve = min(0.2 * (tuner.end - tuner.begin), 10 + 6 * tuner.seconds)

    def profile(trial, build):
        return tuner.profile(trial, build) if time.monotonic() < tuner.end - reserve else None

    with (
        concurrent.futures.ThreadPoolExecutor(cores) as building,
        concurrent.futures.ThreadPoolExecutor(len(machines)) as profiling,
    ):
        while time.monotonic() < tuner.end - reserve:
            tried: dict[str, set[str]] = {}
            batch = [trial for trial in (tuner.next_trial(tried) for _ in range(max(cores, len(machines)))) if trial]
            if not batch:
                return
            builds = list(building.map(tuner.build, range(len(batch)), batch))
            # Each machine profiles one at a time.
            for trial, build, times in zip(batch, builds, profiling.map(profile, batch, builds), strict=True):
                if times is None:
                    return
                tuner.take(trial, build, times)
                show_progress(tuner.line())


def machines_of(arguments, words: list[str]) -> Machines:
    """The machines that measure, and the number of their threads in `arguments`."""
    if not arguments.on:
        return Machines([Here(arguments.relay)], say)
    machines = tuning_machines.of_addresses(arguments.on, arguments.there, arguments.ssh_config)
    at = words.index("--target") if "--target" in words else len(words)
    told = [tuning_machines.described(machine, words[at : at + 2]) for machine in machines]
    here = tuning_machines.described(Here(arguments.relay), words[at : at + 2])
    for machine, its in zip(machines, told, strict=True):
        if its["compiler"] != here["compiler"]:
            raise Failure(f"{machine.name} has Relay {its['compiler']}, and this machine {here['compiler']}")
        if its["machine"] != here["machine"]:
            raise Failure(
                f"{machine.name} is another type of machine than this one:\n  there: {its['machine']}\n"
                f"  here:  {here['machine']}\n  help: name its processor with --target, or tune there"
            )
    if not arguments.threads:
        arguments.threads = min(its["threads"] for its in told)
    names = ", ".join(machine.name for machine in machines)
    say(f"builds are measured on {names}, with {arguments.threads} threads")
    return Machines(machines, say)


def tune(arguments, words: list[str]) -> None:
    store = Store(arguments.records)
    machines = machines_of(arguments, words)
    with contextlib.closing(machines), tempfile.TemporaryDirectory(prefix="relay-tune-") as folder:
        compiler = Compiler(
            arguments.relay, arguments.model, words, arguments.threads, pathlib.Path(folder), machines, arguments.input
        )
        tuner = Tuner(arguments, store, compiler)
        tuner.measure_default()
        known = tuner.resume()
        say(
            f"{len(tuner.groups)} different groups have {sum(len(g.candidates) for g in tuner.groups.values())} "
            "candidates; "
            f"a run takes {tuner.run_us:.0f} us; {known} measurements are known from earlier runs"
        )
        stopped = False
        try:
            search(tuner)
        except KeyboardInterrupt:
            stopped = True
            say("stopped; the records so far are compared with the default once (Ctrl-C again leaves this out)")
        gain = tuner.confirm()
    store.close()
    say(tuner.line())
    if tuner.faults:
        say(f"{tuner.faults} candidates crashed, took too long or changed the results; they are not used")
    report(arguments, tuner, gain, stopped)


def report(arguments, tuner: Tuner, gain, stopped: bool) -> None:
    kept = tuner.best()
    if arguments.json:
        groups = [
            {
                "name": g.name,
                "key": key,
                "default_us": g.default_us,
                "ratio": g.ratio(kept[key]),
                "decisions": kept[key],
            }
            for key, g in tuner.groups.items()
            if key in kept
        ]
        out = {
            "model": arguments.model,
            "gain": gain[0] if gain else 1.0,
            "gain_interval": gain[1:] if gain else None,
            "run_us": tuner.run_us,
            "trials": tuner.trials,
            "seconds": time.monotonic() - tuner.begin,
            "stopped": stopped,
            "groups": groups,
        }
        print(json.dumps(out, indent=1))
        return
    print(f"{'us':>10} {'tuned':>10}  group: decisions")
    for key in sorted(kept, key=lambda key: -tuner.groups[key].default_us):
        group = tuner.groups[key]
        print(
            f"{group.default_us:>10.1f} {group.default_us * group.ratio(kept[key]):>10.1f}  {group.name}: {kept[key]}"
        )
    if gain:
        print(f"the model runs {gain[0]:.3f} times as fast as without records ({gain[1]:.3f} to {gain[2]:.3f})")
    else:
        print("no candidate is faster than the default")


def main(given: list[str]) -> int:
    own, _, words = (
        (given, None, []) if "--" not in given else (given[: given.index("--")], None, given[given.index("--") + 1 :])
    )
    parser = ArgumentParser(prog="relay tune", description=__doc__.split("\n")[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("--budget", type=seconds_of, default="5m")
    parser.add_argument("--records", required=True, type=pathlib.Path)
    parser.add_argument("--relay", type=lambda path: [path], default=[sys.executable, "-m", "relay"])
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--input", action="append", default=[])
    parser.add_argument("--export", type=pathlib.Path)
    parser.add_argument("--merge", type=pathlib.Path, action="append", default=[])
    parser.add_argument("--on", action="append", default=[])
    parser.add_argument("--there", type=shlex.split, default=["relay"])
    parser.add_argument("--ssh-config")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args(own)
    try:
        for path in arguments.merge:
            merge(arguments.records, path)
        if arguments.model:
            tune(arguments, words)
        if arguments.export:
            export(arguments.records, arguments.export)
    except (Failure, LostMachine, InputError, OSError, ValueError) as error:
        say(f"{error}")
        return 1
    except KeyboardInterrupt:
        say("stopped; what was measured is kept, and the next run goes on from there")
        return 130
    return 0


def merge(records: pathlib.Path, path: pathlib.Path) -> None:
    store = Store(records)
    found = tuning_records.from_text(path.read_text(), str(path))
    taken = store.merge(found)
    store.close()
    say(f"{path}: {taken} of {len(found)} records merged into {records}; the others gain no more than those there")


def export(records: pathlib.Path, path: pathlib.Path) -> None:
    store = Store(records)
    found = store.records()
    store.close()
    path.write_text(tuning_records.to_text(found))
    say(f"wrote {len(found)} records to {path}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
