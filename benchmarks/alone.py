"""How one benchmark runs by itself: it prints its tables and writes nothing."""

import argparse

from benchmarks import book


def run(report, description):
    """Print ``report(quick)``, and the machine, on a command line that knows ``--quick``."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    quick = parser.parse_args().quick
    print(f"{report(quick)}\n\n{book.machine_line()}")
