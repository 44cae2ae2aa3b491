"""The main job, start to end: twenty features out of fifty thousand columns, and a proof of how good they are."""

import time

import numpy as np

from thresher import FGMClassifier
from thresher.datasets import make_wide

N_SAMPLES, N_FEATURES, N_RELEVANT = 1000, 50_000, 20


def main():
    print(f"Making {N_SAMPLES} samples x {N_FEATURES:,} columns, of which {N_RELEVANT} decide the label ...")
    train = make_wide(N_SAMPLES, N_FEATURES, N_RELEVANT, dtype=np.float32, random_state=0)
    test = make_wide(2000, N_FEATURES, relevant=train.relevant, weights=train.weights, dtype=np.float32, random_state=1)
    print("Growing a model (the first run on a machine also compiles the loops: a few seconds) ...\n")
    begun = time.perf_counter()
    clf = FGMClassifier(n_features_to_select=N_RELEVANT, verbose=2).fit(train.X, train.y)
    seconds = time.perf_counter() - begun

    picked, certificate, trace = clf.selection_, clf.selection_.certificate, clf.selection_.trace
    weights = dict(zip(train.relevant.tolist(), train.weights.tolist(), strict=True))
    print(f"\n{'column':>8}  {'weight':>8}  {'true weight':>11}")
    for column, weight in sorted(zip(picked.features, picked.weights, strict=True), key=lambda pair: -abs(pair[1])):
        truth = f"{weights[column]:.2f}" if column in weights else "-"
        print(f"{column:>8}  {weight:>8.3f}  {truth:>11}")
    found = len(set(picked.features.tolist()) & set(weights))
    missed = sorted((weight for column, weight in weights.items() if column not in picked.features), reverse=True)
    print(f"\nTrue columns found: {found} of {N_RELEVANT}", end="")
    print(f" (true weights of the others: {', '.join(f'{w:.2f}' for w in missed)})" if missed else "")
    print(f"Accuracy on 2000 new samples: {clf.score(test.X, test.y):.3f}")
    print(f"Why it stopped: {picked.stop_reason}")
    print(
        f"Proof: no model over all {N_FEATURES:,} columns with budget {picked.budget} has an objective below "
        f"{certificate.lower_bound:.1f}; this one has {certificate.objective:.1f}, the empty one "
        f"{certificate.at_zero:.1f}: a gap of {certificate.gap:.1%}."
    )
    print(f"Cost: {trace.passes:.1f} passes over X ({train.X.nbytes / 1e6:.0f} MB), {seconds:.2f} s.")


if __name__ == "__main__":
    main()
