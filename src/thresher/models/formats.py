"""Versions of the file formats, and the migration of documents of earlier versions to the current one.

A format has a step for each earlier version: a pure function that takes a document of version n and returns one of
version n + 1. Steps run before fields are checked, on an unchecked document: what a step does not
understand it leaves unchanged, to be rejected when fields are checked. A new version is one more step, and fixtures of
it in ``tests/models/fixtures``; a field with a default needs neither (``checks.required``).
"""

from dataclasses import dataclass

from thresher.models.migration import with_features_and_target, with_typed_source
from thresher.state import Damaged, integer, need


class TooNew(Damaged):
    """The file was written by a later version of thresher."""


@dataclass(frozen=True)
class Format:
    """A kind of document: its name, and ``steps[n - 1]`` from version n to version n + 1."""

    name: str
    steps: tuple = ()

    @property
    def version(self):
        """The version that is written."""
        return len(self.steps) + 1

    @property
    def head(self):
        """The first fields of every document of the format."""
        return {"format": self.name, "format_version": self.version}

    def check(self, document):
        """Raise Damaged unless the document is of this format, TooNew if its version is later than the current one."""
        known = isinstance(document, dict) and document.get("format") == self.name
        need(known, f'it does not contain "format": "{self.name}"')
        version = integer(document.get("format_version"), "format_version", 1)
        if version > self.version:
            by = f"{_writer(document)} (format {version})"
            raise TooNew(f"written by {by}: upgrade thresher to read it")

    def migrated(self, document):
        """A document that has passed ``check``, migrated to the current version."""
        first = document["format_version"]
        for version, step in enumerate(self.steps[first - 1 :], first + 1):
            document = step(document) | {"format_version": version}
        return document


def _writer(document):
    """The version of thresher that wrote a document of a later format, if it can be shown."""
    versions = document.get("versions")
    version = versions.get("thresher") if isinstance(versions, dict) else None
    if isinstance(version, str) and version.isascii() and version.isprintable():
        return f"thresher {version[:40]}, which is newer"
    return "a newer thresher"


MODEL = Format("thresher-model", (with_typed_source, with_features_and_target))
CHECKPOINT = Format("thresher-checkpoint")
