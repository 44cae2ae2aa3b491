"""What starting costs: nothing is compiled or loaded before it is used, and no directory need be writable."""

import subprocess
import sys
import textwrap


def child(code):
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_nothing_and_compiles_nothing():
    out = child("""
        import sys
        import thresher
        assert "numba" not in sys.modules and "sklearn" not in sys.modules
        from thresher import FGMClassifier
        heavy = {"dask", "cupy", "matplotlib", "clarabel", "cvxpy", "polars", "sklearn.feature_selection"}
        assert not heavy & set(sys.modules), heavy & set(sys.modules)
        from thresher.loops import compressed, dense, moments
        loops = [f for m in (compressed, dense, moments) for f in vars(m).values() if hasattr(f, "signatures")]
        assert len(loops) >= 10
        assert not any(f.signatures for f in loops)
        print("fine")
    """)
    assert out == "fine\n"


def test_works_where_no_cache_can_be_written():
    out = child("""
        import warnings
        import numba.core.caching as caching
        caching.CacheImpl._locator_classes = []  # as in a read-only container without a home directory
        import numpy as np
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            from thresher import FGMClassifier
            X = np.random.default_rng(0).standard_normal((50, 20))
            clf = FGMClassifier(3).fit(X, X[:, 0] > 0)
        told = [w for w in told if w.category.__name__ == "CompilationCacheWarning"]
        assert len(told) == 1, "said once"
        assert "NUMBA_CACHE_DIR" in str(told[0].message)
        print(clf.selection_.features.size)
    """)
    assert out == "3\n"
