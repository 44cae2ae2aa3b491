"""Progress of a fit, as lines on standard error or as calls of a function."""

import sys
import time

import numpy as np

from thresher.results import Turn, rounded
from thresher.results.words import turn_details

LOG_SECONDS = 60.0  # between two lines in a log
WIDTH = 78  # that an updated line is filled up to, so that nothing is left of a longer one


def is_terminal(stream):
    """Whether a line that was written can be replaced by another; not so in a notebook, or in a file."""
    return bool(getattr(stream, "isatty", bool)())


class ProgressLine:
    """``verbose=1`` updates one line, ``verbose=2`` writes a new one each time, 0 nothing.

    Where standard error is no terminal, ``verbose=1`` writes new lines: the first, then one a minute, then the last.
    A callable is called instead, with a Turn and ``total``: how much there is to do, or None.
    """

    def __init__(self, verbose, total=None):
        self.verbose, self.total = verbose, total
        self.is_drawn = False
        self.waiting, self.logged_at = "", -np.inf

    def report(self, turn, line):
        """Pass the turn on, or write the line."""
        if callable(self.verbose):
            self.verbose(turn, self.total)
        self.write(line)

    def write(self, line):
        """Write the line unless it is empty, or progress goes elsewhere."""
        if not line or not self.verbose or callable(self.verbose):
            return
        updated = self.verbose == 1 and is_terminal(sys.stderr)
        if self.verbose == 1 and not updated:
            self.waiting, now = line, time.monotonic()
            if now - self.logged_at < LOG_SECONDS:
                return
            self.waiting, self.logged_at = "", now
        sys.stderr.write(f"\r{line:<{WIDTH}}" if updated else f"{line.rstrip()}\n")
        sys.stderr.flush()
        self.is_drawn = True

    def close(self):
        """End the line, or write the last one."""
        if self.waiting:
            sys.stderr.write(f"{self.waiting.rstrip()}\n")
        elif self.is_drawn and self.verbose == 1 and is_terminal(sys.stderr):
            sys.stderr.write("\n")
        self.waiting = ""


def with_bar(line, share, seconds):
    """The line after a bar and before the time that is left, if ``seconds`` took this share of all."""
    left = f" {seconds * (1 / share - 1):6.1f} s left" if 0 < share < 1 else ""
    return f"[{'#' * round(20 * share):<20}] {line}{left:<14}"


class Progress(ProgressLine):
    """Progress of growth and elimination; ``total`` is the number of columns to gather."""

    def __init__(self, verbose, total, noun="column"):
        super().__init__(verbose, total)
        self.noun = noun

    def __call__(self, turn):
        """Draw features, objective, gap, passes and seconds."""
        of = f"/{self.total}" if self.total else ""
        line = (
            f"{turn.taken}{of} {self.noun}s  {turn.features} in the model  objective {turn.objective:.5g}  "
            f"gap {turn.gap:.1e}  {rounded(turn.passes)} passes  {turn_details(turn, '  ')}"
            f"{turn.seconds:.1f} s"
        )
        if self.total:
            line = with_bar(line, min(1.0, turn.taken / self.total), turn.seconds)
        self.report(turn, line)

    def finish(self, selection):
        """End the line, and write the result."""
        self.close()
        if self.is_drawn:
            trace = selection.trace
            sys.stderr.write(
                f"{selection.features.size} features in the model; {selection.stop_reason}; "
                f"{rounded(trace.passes)} passes, {trace.elapsed:.1f} s\n"
            )


class PointProgress(ProgressLine):
    """Progress over the points of a grid: ``verbose=2`` writes a line for each beta."""

    beta = None

    def __call__(self, beta, alpha, features, gap, done, trace):
        """Draw the point that was solved."""
        if not self.verbose:
            return
        line = ""
        if self.verbose == 1 or beta != self.beta or done == self.total:
            line = f"{done}/{self.total} points  beta {beta:.3g}  alpha {alpha:.3g}  {features} features  gap {gap:.1e}"
            line = with_bar(f"{line}  {trace.elapsed:.1f} s", done / self.total, trace.elapsed)
        self.beta = beta
        self.report(Turn(features, done, np.nan, np.nan, gap, trace.passes, trace.elapsed), line)


class JudgeProgress(ProgressLine):
    """Progress over folds as they are prepared, then over the points of a path that are judged.

    A callable is called after each point; if it has a method ``folds``, that is called after each fold with (how many
    are prepared, of how many, seconds).
    """

    def __init__(self, verbose, total, trace):
        super().__init__(verbose, total)
        self.trace, self.done = trace, 0
        self.begun = trace.elapsed  # of folds, then of points

    def fold(self, done, count):
        """Show that ``done`` of ``count`` folds are prepared: their alignments, paths and explicit columns."""
        seconds = self.trace.elapsed
        if callable(self.verbose):
            getattr(self.verbose, "folds", lambda *args: None)(done, count, seconds)
        self.write(with_bar(f"fold {done}/{count} prepared  {seconds:.1f} s", done / count, seconds - self.begun))
        if done == count:
            self.begun = seconds

    def __call__(self, p, features, score):
        """Draw the point that was judged."""
        self.done += 1
        seconds = self.trace.elapsed
        line = f"{self.done}/{self.total} points  p {p:.4g}  {features} features  score {score:.4f}  {seconds:.1f} s"
        line = with_bar(line, self.done / self.total, seconds - self.begun)
        self.report(Turn(features, self.done, np.nan, np.nan, np.nan, self.trace.passes, seconds), line)


class StepProgress(ProgressLine):
    """Progress over the steps of one solve."""

    def __init__(self, verbose, trace):
        super().__init__(verbose)
        self.trace = trace

    def __call__(self, steps, gap, features):
        """Draw the step."""
        seconds = self.trace.elapsed
        line = f"step {steps}  {features} features  gap {gap:.1e}  {seconds:.1f} s"
        self.report(Turn(features, steps, np.nan, np.nan, gap, self.trace.passes, seconds), line)


class StreamProgress(ProgressLine):
    """Progress over the examples of a stream, not more than twice a second; ``total`` of them, or None."""

    EVERY = 0.5  # seconds

    def __init__(self, total=None):
        super().__init__(0, total)
        self.drawn_at, self.before = 0.0, 0
        self.begun = np.nan  # until the first batch

    def begin(self, learners):
        """Start the clock with the first batch."""
        if np.isnan(self.begun):
            self.begun = self.drawn_at = time.perf_counter()
            self.before = learners.examples

    def __call__(self, learners, verbose):
        """Draw the progress of the stream; a callable gets a Milestone and the examples per second."""
        now = time.perf_counter()
        if not verbose or 0.0 <= now - self.drawn_at < self.EVERY:
            return
        self.drawn_at, standing = now, learners.standing
        speed = (standing.examples - self.before) / max(now - self.begun, 1e-9)
        if callable(verbose):
            verbose(standing, speed)
            return
        self.verbose = verbose
        of = f"/{self.total:,}" if self.total else ""
        counts = f"{standing.examples:,}{of} examples  {speed:,.0f} a second"
        self.write(f"{counts}  accuracy {standing.accuracy:.4f}  {standing.features} features")

    def finish(self, learners, verbose):
        """Draw the final state, and end the line."""
        if not callable(verbose):
            self.drawn_at = -np.inf
            self(learners, verbose)
            self.close()
