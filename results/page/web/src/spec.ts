// From what a report says about a chart to what Vega-Lite draws at a given width.
//
// A report leaves out data, title, width and configuration. Where it leaves out the height, too, charts of names get room for each
// name and others a fixed height. On a narrow page names stand above their bars instead of left of them.

import { config, FONT } from './config';
import type { Chart, Value } from './model';
import { coloured } from './palette';

type Spec = Record<string, unknown>;

/** Below this many pixels there is no room for names left of bars. */
export const NARROW = 520;

const isSpec = (value: unknown): value is Spec => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Specifications that are drawn side by side or one below the other: Vega-Lite fits only single ones to a width. */
export const isComposed = (spec: Spec): boolean =>
  ['facet', 'hconcat', 'vconcat', 'concat', 'repeat'].some((key) => key in spec) ||
  ['row', 'column', 'facet'].some((channel) => isSpec(spec.encoding) && channel in spec.encoding);

/** The lines of a chart as objects. */
export const records = ({ columns, lines }: Pick<Chart, 'columns' | 'lines'>): Record<string, Value>[] =>
  lines.map((line) => Object.fromEntries(columns.map((column, place) => [column, line[place] ?? null])));

/** How many charts stand beside one another. */
export function abreast(spec: Spec): number {
  const count = Number(spec.columns ?? (isSpec(spec.encoding) && isSpec(spec.encoding.facet) && spec.encoding.facet.columns));
  return Number.isFinite(count) && count > 0 ? count : Array.isArray(spec.hconcat) ? spec.hconcat.length : 1;
}

/** One column of charts on a narrow page. */
function stacked(spec: Spec): Spec {
  const { hconcat, ...rest } = spec;
  const narrow: Spec = hconcat === undefined ? { ...spec } : { ...rest, vconcat: hconcat };
  if ('columns' in narrow) narrow.columns = 1;
  if (isSpec(narrow.encoding) && isSpec(narrow.encoding.facet)) {
    narrow.encoding = { ...narrow.encoding, facet: { ...narrow.encoding.facet, columns: 1 } };
  }
  return narrow;
}

const isDiscrete = (channel: unknown): channel is Spec =>
  isSpec(channel) && (channel.type === 'nominal' || channel.type === 'ordinal');

/** Whether a specification or one of its layers has names along its vertical axis. */
const hasNames = (spec: Spec): boolean =>
  (isSpec(spec.encoding) && isDiscrete(spec.encoding.y)) ||
  (Array.isArray(spec.layer) && spec.layer.some((layer) => isSpec(layer) && hasNames(layer)));

/** Does something to every specification that draws names along its vertical axis. */
function withNames(spec: Spec, change: (axis: Spec) => Spec): Spec {
  const changed = { ...spec };
  if (isSpec(spec.encoding) && isDiscrete(spec.encoding.y) && spec.encoding.y.axis !== null) {
    const axis = isSpec(spec.encoding.y.axis) ? spec.encoding.y.axis : {};
    changed.encoding = { ...spec.encoding, y: { ...spec.encoding.y, axis: change(axis) } };
  }
  if (Array.isArray(spec.layer)) changed.layer = spec.layer.map((one) => (isSpec(one) ? withNames(one, change) : one));
  return changed;
}

const above = (step: number) => (axis: Spec): Spec => ({
  ...axis,
  title: null,
  domain: false,
  ticks: false,
  labelAlign: 'left',
  labelBaseline: 'middle',
  labelPadding: 0,
  labelOffset: -step / 2 + 5,
  labelLimit: 0,
  zindex: 1,
});

const beside = (letters: number) => (axis: Spec): Spec => ({
  labelExpr: `wrapped(datum.label, ${letters})`,
  labelLimit: 0,
  ...axis,
});

const STEP = { wide: 26, narrow: 44 };

/** A single or layered specification with its height, and its names where there is room for them. */
function unit(spec: Spec, width: number): Spec {
  if (!hasNames(spec)) return 'height' in spec ? spec : { ...spec, height: width < NARROW ? 220 : 260 };
  const own = isSpec(spec.height) && typeof spec.height.step === 'number' ? spec.height.step : null;
  if (typeof spec.height === 'number') return spec;
  if (width >= NARROW) {
    return withNames({ ...spec, height: { ...(own ? (spec.height as Spec) : {}), step: own ?? STEP.wide } }, beside(34));
  }
  const step = (own ?? STEP.wide) + STEP.narrow - STEP.wide;
  const named = withNames(spec, above(step));
  return { ...named, height: { ...(own ? (spec.height as Spec) : {}), step } };
}

/** Sets the width of every chart within. */
function sized(spec: Spec, inner: number): Spec {
  if (isSpec(spec.spec)) return { ...spec, spec: sized(spec.spec, inner) };
  for (const key of ['vconcat', 'hconcat', 'concat']) {
    const parts = spec[key];
    if (Array.isArray(parts)) return { ...spec, [key]: parts.map((part) => (isSpec(part) ? sized(part, inner) : part)) };
  }
  return { ...unit(spec, inner), width: inner };
}

export interface Wanted {
  /** Of the whole picture. */
  width: number;
  /** Of each chart within a composed one, once known. */
  inner?: number;
  /** Whether the picture has its title within. */
  titled?: boolean;
}

/** What Vega-Lite draws. */
export function prepared(chart: Chart, { width, inner, titled }: Wanted): Spec {
  const narrow = width < NARROW;
  const given = narrow ? stacked(chart.spec) : chart.spec;
  const composed = isComposed(given);
  const cell = inner ?? Math.floor(width / abreast(given)) - (narrow ? 40 : 110);
  const drawn = composed ? sized(given, Math.max(cell, 80)) : { ...unit(given, width), width };
  return {
    ...(coloured(drawn) as Spec),
    data: { values: records(chart) },
    ...(composed ? {} : { autosize: { type: 'fit-x', contains: 'padding' } }),
    ...(titled ? { title: heading(chart, width) } : {}),
    config: narrow ? narrowed(width) : config,
  };
}

/** Fewer keys in a line, and thinner bars with room for their names. */
const narrowed = (width: number): Spec => ({
  ...config,
  legend: { ...config.legend, columns: Math.max(1, Math.floor(width / 170)), labelLimit: width - 40 },
  scale: { bandPaddingInner: 0.55, bandPaddingOuter: 0.3 },
});

/** A text in lines of at most so many letters; longer words are kept. */
export function wrapped(text: string, letters: number): string[] {
  const lines = [''];
  for (const word of `${text}`.split(/(?<=[\s,])/)) {
    const last = lines[lines.length - 1]!;
    if (last !== '' && (last + word).trimEnd().length > letters) lines.push(word);
    else lines[lines.length - 1] = last + word;
  }
  return lines.map((line) => line.trimEnd());
}

const heading = ({ title, note }: Chart, width: number): Spec => ({
  text: wrapped(title, Math.floor(width / 8)),
  ...(note ? { subtitle: wrapped(note, Math.floor(width / 6.2)) } : {}),
  offset: 12,
  font: FONT,
});
