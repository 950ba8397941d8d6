#!/usr/bin/env python3
"""Compares the verdicts of several runs of `keytoll study all`.

    .ci/verdicts.py FOLDER...

Prints every finding with its verdict in each folder. Fails if a finding holds in one run and does not hold in another, or if more than a
tenth of all verdicts is "cannot be judged", or one of a finding whose numbers a reviewer has recomputed.
"""

import json
import pathlib
import sys

DOUBT = "cannot_be_judged"
FLIP = {"holds", "does_not_hold"}
# Recomputed from the samples and confirmed: all findings of these studies, and single ones.
CONFIRMED = {"dh-groups", "dimensioning", "tls-is-above-its-rank", "tls-is-several-times-slower"}
SHORT = {"holds": "yes", "does_not_hold": "no", "holds_in_part": "part", DOUBT: "?"}


def verdicts(folder):
    """The verdict of each finding of a folder, by study and name."""
    accounts = [json.loads(path.read_text()) for path in sorted(pathlib.Path(folder).glob("*/study.json"))]
    return {(a["study"], f["name"]): f["verdict"] for a in accounts for f in a["findings"]}


def judged(name, found):
    """What is wrong with the verdicts of one finding."""
    if FLIP <= set(found):
        return "FLIPS"
    return "CONFIRMED, BUT NOT JUDGED" if DOUBT in found and CONFIRMED & set(name) else ""


def main(folders):
    runs = [verdicts(folder) for folder in folders]
    names = list(dict.fromkeys(name for run in runs for name in run))
    table = {name: [run.get(name, DOUBT) for run in runs] for name in names}
    wrong = {name: judged(name, found) for name, found in table.items()}
    for name, found in table.items():
        print(f"{name[0]:16} {name[1]:48} {' '.join(f'{SHORT[verdict]:4}' for verdict in found)}{wrong[name]}")
    every = [verdict for found in table.values() for verdict in found]
    doubts = every.count(DOUBT)
    faults = sum(map(bool, wrong.values()))
    print(f"{len(names)} findings, {faults} of them faulty; {doubts} of {len(every)} verdicts cannot be judged")
    return 1 if faults or not every or 10 * doubts > len(every) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
