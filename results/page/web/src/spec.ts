// From what a report says about a chart to what Vega-Lite draws at a given width.
//
// A report leaves out data, title, width and configuration. Where it leaves out the height, too, charts of names get room for each
// name and others a fixed height.

import { config, FONT } from './config';
import { besides, hasNames, keyed, nameCount, type Spec } from './labels';
import type { Chart, Value } from './model';
import { coloured } from './palette';
import { fits, isSpec, LETTER, wrapped } from './texts';

/** Below this many pixels there is no room for names left of bars. */
export const NARROW = 520;

/** Specifications that are drawn side by side or one below the other: Vega-Lite fits only single ones to a width. */
const isComposed = (spec: Spec): boolean =>
  ['facet', 'hconcat', 'vconcat', 'concat', 'repeat'].some((key) => key in spec) ||
  ['row', 'column', 'facet'].some((channel) => isSpec(spec.encoding) && channel in spec.encoding);

/** The lines of a chart as objects. */
const records = ({ columns, lines }: Chart): Record<string, Value>[] =>
  lines.map((line) => Object.fromEntries(columns.map((column, place) => [column, line[place] ?? null])));

/** How many charts stand beside one another, at most as many as there are in all. */
function abreast(chart: Chart, spec: Spec): number {
  if (Array.isArray(spec.hconcat)) return spec.hconcat.length;
  const facet = isSpec(spec.facet) ? spec.facet : isSpec(spec.encoding) && isSpec(spec.encoding.facet) ? spec.encoding.facet : {};
  const count = Number(spec.columns ?? facet.columns ?? 1);
  const field = chart.columns.indexOf(`${facet.field}`);
  const charts = field < 0 ? count : new Set(chart.lines.map((line) => line[field])).size;
  return Math.max(1, Math.min(count, charts));
}

/** The same with its charts one below the other. */
function stacked(spec: Spec): Spec {
  const { hconcat, ...rest } = spec;
  const narrow: Spec = hconcat === undefined ? rest : { ...rest, vconcat: hconcat };
  if ('columns' in narrow) narrow.columns = 1;
  if (isSpec(narrow.encoding) && isSpec(narrow.encoding.facet)) {
    narrow.encoding = { ...narrow.encoding, facet: { ...narrow.encoding.facet, columns: 1 } };
  }
  return narrow;
}

/** Charts in several lines have an axis each: the last line may be shorter than the others. */
const withAxes = (spec: Spec): Spec =>
  'columns' in spec && !('resolve' in spec) ? { ...spec, resolve: { axis: { x: 'independent' } } } : spec;

/** A single or layered specification with its height, and its names where there is room for them. */
function unit(chart: Chart, spec: Spec, width: number): Spec {
  if (hasNames(spec) && typeof spec.height !== 'number') return besides(chart, spec, width, width >= NARROW);
  return 'height' in spec ? spec : { ...spec, height: width < NARROW ? 220 : 260 };
}

/** Sets the width of every chart within. */
function sized(chart: Chart, spec: Spec, inner: number): Spec {
  if (isSpec(spec.spec)) return { ...spec, spec: sized(chart, spec.spec, inner) };
  for (const key of ['vconcat', 'hconcat', 'concat']) {
    const parts = spec[key];
    if (Array.isArray(parts)) return { ...spec, [key]: parts.map((part) => (isSpec(part) ? sized(chart, part, inner) : part)) };
  }
  return { ...unit(chart, spec, inner), width: inner };
}

/** A chart at a width. */
export interface Prepared {
  spec: Spec;
  /** The width of each chart within a composed one, and how many stand beside one another; nothing for a single one, which fits. */
  inner: { width: number; abreast: number } | null;
}

/** What Vega-Lite draws; `inner` is known once a composed chart was drawn. */
export function prepared(chart: Chart, width: number, titled = false, inner?: number): Prepared {
  const narrow = width < NARROW;
  const given = withAxes(narrow ? stacked(chart.spec) : chart.spec);
  const columns = abreast(chart, given);
  const cell = Math.max(80, inner ?? Math.floor(width / columns) - 60);
  const composed = isComposed(given);
  const drawn = composed ? sized(chart, given, cell) : { ...unit(chart, given, width), width };
  const spec = {
    ...(coloured(keyed(chart, drawn, width)) as Spec),
    data: { values: records(chart) },
    ...(composed ? {} : { autosize: { type: 'fit-x', contains: 'padding' } }),
    ...(titled ? { title: heading(chart, width) } : {}),
    config: narrow ? { ...config, legend: { ...config.legend, layout: { frame: 'bounds' } } } : config,
  };
  return { spec, inner: composed ? { width: cell, abreast: columns } : null };
}

/** About as high as a chart will be, so that what is below it stays where it is when it is drawn. */
export function roughHeight(chart: Chart, width: number): number {
  const { spec, inner } = prepared(chart, width);
  const AROUND = 75;
  if (inner) return 400;
  const names = isSpec(spec.height) ? nameCount(chart, spec) * Number(spec.height.step) : Number(spec.height);
  return Math.round(names) + AROUND;
}

const heading = ({ title, note }: Chart, width: number): Spec => ({
  text: wrapped(title, fits(width, 8)),
  ...(note ? { subtitle: wrapped(note, fits(width, LETTER)) } : {}),
  offset: 12,
  font: FONT,
});
