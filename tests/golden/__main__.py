"""``python -m tests.golden [--record]``: the fits of ``fits.py`` against the record, bit for bit."""

import json
import pathlib
import sys

from tests.golden.fits import FITS
from tests.golden.record import FILE, differences

new = {name: fit() for name, fit in FITS.items()}
if "--record" in sys.argv:
    FILE.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in new.items()) + "\n}\n")
else:
    old = json.loads(pathlib.Path(FILE).read_text())
    found = [line for name in old | new for line in differences(old.get(name), new.get(name), name)]
    print("\n".join(found) or f"{len(new)} fits, equal bit for bit")
    sys.exit(bool(found))
