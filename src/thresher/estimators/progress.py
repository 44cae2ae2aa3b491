"""A line on standard error that says how far a fit has come."""

import sys


class Progress:
    """``verbose=1`` draws one line over and over, ``verbose=2`` a new line each turn; 0 draws nothing."""

    def __init__(self, verbose, wanted):
        self.verbose, self.wanted = verbose, wanted

    def __call__(self, turn):
        """Draw where the fit stands."""
        if not self.verbose:
            return
        sys.stderr.write(("\r" if self.verbose == 1 else "") + self.line(turn) + ("" if self.verbose == 1 else "\n"))
        sys.stderr.flush()

    def line(self, turn):
        """The bar, features, objective, gap, passes and seconds, and the time left where there is a number to reach."""
        share = min(1.0, turn.features / self.wanted) if self.wanted else 0.0
        of = f"/{self.wanted}" if self.wanted else ""
        bar = f"[{'#' * round(20 * share):<20}] " if self.wanted else ""
        left = f" {turn.seconds * (1 / share - 1):6.1f} s left" if 0 < share < 1 else ""
        return (
            f"{bar}{turn.features}{of} features  objective {turn.objective:.5g}  gap {turn.gap:.1e}  "
            f"{turn.passes:.3g} passes  {turn.seconds:.1f} s{left:<14}"
        )

    def close(self):
        """End the line."""
        if self.verbose == 1:
            sys.stderr.write("\n")
