// The ladders of a page: pictures beside the table of the same messages.

import { data, every, the } from './dom';
import { csvButton, svgButton, tools } from './files';
import { ladderPicture } from './ladder-picture';
import type { Ladder, Value } from './model';
import { standalone } from './palette';
import { LADDER } from './pictures';

/** A picture's text as elements. */
export function parsed(svg: string): Element {
  return document.importNode(new DOMParser().parseFromString(svg, 'image/svg+xml').documentElement, true);
}

function draw(plot: HTMLElement, ladder: Ladder): void {
  const width = Math.floor(plot.clientWidth);
  if (width === 0 || `${width}` === plot.dataset.width) return;
  plot.dataset.width = `${width}`;
  plot.replaceChildren(parsed(ladderPicture(ladder, width)));
}

const lines = ({ hops, nodes }: Ladder): Value[][] => [
  ['label', 'from', 'to', 'sent_ms', 'arrived_ms', 'bytes', 'is_repeated'],
  ...hops.map((hop) => [
    hop.label,
    nodes[hop.from] ?? '',
    nodes[hop.to] ?? '',
    hop.sent_ms,
    hop.arrived_ms,
    hop.bytes,
    hop.is_repeated,
  ]),
];

function begin(figure: HTMLElement): void {
  const ladder = data<Ladder>(figure);
  const plot = the('.plot', figure);
  plot.setAttribute('role', 'img');
  plot.setAttribute('aria-label', `${ladder.title}: ${ladder.hops.length} messages, in the table below`);
  draw(plot, ladder);
  new ResizeObserver(() => draw(plot, ladder)).observe(plot);
  the('figcaption', figure).after(
    tools(
      csvButton(figure.id, ladder.title, () => lines(ladder)),
      svgButton(figure.id, ladder.title, async () => standalone(ladderPicture(ladder, LADDER, true))),
    ),
  );
}

/** Takes charge of every ladder of the page. */
export const ladders = (): void => every('figure.ladder').forEach(begin);
