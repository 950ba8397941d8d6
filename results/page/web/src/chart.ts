// The charts of a page: each is drawn when it comes near to what is seen, and again when its width changes.

import { button, caption, data, element, every, the } from './dom';
import { drawn, picture, type Drawn } from './draw';
import { csvButton, svgButton, tools } from './files';
import type { Chart, Value } from './model';
import { roughHeight } from './spec';
import { enhance } from './table';
import { tooltip } from './tooltip';

interface Drawing {
  chart: Chart;
  plot: HTMLElement;
  /** The width it was drawn for; 0 before. */
  width: number;
  now: Drawn | null;
}

const drawings = new Map<Element, Drawing>();

/** Draws what stands for itself in the page's colours, whatever the theme. */
function show(drawing: Drawing, inner?: number): Drawn {
  const { chart, plot, width } = drawing;
  drawing.now?.view.finalize();
  const place = element('div', { class: 'vega', 'aria-hidden': 'true' });
  const made = drawn(chart, width, false, inner);
  made.view.tooltip(tooltip as never);
  made.view.initialize(place);
  made.view.run();
  plot.replaceChildren(place);
  plot.style.minHeight = '';
  plot.setAttribute('role', 'img');
  plot.setAttribute('aria-label', chart.description || chart.title);
  drawing.now = made;
  return made;
}

/** Draws a chart for the width it has, if it was not; what is composed of several charts is drawn again once its width is known. */
async function draw(drawing: Drawing): Promise<void> {
  const width = Math.floor(drawing.plot.clientWidth);
  if (width === 0 || width === drawing.width) return;
  drawing.width = width;
  const made = show(drawing);
  await made.view.runAsync();
  if (drawing.now !== made) return;
  const inner = made.correction(drawing.plot.querySelector('svg')?.width.baseVal.value ?? width);
  if (inner !== null) show(drawing, inner);
}

/** Draws what comes near to what is seen, and from then on whenever its width changes. */
function observe(): void {
  let waiting: ReturnType<typeof setTimeout> | undefined;
  const widths = new ResizeObserver(() => {
    clearTimeout(waiting);
    waiting = setTimeout(() => drawings.forEach((drawing) => drawing.width && void draw(drawing)), 120);
  });
  const near = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const drawing = drawings.get(target);
        if (!drawing || !isIntersecting) continue;
        near.unobserve(target);
        void draw(drawing);
        widths.observe(target);
      }
    },
    { rootMargin: '500px' },
  );
  drawings.forEach((_, plot) => near.observe(plot));
}

/** More lines than this are for the CSV file. */
const LINES_MAX = 500;

/** The chart's data as a table, made when it is asked for. */
function table(id: string, chart: Chart): HTMLElement {
  const isNumber = chart.columns.map((_, column) => chart.lines.every((line) => typeof line[column] !== 'string'));
  const cell = (value: Value, column: number) => {
    const text = value === null ? '' : typeof value === 'number' ? `${Number(value.toPrecision(6))}` : `${value}`;
    return element('td', { class: isNumber[column] && 'n', 'data-written': `${value ?? ''}` }, text);
  };
  const head = chart.columns.map((name, place) => element('th', { scope: 'col', class: isNumber[place] && 'n' }, name));
  const lines = chart.lines.slice(0, LINES_MAX).map((line) => element('tr', {}, ...line.map(cell)));
  const more = chart.lines.length - lines.length;
  const title = `Data of ${chart.title}${more > 0 ? `: the first ${lines.length} of ${chart.lines.length} lines` : ''}`;
  const caption = `${id}-data-caption`;
  const made = element(
    'div',
    { class: 'table', id: `${id}-data` },
    element('p', { class: 'caption', id: caption }, title),
    element(
      'div',
      { class: 'scroll high', role: 'group', 'aria-labelledby': caption, tabindex: 0 },
      element(
        'table',
        { 'aria-labelledby': caption },
        element('thead', {}, element('tr', {}, ...head)),
        element('tbody', {}, ...lines),
      ),
    ),
  );
  enhance(made, false);
  return made;
}

function tableButton(figure: HTMLElement, chart: Chart): HTMLButtonElement {
  const toggle = button('Table', `Table: data of ${chart.title}`, () => {
    const open = toggle.getAttribute('aria-expanded') !== 'true';
    toggle.setAttribute('aria-expanded', `${open}`);
    if (open) the('.plot', figure).after(table(figure.id, chart));
    else figure.querySelector(':scope > .table')?.remove();
  });
  toggle.setAttribute('aria-expanded', 'false');
  return toggle;
}

function begin(figure: HTMLElement): void {
  const note = figure.querySelector(':scope > .note')?.textContent ?? '';
  const chart: Chart = { ...data<Omit<Chart, 'title' | 'note'>>(figure), title: caption(figure), note };
  const plot = the('.plot', figure);
  if (plot.clientWidth > 0) plot.style.minHeight = `${roughHeight(chart, plot.clientWidth)}px`;
  drawings.set(plot, { chart, plot, width: 0, now: null });
  the('figcaption', figure).after(
    tools(
      tableButton(figure, chart),
      csvButton(figure.id, chart.title, () => [chart.columns, ...chart.lines]),
      svgButton(figure.id, chart.title, () => picture(chart)),
    ),
  );
}

/** Takes charge of every chart of the page. */
export function charts(): void {
  every('figure.chart').forEach(begin);
  observe();
  addEventListener('beforeprint', () => drawings.forEach((drawing) => drawing.width || void draw(drawing)));
}
