"""One paper, one short module: a design and labels go in, a Selection comes out. None imports another."""
