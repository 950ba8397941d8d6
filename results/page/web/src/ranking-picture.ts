// A ranking as a chart, with any weights.

import type { Chart, Ranking } from './model';
import { ranked } from './weights';

export const percent = (part: number): string => `${(100 * part).toFixed(part > 0 && part < 0.0995 ? 1 : 0)} %`;

/** Bars with their scores. */
const BARS = {
  encoding: {
    y: { field: 'name', type: 'nominal', sort: null, title: null },
    x: { field: 'score', type: 'quantitative', title: null },
  },
  layer: [
    { mark: 'bar' },
    { mark: { type: 'text', align: 'left', dx: 5 }, encoding: { text: { field: 'score', type: 'quantitative', format: '.4~f' } } },
  ],
};

/** The alternatives in their order, and below them the weights. */
export function rankingChart(ranking: Ranking, weights: number[]): Chart {
  const { order, scores } = ranked(ranking, weights);
  const used = ranking.criteria.map((criterion, node) => `${criterion.name} ${percent(weights[node]!)}`);
  return {
    title: ranking.title,
    description: '',
    note: `Weights: ${used.join(', ')}.`,
    spec: BARS,
    columns: ['name', 'score'],
    lines: order.map((place) => [ranking.alternatives[place]!.name, scores[place]!]),
  };
}
