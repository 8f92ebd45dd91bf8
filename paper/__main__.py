"""`python -m paper --out DIR`: reproduce the figures of the paper and judge its claims."""

import argparse
import os
import sys
from pathlib import Path

import densdiff as dd
from paper.reproduction import reproduce


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m paper", description="Reproduce the figures of the paper.")
    parser.add_argument("--out", type=Path, required=True, help="folder for the page, the pictures and the tables")
    parser.add_argument("--figure", action="append", metavar="N", help="1 to 12, or theory; may be repeated")
    parser.add_argument("--runs", type=int, help="runs of everything that averages; as in the paper by default")
    parser.add_argument("--data", type=Path, help="folder with class_balance/*.csv and changes/<set>/*.csv")
    parser.add_argument("--seed", type=int, default=0, help="all randomness starts from it")
    given = parser.parse_args()
    try:
        page = reproduce(
            given.out,
            given.figure,
            runs=given.runs,
            data=given.data,
            seed=given.seed,
            processes=os.cpu_count() or 1,
            tell=lambda text: print(f"paper: {text}", file=sys.stderr),
        )
    except dd.DensDiffError as error:
        print(f"paper: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    print(f"page: {page} (seed {given.seed})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
