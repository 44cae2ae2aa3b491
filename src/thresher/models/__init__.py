"""Model files: fitted estimators as data that is readable, versioned and safe to load from untrusted sources."""

from thresher.models.checkpoint import load_checkpoint, read_checkpoint, save_checkpoint
from thresher.models.document import Model
from thresher.models.files import is_checkpoint, load, read, save, unsaved

__all__ = [
    "Model",
    "is_checkpoint",
    "load",
    "load_checkpoint",
    "read",
    "read_checkpoint",
    "save",
    "save_checkpoint",
    "unsaved",
]
