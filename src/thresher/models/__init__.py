"""Model files: a fitted estimator as data that can be read by people, by later versions, and without trust."""

from thresher.models.checkpoint import load_checkpoint, read_checkpoint, save_checkpoint
from thresher.models.document import Model
from thresher.models.files import load, read, save

__all__ = ["Model", "load", "load_checkpoint", "read", "read_checkpoint", "save", "save_checkpoint"]
