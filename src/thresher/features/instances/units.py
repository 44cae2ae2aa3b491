"""Training instances as units."""

from thresher.data.designs.units import EachColumn


class EachInstance(EachColumn):
    """Every column is the similarity to an instance, which is what is counted."""

    noun = "instance"
