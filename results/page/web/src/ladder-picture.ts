// A ladder as a picture: nodes from left to right, time from top to bottom. Pure text, in the page's colours by name.

import { FONT } from './config';
import type { Hop, Ladder } from './model';
import { colour } from './palette';

/** Time is to scale, but no two messages are sent closer than this. */
const GAP = { sent: 24, other: 5 };
const HEAD = 40;
/** Where the times stand. */
const MARGIN = 58;

const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (letter) => `&#${letter.charCodeAt(0)};`);

const text = (x: number, y: number, content: string, more = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${colour('ink')}" ${more}>${escaped(content)}</text>`;

const segment = (from: [number, number], to: [number, number], more: string): string =>
  `<line x1="${from[0].toFixed(1)}" y1="${from[1].toFixed(1)}" x2="${to[0].toFixed(1)}" y2="${to[1].toFixed(1)}" ${more}/>`;

/** Milliseconds with the digits that matter. */
const ms = (time: number): string => (time >= 1000 ? time.toFixed(0) : time >= 10 ? time.toFixed(1) : time.toFixed(2));

/** From times to places: in proportion where there is room, with a gap where there is none. */
function places(hops: Hop[]): (time: number) => number {
  const sent = new Set(hops.map((hop) => hop.sent_ms));
  const times = [...new Set(hops.flatMap((hop) => [hop.sent_ms, hop.arrived_ms ?? hop.sent_ms]))].sort((a, b) => a - b);
  const total = times.length ? times[times.length - 1]! - times[0]! : 0;
  const scale = total > 0 ? (hops.length * GAP.sent) / total : 0;
  const found = new Map<number, number>();
  let [y, before, lastSent] = [HEAD + 26, times[0] ?? 0, Number.NEGATIVE_INFINITY];
  for (const time of times) {
    if (found.size > 0) y += Math.max(GAP.other, (time - before) * scale);
    if (sent.has(time)) {
      y = Math.max(y, lastSent + GAP.sent);
      lastSent = y;
    }
    found.set(time, y);
    before = time;
  }
  return (time) => found.get(time) ?? y;
}

/** A head at the end of a line. */
function arrowhead(from: [number, number], to: [number, number], stroke: string): string {
  const angle = Math.atan2(to[1] - from[1], to[0] - from[0]);
  const corner = (turn: number) =>
    [to[0] - 8 * Math.cos(angle + turn), to[1] - 8 * Math.sin(angle + turn)].map((place) => place.toFixed(1)).join(',');
  return `<polygon points="${to[0].toFixed(1)},${to[1].toFixed(1)} ${corner(0.4)} ${corner(-0.4)}" fill="${stroke}"/>`;
}

const cross = ([x, y]: [number, number], stroke: string): string =>
  segment([x - 5, y - 5], [x + 5, y + 5], `stroke="${stroke}" stroke-width="2"`) +
  segment([x - 5, y + 5], [x + 5, y - 5], `stroke="${stroke}" stroke-width="2"`);

/** About as wide as the text is. */
const extent = (content: string): number => content.length * 6.1;

/** The label of a message and its line, which is drawn over the labels of others. */
function message(hop: Hop, width: number, column: (node: number) => number, place: (time: number) => number): [string, string] {
  const from: [number, number] = [column(hop.from), place(hop.sent_ms)];
  const lost = hop.arrived_ms === null;
  const end = column(hop.to);
  const to: [number, number] = lost
    ? [from[0] + (end - from[0]) * 0.72, from[1] + 6]
    : [end, Math.max(from[1] + 2, place(hop.arrived_ms!))];
  const stroke = colour(lost ? 'lost' : hop.is_repeated ? 'faint' : 'series-1');
  const dash = hop.is_repeated ? 'stroke-dasharray="5 3"' : '';
  const remark = [hop.is_repeated && 'repeated', lost && 'lost'].filter(Boolean).join(', ');
  const label = `${hop.label} · ${hop.bytes} B${remark ? ` · ${remark}` : ''}`;
  const half = extent(label) / 2 + 2;
  const middle = Math.max(MARGIN + half, Math.min((from[0] + end) / 2, width - half));
  const halo = `stroke="${colour('paper')}" stroke-width="4" paint-order="stroke" stroke-linejoin="round"`;
  const at = Math.min(from[1], to[1]) - 4 + Math.abs(to[1] - from[1]) * 0.2;
  return [
    text(middle, at, label, `text-anchor="middle" ${halo}`),
    segment(from, to, `stroke="${stroke}" stroke-width="1.6" ${dash}`) +
      (lost ? cross(to, stroke) : arrowhead(from, to, stroke)),
  ];
}

/** The picture of a ladder, so many pixels wide. */
export function ladderPicture(ladder: Ladder, width: number, titled = false): string {
  const place = places(ladder.hops);
  const last = Math.max(HEAD + 30, ...ladder.hops.map((hop) => place(hop.arrived_ms ?? hop.sent_ms)));
  const top = titled ? 26 : 0;
  const height = last + 22 + top;
  const room = width - MARGIN - 46;
  const column = (node: number) => MARGIN + 36 + (ladder.nodes.length > 1 ? (room * node) / (ladder.nodes.length - 1) : 0) - 18;
  const heads = ladder.nodes.map(
    (name, node) =>
      text(column(node), HEAD - 14, name, 'text-anchor="middle" font-weight="600"') +
      segment([column(node), HEAD], [column(node), last + 14], `stroke="${colour('edge')}" stroke-width="1.2"`),
  );
  const times = ladder.hops.map((hop) => text(MARGIN - 14, place(hop.sent_ms) + 4, ms(hop.sent_ms), 'text-anchor="end"'));
  const unit = text(MARGIN - 14, HEAD - 14, 'ms', 'text-anchor="end"');
  const messages = ladder.hops.map((hop) => message(hop, width, column, place));
  const drawn = [0, 1].map((part) => messages.map((message) => message[part]).join('')).join('');
  const title = titled ? text(4, 18, ladder.title, 'font-weight="600" font-size="14"') : '';
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height.toFixed(0)}" width="${width}" height="${height.toFixed(0)}" ` +
    `font-family="${escaped(FONT)}" font-size="11.5">${title}<g transform="translate(0,${top})">` +
    `${heads.join('')}${unit}${times.join('')}${drawn}</g></svg>`
  );
}
