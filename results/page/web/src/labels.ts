// Names in charts: left of their bars where there is room, above them where there is none, and in keys; broken where they are long.

import type { Chart } from './model';
import { fits, isSpec, LETTER, LINE, texts, wrapped } from './texts';

export type Spec = Record<string, unknown>;

const isDiscrete = (channel: unknown): channel is Spec =>
  isSpec(channel) && (channel.type === 'nominal' || channel.type === 'ordinal');

const layers = (spec: Spec): Spec[] => (Array.isArray(spec.layer) ? spec.layer.filter(isSpec) : []);

/** Something of a specification or of the first of its layers that has it. */
function first<T>(spec: Spec, of: (encoding: Spec) => T | null): T | null {
  const own = isSpec(spec.encoding) ? of(spec.encoding) : null;
  return own ?? layers(spec).reduce<T | null>((found, layer) => found ?? first(layer, of), null);
}

/** A specification whose encodings, those of its layers included, are changed. */
function mapped(spec: Spec, change: (encoding: Spec) => Spec): Spec {
  const changed = { ...spec };
  if (isSpec(spec.encoding)) changed.encoding = change(spec.encoding);
  if (Array.isArray(spec.layer)) changed.layer = spec.layer.map((one) => (isSpec(one) ? mapped(one, change) : one));
  return changed;
}

/** Whether there are names along the vertical axis. */
export const hasNames = (spec: Spec): boolean => first(spec, ({ y }) => (isDiscrete(y) ? y : null)) !== null;

const names = (chart: Chart, spec: Spec): string[] =>
  texts(chart, first(spec, ({ y }) => (isDiscrete(y) ? `${y.field}` : null)));

/** How many names there are along the vertical axis. */
export const nameCount = (chart: Chart, spec: Spec): number => names(chart, spec).length;

const BANDED = ['bar', 'rect', 'tick', 'image', 'boxplot'];

/** Whether every name has a band of its own, or only a line for points. */
function isBanded(spec: Spec): boolean {
  const mark = isSpec(spec.mark) ? spec.mark.type : spec.mark;
  const nested = isSpec(spec.encoding) && ('yOffset' in spec.encoding || (isSpec(spec.encoding.y) && 'bandPosition' in spec.encoding.y));
  return BANDED.includes(`${mark}`) || nested || layers(spec).some(isBanded);
}

/** Labels in lines, the last of which is where a single one would be (`by` is 1), or that are centred there (`by` is a half). */
const lined = (letters: number, by: number): Spec => ({
  labelExpr: `wrapped(datum.label, ${letters})`,
  labelLimit: 0,
  labelLineHeight: LINE,
  encoding: { labels: { dy: { value: { signal: `${-by * LINE} * (length(wrapped(datum.label, ${letters})) - 1)` } } } },
});

/** What a name's bar takes of the height. */
const STEP = 26;

/** Names left of their bars or above them, and height for each. */
export function besides(chart: Chart, spec: Spec, width: number, left: boolean): Spec {
  const given = isSpec(spec.height) ? spec.height : {};
  const own = typeof given.step === 'number' ? given.step : STEP;
  const letters = fits(left ? width * 0.3 : width - 16);
  const lines = Math.max(1, ...names(chart, spec).map((text) => wrapped(text, letters).length));
  const [banded, bar] = [isBanded(spec), own * 0.8];
  if (left) {
    const step = Math.max(own, lines * LINE + 6);
    return withHeight(named(spec, lined(letters, 0.5), banded ? { paddingInner: 1 - bar / step } : {}), given, step);
  }
  const step = bar + 8 + lines * LINE;
  const axis = {
    ...lined(letters, 1),
    title: null,
    domain: false,
    ticks: false,
    labelAlign: 'left',
    labelBaseline: 'bottom',
    labelPadding: 0,
    labelOffset: -(banded ? bar / 2 : 6) - 2,
    zindex: 1,
  };
  const padding = 1 - bar / step;
  return withHeight(named(spec, axis, banded ? { paddingInner: padding, paddingOuter: padding } : { padding: 0.75 }), given, step);
}

const withHeight = (spec: Spec, given: Spec, step: number): Spec => ({ ...spec, height: { ...given, step } });

function named(spec: Spec, axis: Spec, scale: Spec): Spec {
  return mapped(spec, (encoding) => {
    const { y } = encoding;
    if (!isDiscrete(y) || y.axis === null) return encoding;
    const changed = { ...(isSpec(y.axis) ? y.axis : {}), ...axis };
    return { ...encoding, y: { ...y, axis: changed, scale: { ...(isSpec(y.scale) ? y.scale : {}), ...scale } } };
  });
}

const KEYED = ['color', 'fill', 'stroke', 'shape', 'strokeDash', 'opacity', 'fillOpacity'];

/** The width of a key's sign, and of what is between two keys. */
const SIGN = 34;

/** Keys in as many columns as fit, their names broken. */
function key(chart: Chart, channel: Spec, width: number): Spec {
  const letters = fits(Math.min(width - SIGN - 10, 420));
  const given = isSpec(channel.scale) && Array.isArray(channel.scale.domain) ? channel.scale.domain.map(String) : texts(chart, channel.field);
  const lines = given.flatMap((text) => wrapped(text, letters));
  const longest = Math.max(4, ...lines.map((line) => line.length));
  const all = given.reduce((sum, text) => sum + wrapped(text, letters)[0]!.length * LETTER + SIGN, 0);
  const columns = all < width ? given.length : Math.max(1, Math.floor(width / (longest * LETTER + SIGN)));
  return { labelExpr: `wrapped(datum.label, ${letters})`, labelLimit: 0, columns };
}

/** Numbers along the horizontal axis, few enough to be read. */
function ticked(encoding: Spec, width: number): Spec {
  const { x } = encoding;
  if (!isSpec(x) || x.type !== 'quantitative' || x.axis === null || (isSpec(x.scale) && x.scale.type === 'log')) return encoding;
  return { ...encoding, x: { ...x, axis: { tickCount: Math.max(3, Math.floor(width / 85)), ...(isSpec(x.axis) ? x.axis : {}) } } };
}

/** A specification, composed or not, whose keys fit to the width, and whose numbers do not crowd. */
export function keyed(chart: Chart, spec: Spec, width: number): Spec {
  const inner = { ...spec };
  if (isSpec(spec.spec)) inner.spec = keyed(chart, spec.spec, width);
  for (const name of ['vconcat', 'hconcat', 'concat']) {
    const parts = spec[name];
    if (Array.isArray(parts)) inner[name] = parts.map((part) => (isSpec(part) ? keyed(chart, part, width) : part));
  }
  return mapped(inner, (encoding) => {
    const changed = ticked(encoding, Number(spec.width ?? width));
    for (const name of KEYED) {
      const channel = encoding[name];
      if (!isDiscrete(channel) || channel.legend === null) continue;
      const own = isSpec(channel.legend) ? channel.legend : {};
      changed[name] = { ...channel, legend: { ...key(chart, channel, width), ...own } };
    }
    return changed;
  });
}
