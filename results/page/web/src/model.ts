// What the page's writer hands over beside each figure: `results/page/src/blocks.rs` and `model.rs` write it.

export type Value = string | number | boolean | null;

export interface Chart {
  title: string;
  note: string;
  description: string;
  spec: Record<string, unknown>;
  columns: string[];
  lines: Value[][];
}

export interface Hop {
  from: number;
  to: number;
  sent_ms: number;
  arrived_ms: number | null;
  label: string;
  bytes: number;
  is_repeated: boolean;
}

export interface Ladder {
  id: string;
  title: string;
  nodes: string[];
  hops: Hop[];
  note: string;
}

export type Rule = 'multiplicative' | 'sum' | 'product' | 'topsis';

export interface Criterion {
  name: string;
  title: string;
  under: number | null;
  weight: number;
}

export interface Alternative {
  name: string;
  steps: (number | null)[];
  score: number;
}

export interface Ranking {
  id: string;
  title: string;
  rule: Rule;
  criteria: Criterion[];
  alternatives: Alternative[];
  note: string;
}
