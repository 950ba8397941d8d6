// Pictures without a browser: what `results/page/src/pictures.rs` calls in an engine that has no page. Each takes JSON and gives SVG.

import { picture } from './draw';
import { ladderPicture } from './ladder-picture';
import type { Chart, Ladder, Ranking } from './model';
import { standalone } from './palette';
import { rankingChart } from './ranking-picture';

/** The width of a ladder that stands alone. */
export const LADDER = 760;

const weights = (ranking: Ranking): number[] => ranking.criteria.map((criterion) => criterion.weight);

/** By the name of what is drawn. */
export const pictures: Record<string, (json: string) => Promise<string>> = {
  chart: (json) => picture(JSON.parse(json) as Chart),
  ranking: (json) => {
    const ranking = JSON.parse(json) as Ranking;
    return picture(rankingChart(ranking, weights(ranking)));
  },
  ladder: async (json) => standalone(ladderPicture(JSON.parse(json) as Ladder, LADDER, true)),
};
