"""SparseSVC and SparseSVCPath."""
