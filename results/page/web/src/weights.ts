// What a ranking comes to with given weights, as `results/ranking` computes it: `hierarchy.rs` and `methods/`.

import type { Ranking, Rule } from './model';

type Matrix = number[][];

/** The criteria that share the one above, the given one included. */
export function siblings(ranking: Ranking, node: number): number[] {
  const under = ranking.criteria[node]?.under ?? null;
  return ranking.criteria.flatMap((criterion, place) => ((criterion.under ?? null) === under ? [place] : []));
}

/** The weights after one was set and the rest of its group shares what is left as before; equally, if it had everything. */
export function varied(ranking: Ranking, weights: number[], node: number, weight: number): number[] {
  const group = siblings(ranking, node);
  const rest = 1 - weights[node]!;
  const changed = weights.slice();
  for (const sibling of group) {
    const part = rest > 0 ? weights[sibling]! / rest : 1 / (group.length - 1);
    changed[sibling] = sibling === node ? weight : (1 - weight) * part;
  }
  return changed;
}

/** What every criterion weighs in all. */
export function shares(ranking: Ranking, weights: number[]): number[] {
  const all: number[] = [];
  ranking.criteria.forEach(({ under }, node) => all.push(weights[node]! * (under === null ? 1 : all[under]!)));
  return all;
}

const values = (steps: Matrix, divisor: (row: number[]) => number): Matrix =>
  steps.map((row) => {
    const powers = row.map((step) => 2 ** step);
    const by = divisor(powers);
    return powers.map((value) => value / by);
  });

const length = (row: number[]): number => Math.sqrt(row.reduce((sum, value) => sum + value * value, 0));

const columns = (rows: Matrix): number => rows[0]?.length ?? 0;

function sum(weights: number[], rows: Matrix): number[] {
  const of = (column: number) => rows.reduce((total, row, place) => total + weights[place]! * row[column]!, 0);
  return Array.from({ length: columns(rows) }, (_, column) => of(column));
}

function closeness(weights: number[], rows: Matrix): number[] {
  const distance = (column: number, ideal: (row: number[]) => number) =>
    length(rows.map((row, place) => weights[place]! * (ideal(row) - row[column]!)));
  return Array.from({ length: columns(rows) }, (_, column) => {
    const best = distance(column, (row) => Math.max(...row));
    const worst = distance(column, (row) => Math.min(...row));
    return best + worst > 0 ? worst / (best + worst) : 0.5;
  });
}

function parts(utilities: number[]): number[] {
  const greatest = Math.max(...utilities);
  const powers = utilities.map((utility) => 2 ** (utility - greatest));
  const total = powers.reduce((one, other) => one + other, 0);
  return powers.map((power) => power / total);
}

interface Method {
  prepare: (steps: Matrix) => Matrix;
  combine: (weights: number[], rows: Matrix) => number[];
  score: (utilities: number[]) => number[];
}

const same = <T>(value: T): T => value;

const METHODS: Record<Rule, Method> = {
  multiplicative: { prepare: same, combine: sum, score: parts },
  product: { prepare: same, combine: sum, score: (utilities) => utilities.map((utility) => 2 ** utility) },
  sum: { prepare: (steps) => values(steps, (row) => Math.max(...row)), combine: sum, score: same },
  topsis: { prepare: (steps) => values(steps, length), combine: closeness, score: same },
};

/** A ranking with other weights. */
export interface Ranked {
  /** Places of the alternatives, the best first. */
  order: number[];
  /** By alternative. */
  scores: number[];
  /** From 1; equal ones share it. By alternative. */
  ranks: number[];
}

const isTied = (one: number, other: number): boolean =>
  Math.abs(one - other) <= 1e-12 * Math.max(Math.abs(one), Math.abs(other), 1);

/** Ranks the alternatives. */
export function ranked(ranking: Ranking, weights: number[]): Ranked {
  const all = shares(ranking, weights);
  const isLeaf = (place: number) => ranking.alternatives.every(({ steps }) => typeof steps[place] === 'number');
  const leaves = ranking.criteria.map((_, place) => place).filter(isLeaf);
  const steps = leaves.map((leaf) => ranking.alternatives.map((alternative) => alternative.steps[leaf]!));
  const { prepare, combine, score } = METHODS[ranking.rule];
  const utilities = combine(leaves.map((leaf) => all[leaf]!), prepare(steps));
  const ahead = (of: number) => utilities.filter((other) => other > of && !isTied(other, of)).length;
  const ranks = utilities.map((utility) => 1 + ahead(utility));
  const order = utilities.map((_, place) => place).sort((one, other) => ranks[one]! - ranks[other]! || one - other);
  return { order, scores: score(utilities), ranks };
}
