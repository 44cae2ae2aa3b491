"""Files to matrices and labels: svmlight text, npz, npy, csv and Parquet."""

from thresher.io.batches import batches
from thresher.io.reading import read

__all__ = ["batches", "read"]
