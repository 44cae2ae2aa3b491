"""Progress of a fit, as a line on standard error."""

import sys
import time

import numpy as np

from thresher.results import Turn, rounded
from thresher.results.words import turn_details


class Progress:
    """``verbose=1`` updates one line, ``verbose=2`` writes a new line each turn; 0 writes nothing.

    A callable is called instead, with the turn and the number of columns to gather.
    """

    def __init__(self, verbose, target, noun="column"):
        self.verbose, self.target, self.noun = verbose, target, noun

    def __call__(self, turn):
        """Draw the progress of the fit."""
        if callable(self.verbose):
            self.verbose(turn, self.target)
        if callable(self.verbose) or not self.verbose:
            return
        sys.stderr.write(("\r" if self.verbose == 1 else "") + self.line(turn) + ("" if self.verbose == 1 else "\n"))
        sys.stderr.flush()

    def line(self, turn):
        """The bar, features, objective, gap, passes and seconds, and the time left if there is a target."""
        share = min(1.0, turn.taken / self.target) if self.target else 0.0
        of = f"/{self.target}" if self.target else ""
        bar = f"[{'#' * round(20 * share):<20}] " if self.target else ""
        left = f" {turn.seconds * (1 / share - 1):6.1f} s left" if 0 < share < 1 else ""
        details = turn_details(turn, "  ")
        return (
            f"{bar}{turn.taken}{of} {self.noun}s  {turn.features} in the model  objective {turn.objective:.5g}  "
            f"gap {turn.gap:.1e}  {rounded(turn.passes)} passes  {details}{turn.seconds:.1f} s{left:<14}"
        )

    def close(self, selection):
        """End the line, and write the result."""
        if self.verbose and not callable(self.verbose):
            trace = selection.trace
            sys.stderr.write("\n" if self.verbose == 1 else "")
            sys.stderr.write(
                f"{selection.features.size} features in the model; {selection.stop_reason}; "
                f"{rounded(trace.passes)} passes, {trace.elapsed:.1f} s\n"
            )


class PointProgress:
    """As Progress, over the points of a grid: ``verbose=1`` updates one line, 2 writes a new one for each beta."""

    def __init__(self, verbose, total):
        self.verbose, self.total, self.beta = verbose, total, None

    def __call__(self, beta, alpha, features, gap, done, trace):
        """Draw the progress of the fit."""
        if not self.verbose:
            return
        if callable(self.verbose):
            self.verbose(Turn(features, done, np.nan, np.nan, gap, trace.passes, trace.elapsed), self.total)
            return
        if self.verbose > 1 and beta == self.beta and done < self.total:
            return
        self.beta, share = beta, done / self.total
        left = f" {trace.elapsed * (1 / share - 1):6.1f} s left" if share < 1 else ""
        sys.stderr.write(
            ("\r" if self.verbose == 1 else "")
            + f"[{'#' * round(20 * share):<20}] {done}/{self.total} points  beta {beta:.3g}  alpha {alpha:.3g}  "
            f"{features} features  gap {gap:.1e}  {trace.elapsed:.1f} s{left:<14}" + ("" if self.verbose == 1 else "\n")
        )
        sys.stderr.flush()

    def close(self):
        """End the line."""
        if self.verbose == 1 and not callable(self.verbose):
            sys.stderr.write("\n")


class JudgeProgress:
    """As Progress, over folds as they are prepared and over the points of a path that are judged.

    1 updates one line, 2 writes a new one for each. A callable is called after each point; if it has a method
    ``folds``, that is called after each fold with (how many are prepared, of how many, seconds).
    """

    def __init__(self, verbose, total, trace):
        self.verbose, self.total, self.trace, self.done = verbose, total, trace, 0
        self.begun = trace.elapsed  # of folds, then of points
        self.shown = False

    def fold(self, done, count):
        """Show that ``done`` of ``count`` folds are prepared: their alignments, paths and explicit columns."""
        seconds, begun = self.trace.elapsed, self.begun
        if done == count:
            self.begun = seconds
        if callable(self.verbose):
            getattr(self.verbose, "folds", lambda *args: None)(done, count, seconds)
        elif self.verbose:
            self._write(f"fold {done}/{count} prepared  {seconds:.1f} s", done / count, seconds - begun)

    def _write(self, line, share, seconds):
        """A line with a bar, and the time that is left if ``seconds`` took this share of all."""
        left = f" {seconds * (1 / share - 1):6.1f} s left" if share < 1 else ""
        end = "" if self.verbose == 1 else "\n"
        text = f"[{'#' * round(20 * share):<20}] {line}{left:<14}"
        sys.stderr.write(("\r" if self.verbose == 1 else "") + f"{text:<78}{end}")
        sys.stderr.flush()
        self.shown = True

    def __call__(self, p, features, score):
        """Draw the progress of the fit after a point."""
        self.done += 1
        if not self.verbose:
            return
        seconds = self.trace.elapsed
        if callable(self.verbose):
            self.verbose(Turn(features, self.done, np.nan, np.nan, np.nan, self.trace.passes, seconds), self.total)
            return
        line = f"{self.done}/{self.total} points  p {p:.4g}  {features} features  score {score:.4f}  {seconds:.1f} s"
        self._write(line, self.done / self.total, seconds - self.begun)

    def close(self):
        """End the line."""
        if self.verbose == 1 and self.shown:
            sys.stderr.write("\n")


class StepProgress:
    """As Progress, over the steps of one solve: ``verbose=1`` updates one line, 2 writes a new one for each step."""

    def __init__(self, verbose, trace):
        self.verbose, self.trace = verbose, trace

    def __call__(self, steps, gap, features):
        """Draw the progress of the fit."""
        if callable(self.verbose):
            self.verbose(Turn(features, steps, np.nan, np.nan, gap, self.trace.passes, self.trace.elapsed), None)
            return
        line = f"step {steps}  {features} features  gap {gap:.1e}  {self.trace.elapsed:.1f} s"
        sys.stderr.write(f"\r{line:<60}" if self.verbose == 1 else line + "\n")
        sys.stderr.flush()

    def close(self):
        """End the line."""
        if self.verbose == 1 and not callable(self.verbose):
            sys.stderr.write("\n")


class StreamProgress:
    """As Progress, over the examples of a stream, not more than twice a second; ``total`` of them, or None."""

    EVERY = 0.5  # seconds

    def __init__(self, total=None):
        self.total, self.drawn, self.before = total, 0.0, 0
        self.begun = np.nan  # until the first batch

    def begin(self, learners):
        """Start the clock with the first batch."""
        if np.isnan(self.begun):
            self.begun = self.drawn = time.perf_counter()
            self.before = learners.examples

    def __call__(self, learners, verbose):
        """Draw the progress of the stream."""
        now = time.perf_counter()
        if not verbose or 0.0 <= now - self.drawn < self.EVERY:
            return
        self.drawn, standing = now, learners.standing
        speed = (standing.examples - self.before) / max(now - self.begun, 1e-9)
        if callable(verbose):
            verbose(standing, speed)
            return
        of = f"/{self.total:,}" if self.total else ""
        sys.stderr.write(
            ("\r" if verbose == 1 else "")
            + f"{standing.examples:,}{of} examples  {speed:,.0f} a second  accuracy {standing.accuracy:.4f}  "
            f"{standing.features} features   " + ("" if verbose == 1 else "\n")
        )
        sys.stderr.flush()

    def close(self, learners, verbose):
        """Draw the final state, and end the line."""
        if verbose and not callable(verbose):
            self.drawn = -np.inf
            self(learners, verbose)
            sys.stderr.write("\n" if verbose == 1 else "")
