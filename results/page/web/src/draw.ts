// Vega's part of a chart: from a specification to a view. Expressions are interpreted, so that the page needs no `eval`.

import { expressionFunction, parse, View } from 'vega';
import type { Spec } from 'vega';
import { expressionInterpreter } from 'vega-interpreter';
import { compile, type TopLevelSpec } from 'vega-lite';

import type { Chart } from './model';
import { standalone } from './palette';
import { isComposed, prepared, wrapped, type Wanted } from './spec';

expressionFunction('wrapped', (text: string, letters: number) => wrapped(text, letters));

/** A view without a place. */
export function view(chart: Chart, wanted: Wanted): View {
  const spec = compile(prepared(chart, wanted) as unknown as TopLevelSpec).spec as Spec;
  const runtime = parse(spec, undefined, { ast: true });
  return new View(runtime, { expr: expressionInterpreter, renderer: 'svg' } as never);
}

/** What a composed chart is wider than wanted, for each chart in it: known only when it is drawn. */
export const correction = (chart: Chart, width: number, drawn: number, abreast: number): number =>
  isComposed(chart.spec) ? (drawn - width) / abreast : 0;

/** The width of a picture that stands alone. */
const ALONE = 720;

/** A picture that stands alone, with its title. */
export async function picture(chart: Chart): Promise<string> {
  const drawn = view(chart, { width: ALONE, titled: true });
  drawn.background(null as never);
  const svg = await drawn.toSVG();
  drawn.finalize();
  return standalone(svg);
}
