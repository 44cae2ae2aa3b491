"""Results of the contest on real data, kept line by line as they come: a run that was cut short goes on from there."""

import datetime
import json
from pathlib import Path

from benchmarks.linear.judge import Result

FOLDER = Path(__file__).resolve().parents[1] / ".results"
KEPT = FOLDER / "real.jsonl"


class Records:
    """Results by (set, split, contestant, k), in a file of JSON lines."""

    def __init__(self, path):
        self.path, self.at, self.sizes, self.days = path, {}, {}, set()
        for line in path.read_text().splitlines() if path.exists() else ():
            try:
                self._take(json.loads(line))
            except (ValueError, KeyError, TypeError):  # the run was ended in the middle of a line
                continue

    def _take(self, line):
        key = line["set"], line["split"], line["who"], line["k"]
        self.at[key] = Result(**{field: line[field] for field in Result._fields})
        self.sizes[line["set"]] = tuple(line["size"])
        self.days.add(line["day"])

    def add(self, name, split, who, size, result):
        """Keep a Result, here and in the file."""
        line = {"set": name, "split": split, "who": who, "size": size, "day": datetime.date.today().isoformat()}
        line |= result._asdict()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        self._take(line)

    def get(self, name, split, who, k):
        """The Result, or None."""
        return self.at.get((name, split, who, k))

    def hopeless(self, name, who, k, limit):
        """The verdict on an earlier fit to this set with as many columns or fewer, or on all of them, or ""."""
        spent = sum(result.wall or 0.0 for (at, _, whose, _), result in self.at.items() if at == name and whose == who)
        if spent > 0.9 * limit:
            return f"over {limit:g} s in all"
        found = [
            result.verdict
            for (at, _, whose, wanted), result in self.at.items()
            if at == name and whose == who and wanted <= k and result.verdict
        ]
        return found[0] if found else ""

    def set_aside(self):
        """Begin anew; the old file stays beside the new one."""
        if self.path.exists():
            self.path.replace(self.path.with_suffix(".old.jsonl"))
        self.at, self.sizes, self.days = {}, {}, set()
