"""adelie's group lasso in its own environment: python adelie_job.py X.npy y.npy size number. Prints JSON."""

import json
import sys
import time

import adelie
import numpy as np


def main():
    """Solve down a path until ``number`` groups have weight."""
    X, y = np.load(sys.argv[1], mmap_mode="r"), np.load(sys.argv[2])
    size, number = int(sys.argv[3]), int(sys.argv[4])
    groups = np.arange(0, X.shape[1], size)
    X = np.asfortranarray(X)
    positive = (y > 0).astype(X.dtype)
    begun = time.perf_counter()
    state = adelie.grpnet(
        adelie.matrix.dense(X, method="naive", n_threads=2),
        adelie.glm.binomial(positive, dtype=X.dtype.type),
        groups=groups,
        lmda_path_size=40,
        min_ratio=0.2,
        max_active_size=10 * number,
        exit_cond=lambda state: np.unique(state.betas[-1].indices // size).size >= number,
        newton_tol=1e-6,  # its default is out of reach in float32
        irls_tol=1e-5,
        tol=1e-5,
        progress_bar=False,
        n_threads=2,
    )
    seconds = time.perf_counter() - begun
    last = state.betas[state.betas.shape[0] - 1]
    print(json.dumps({
        "columns": last.indices.tolist(), "weights": last.data.tolist(), "intercept": float(state.intercepts[-1]),
        "seconds": seconds, "version": adelie.__version__,
    }))  # fmt: skip


if __name__ == "__main__":
    main()
