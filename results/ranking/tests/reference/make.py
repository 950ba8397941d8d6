"""Reference numbers of other people's code for the tests of keytoll-ranking, as JSON on stdout.

    python3 -m venv venv && venv/bin/pip install pyDecision==5.1.8 scikit-criteria==0.10 ahpy==2.1
    venv/bin/python make.py > reference.json

Grades and gradations are whole and random, with a fixed seed; everything else is computed by the packages.
"""

import json
import random
import warnings
from importlib.metadata import version

warnings.simplefilter("ignore")

import ahpy
import numpy as np
import skcriteria
from pyDecision.algorithm import ahp_method, smart_method
from skcriteria.agg.topsis import TOPSIS
from skcriteria.agg.simple import WeightedProductModel, WeightedSumModel
from skcriteria.preprocessing.scalers import MaxAbsScaler, VectorScaler

RANDOM = random.Random(20120901)


def decision(leaves, alternatives):
    """Alternatives graded by criteria that all methods see as 2^grade, more is better."""
    importance = [RANDOM.randint(0, 6) for _ in range(leaves)]
    grades = [[RANDOM.randint(-2, 4) for _ in range(alternatives)] for _ in range(leaves)]
    # The last criterion tells apart what the others may not.
    grades[-1] = RANDOM.sample(range(-2, alternatives), alternatives)
    # A column for each criterion. SMART (Lootsma): weights sqrt(2)^importance, grade 4 + log2 of the value's place in (0, 64].
    values = np.array([[2.0**grade for grade in row] for row in grades]).T
    bounds = ([0.0] * leaves, [64.0] * leaves, ["max"] * leaves)
    smart = smart_method(values, importance, *bounds, graph=False, verbose=False)
    weights = [2.0 ** (one / 2) for one in importance]
    weights = [one / sum(weights) for one in weights]
    matrix = skcriteria.mkdm(values, [max] * leaves, weights=weights)
    product = WeightedProductModel().evaluate(matrix)
    by_sum = WeightedSumModel().evaluate(MaxAbsScaler(target="matrix").transform(matrix))
    closeness = TOPSIS().evaluate(VectorScaler(target="matrix").transform(matrix))
    return {
        "weights": weights,
        "grades": grades,
        "smart": [float(utility) for utility in smart[:, 1]],
        "wpm_ranks": [int(rank) for rank in product.rank_],
        "wpm_scores": [float(score) for score in product.e_.score],
        "wsm_scores": [float(score) for score in by_sum.e_.score],
        "topsis_scores": [float(score) for score in closeness.e_.similarity],
    }


def gradations(criteria, consistent):
    """Complete comparisons of one expert: the steps by which a row is more important than a column."""
    levels = [RANDOM.randint(-3, 3) for _ in range(criteria)]
    steps = [[0] * criteria for _ in range(criteria)]
    for row in range(criteria):
        for column in range(row + 1, criteria):
            noise = 0 if consistent else RANDOM.randint(-2, 2)
            steps[row][column] = levels[row] - levels[column] + noise
            steps[column][row] = -steps[row][column]
    matrix = np.array([[2.0**step for step in row] for row in steps])
    geometric, _ = ahp_method(matrix, wd="g")
    pairs = {(str(row), str(column)): matrix[row, column] for row in range(criteria) for column in range(row + 1, criteria)}
    eigen = ahpy.Compare("weights", pairs, precision=12).target_weights
    return {
        "steps": steps,
        "consistent": consistent,
        "geometric": [float(weight) for weight in geometric],
        # Of the eigenvector, which is the geometric mean for three criteria, or without contradictions.
        "ahpy": [float(eigen[str(row)]) for row in range(criteria)],
    }


PACKAGES = ["pyDecision", "scikit-criteria", "ahpy", "numpy"]
REFERENCE = {
    "made_by": "results/ranking/tests/reference/make.py",
    "versions": {name: version(name) for name in PACKAGES},
    "decisions": [decision(leaves, alternatives) for leaves in (2, 4, 9) for alternatives in (3, 6)],
    "gradations": [gradations(3, False) for _ in range(3)]
    + [gradations(5, True) for _ in range(2)]
    + [gradations(5, False) for _ in range(3)],
}


def written(value):
    """A line for each case."""
    if isinstance(value, list):
        return "[\n" + ",\n".join("  " + json.dumps(case) for case in value) + "\n ]"
    return json.dumps(value)


print("{\n" + ",\n".join(f' "{name}": {written(value)}' for name, value in REFERENCE.items()) + "\n}")
