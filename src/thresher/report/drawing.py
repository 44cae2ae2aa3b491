"""What the displays share: matplotlib, loaded when something is drawn, and names of scores."""


def pyplot(display):
    """matplotlib.pyplot for the display of this name: it is heavy and not a requirement."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{display} needs matplotlib to draw: pip install matplotlib") from error
    return plt


def score_name(scoring):
    """The label of an axis with scores."""
    if callable(scoring):
        return getattr(scoring, "__name__", "Score")
    words = (scoring or "accuracy").replace("neg_", "negative ").replace("_", " ")
    return words[0].upper() + words[1:]
