"""What a model file has of a StreamClassifier besides its selection."""

from typing import Any

from thresher.estimators.shared.base import INTEGER, REAL, Attribute
from thresher.results import Milestone
from thresher.results.trace import get_milestones
from thresher.state import ArrayReader, need, put_records, real, string


def get_setting(reader: ArrayReader, part: Any, name: str, stream: Any) -> dict[str, float]:
    """A setting: numbers by name."""
    need(isinstance(part, dict), f"{name} must be an object")
    return {string(key, name, 40): real(value, name) for key, value in part.items()}


def get_settings(reader: ArrayReader, part: Any, name: str, stream: Any) -> list[dict[str, float]]:
    """All settings."""
    need(isinstance(part, list), f"{name} must be a list")
    return [get_setting(reader, setting, name, stream) for setting in part]


SAVED = {
    "n_examples_": INTEGER,
    "progressive_loss_": REAL,
    "progressive_accuracy_": REAL,
    "setting_": Attribute(lambda writer, name, value: {key: float(part) for key, part in value.items()}, get_setting),
    "settings_": Attribute(lambda writer, name, value: [dict(setting) for setting in value], get_settings),
    "trace_": Attribute(
        lambda writer, name, value: put_records(writer, name, Milestone, value),
        lambda reader, part, name, stream: get_milestones(reader, part, name),
    ),
}
