// Vega's part of a chart: from a specification to a view. Expressions are interpreted, so that the page needs no `eval`.

import { expressionFunction, parse, View } from 'vega';
import type { Spec } from 'vega';
import { expressionInterpreter } from 'vega-interpreter';
import { compile, type TopLevelSpec } from 'vega-lite';

import type { Chart } from './model';
import { standalone } from './palette';
import { prepared, type Prepared } from './spec';
import { wrapped } from './texts';

expressionFunction('wrapped', (text: string, letters: number) => wrapped(text, letters));

/** Vega-Lite says so of every chart with names, whose height is by names anyhow. */
const KNOWN = 'Dropping "fit-y"';

const logger = {
  level: () => logger,
  error: (...said: unknown[]) => (console.error(...said), logger),
  warn: (...said: unknown[]) => (`${said[0]}`.startsWith(KNOWN) || console.warn(...said), logger),
  info: () => logger,
  debug: () => logger,
};

/** Keys that have shapes need no dashes around them. */
const keys = (spec: Spec): Spec => ({
  ...spec,
  ...(spec.legends && {
    legends: spec.legends.map(({ strokeDash, ...legend }) =>
      strokeDash && !legend.shape ? { ...legend, strokeDash } : legend,
    ),
  }),
});

/** A view without a place. */
function view({ spec }: Prepared): View {
  const compiled = compile(spec as unknown as TopLevelSpec, { logger: logger as never }).spec as Spec;
  return new View(parse(keys(compiled), undefined, { ast: true }), { expr: expressionInterpreter, renderer: 'svg' } as never);
}

/** A chart that is drawn as soon as it is run: Vega does it in the microtasks that follow. */
export interface Drawn {
  view: View;
  /** Whether it must be drawn once more: how wide its charts should be for a picture of the wanted width, `width` being what it has. */
  correction: (width: number) => number | null;
}

/** A view of a chart at a width; the charts of a composed one get `inner` of it. */
export function drawn(chart: Chart, width: number, titled = false, inner?: number): Drawn {
  const ready = prepared(chart, width, titled, inner);
  const correction = (actual: number) => {
    if (!ready.inner || inner !== undefined) return null;
    const excess = (actual - width) / ready.inner.abreast;
    return Math.abs(excess) < 1 ? null : Math.floor(ready.inner.width - excess);
  };
  return { view: view(ready), correction };
}

/** The width of a picture that stands alone. */
const ALONE = 720;

const svg = async (view: View): Promise<string> => {
  const text = await view.toSVG();
  view.finalize();
  return text;
};

/** A picture that stands alone, with its title. */
export async function picture(chart: Chart): Promise<string> {
  const first = drawn(chart, ALONE, true);
  const text = await svg(first.view);
  const inner = first.correction(Number(/<svg[^>]* width="([\d.]+)"/.exec(text)?.[1] ?? ALONE));
  return standalone(inner === null ? text : await svg(drawn(chart, ALONE, true, inner).view));
}
