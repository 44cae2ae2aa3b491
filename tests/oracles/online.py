"""Six online feature selectors, literally: every vector has length d and is computed anew in every round.

A compiled implementation is held to these bit for bit, so the order of the operations is part of the definition. Sums
run one by one in ascending order of the index (numpy would sum in pairs). Imports nothing from thresher.
"""

import math

import numpy as np

READS = {  # the regularisers a method knows; others are ignored
    "b-arda": {"l2"},
    "b-amd": {"l2"},
    "ofs": {"l2"},
    "sofs": set(),
    "l1-arda": {"l1"},
    "ada-fobos": {"l1"},
}


def loss_and_slope(name, margin):
    """The loss, and minus its derivative in the margin."""
    if name == "logistic":
        e = math.exp(-abs(margin))
        return math.log1p(e) + max(-margin, 0.0), (e / (1.0 + e) if margin > 0 else 1.0 / (1.0 + e))
    if margin >= 1.0:
        return 0.0, 0.0
    a = 1.0 - margin
    return {"squared_hinge": (a * a, 2.0 * a), "hinge": (a, 1.0)}[name]


def total(values):
    """The sum from left to right."""
    result = 0.0
    for value in values:
        result += float(value)
    return result


class Literal:
    """One learner. After a round: w, b, t, xi (what the truncation of this round cost), loss_sum, mistakes."""

    def __init__(
        self,
        method,
        d,
        *,
        budget,
        step_size=0.1,
        l2=0.0,
        l1=0.0,
        delta=0.01,
        gamma=1.0,
        loss="squared_hinge",
        fit_intercept=False,
    ):
        assert budget is not None or method in ("l1-arda", "ada-fobos"), "this method needs a budget"
        assert method != "sofs" or loss == "squared_hinge", "sofs is derived for the squared hinge"
        self.method, self.budget, self.loss, self.fit_intercept = method, budget, loss, fit_intercept
        self.step_size, self.delta, self.gamma = step_size, delta, gamma
        self.l2, self.l1 = (l2 if "l2" in READS[method] else 0.0), (l1 if "l1" in READS[method] else 0.0)
        self.w, self.G, self.squares, self.sigma = np.zeros(d), np.zeros(d), np.zeros(d), np.ones(d)
        self.b, self.G_b, self.squares_b, self.sigma_b = 0.0, 0.0, 0.0, 1.0
        self.t, self.xi, self.loss_sum, self.mistakes = 0, 0.0, 0.0, 0

    @property
    def H(self):
        """The diagonal of the adaptive metric."""
        return self.delta + np.sqrt(self.squares)

    @property
    def H_b(self):
        """The same for the intercept."""
        return self.delta + math.sqrt(self.squares_b)

    def round(self, x, y, weight=1.0):
        """Learn from one example; the score it had before."""
        v = total(self.w[i] * x[i] for i in np.flatnonzero(x))
        if self.fit_intercept:
            v += self.b
        if weight == 0.0:
            return v
        margin = y * v
        loss, slope = loss_and_slope(self.loss, margin)
        self.t += 1
        self.xi = 0.0
        self.loss_sum += weight * loss
        self.mistakes += (v > 0) != (y > 0)
        if self.method == "sofs":
            self._sofs(x, y, margin, weight)
        else:
            learn = {"b-amd": self._amd, "ada-fobos": self._fobos, "ofs": self._ofs}.get(self.method, self._arda)
            learn(x, y * slope * weight)
        return v

    def _truncate(self, z, score):
        """Keep the largest scores; among equal ones the lower index goes. Returns what went."""
        used = np.flatnonzero(z)
        over = 0 if self.budget is None else max(used.size - self.budget, 0)
        order = used[np.argsort(score[used], kind="stable")]
        self.w = np.zeros(z.size)  # not z itself: it may hold -0.0
        self.w[order[over:]] = z[order[over:]]
        return np.sort(order[:over])

    def _arda(self, x, pull):
        if pull != 0.0:
            g = -pull * x
            self.G, self.squares = self.G + g, self.squares + g * g
            if self.fit_intercept:
                self.G_b, self.squares_b = self.G_b - pull, self.squares_b + pull * pull
                self.b = -self.step_size * self.G_b / self.H_b
        size, H = np.abs(self.G), self.H
        if self.l1 != 0.0:
            size = np.maximum(size - self.l1 * self.t, 0.0)
        z = -np.sign(self.G) * (self.step_size * size / (self.l2 * self.step_size * self.t + H))
        score = H * (z * z)
        self.xi = math.sqrt(total(score[self._truncate(z, score)]))

    def _step_intercept(self, pull):
        if self.fit_intercept:
            self.squares_b += pull * pull
            self.b = self.b - self.step_size * -pull / self.H_b

    def _amd(self, x, pull):
        g = self.l2 * self.w - pull * x
        self.squares = self.squares + g * g
        self._step_intercept(pull)
        z = self.w - self.step_size * g / self.H
        score = self.H * np.abs(z)
        self.xi = total(score[self._truncate(z, score)])

    def _fobos(self, x, pull):
        z = self.w
        if pull != 0.0:
            g = -pull * x
            self.squares = self.squares + g * g
            self._step_intercept(pull)
            z = z - self.step_size * g / self.H
        z = np.sign(z) * np.maximum(0.0, np.abs(z) - self.l1 * self.step_size / self.H)
        score = self.H * np.abs(z)
        self.xi = total(score[self._truncate(z, score)])

    def _ofs(self, x, pull):
        z = (1.0 - self.l2 * self.step_size) * self.w
        if pull != 0.0:
            z = z + self.step_size * pull * x
            if self.fit_intercept:
                self.b += self.step_size * pull
        norm = math.sqrt(total(z * z))
        if self.l2 > 0.0 and norm > 0.0:
            factor = 1.0 / (math.sqrt(self.l2) * norm)
            if factor < 1.0:
                z = factor * z
        dropped = self._truncate(z, np.abs(z))
        self.xi = math.sqrt(total(z[dropped] * z[dropped]))

    def _sofs(self, x, y, margin, weight):
        if margin >= 1.0:
            return
        r, seen = self.gamma / weight, x != 0
        spread = total((x * x * self.sigma)[seen])
        if self.fit_intercept:
            spread += self.sigma_b
        alpha = (1.0 - margin) / (spread + r)
        mu = self.w + alpha * y * (self.sigma * x)
        self.sigma[seen] = 1.0 / (1.0 / self.sigma[seen] + x[seen] * x[seen] / r)
        if self.fit_intercept:
            self.b += alpha * y * self.sigma_b
            self.sigma_b = 1.0 / (1.0 / self.sigma_b + 1.0 / r)
        # the places are given over all d by sigma alone: mu plays no part
        dropped = np.sort(np.argsort(-self.sigma, kind="stable")[: max(mu.size - self.budget, 0)])
        self.xi = math.sqrt(total(mu[dropped] * mu[dropped]))
        mu[dropped] = 0.0
        self.w = mu
