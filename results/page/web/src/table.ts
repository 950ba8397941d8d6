// Tables that are sorted by a click on a head and filtered by words.

import { element, every, the } from './dom';
import { csvButton, tools } from './files';
import type { Value } from './model';

/** Fewer lines than this are seen at once. */
const LINES_MIN = 9;

/** More lines than this scroll within the table, below its heads. */
const LINES_MAX = 30;

type Order = 'ascending' | 'descending' | 'none';

const written = (cell: Element | undefined): string =>
  (cell instanceof HTMLElement ? cell.dataset.written : undefined) ?? cell?.textContent ?? '';

let collator: Intl.Collator | undefined;

/** Texts by their letters and the numbers in them. */
function letters(one: string, other: string): number {
  collator ??= new Intl.Collator('en', { numeric: true, sensitivity: 'base' });
  return collator.compare(one, other);
}

/** Numbers by size; what is empty comes last either way. */
function compared(one: string, other: string, sign: 1 | -1): number {
  if (one === '' || other === '') return Number(one === '') - Number(other === '');
  const [left, right] = [Number(one), Number(other)];
  const difference = Number.isNaN(left) || Number.isNaN(right) ? letters(one, other) : left - right;
  return sign * difference;
}

/** Lines as they were written, to which the third click returns. */
const original = new WeakMap<HTMLTableElement, HTMLTableRowElement[]>();

const lines = (table: HTMLTableElement): HTMLTableRowElement[] => every<HTMLTableRowElement>('tbody > tr', table);

function sort(table: HTMLTableElement, column: number, order: Order): void {
  const before = original.get(table) ?? lines(table);
  original.set(table, before);
  const sign = order === 'descending' ? -1 : 1;
  const by = (row: HTMLTableRowElement) => written(row.cells[column]);
  const after = order === 'none' ? before : before.slice().sort((one, other) => compared(by(one), by(other), sign));
  table.tBodies[0]?.append(...after);
  every('thead th', table).forEach((head, place) => {
    if (place === column && order !== 'none') head.setAttribute('aria-sort', order);
    else head.removeAttribute('aria-sort');
  });
}

/** Numbers are first sorted from the greatest, names from A. */
function next(now: string | null, isNumber: boolean): Order {
  const turns: Order[] = isNumber ? ['descending', 'ascending', 'none'] : ['ascending', 'descending', 'none'];
  const place = now === null ? -1 : turns.indexOf(now as Order);
  return turns[(place + 1) % 3]!;
}

function sortable(table: HTMLTableElement): void {
  every<HTMLTableCellElement>('thead th', table).forEach((head, column) => {
    const text = element('button', { type: 'button' });
    text.append(...Array.from(head.childNodes), element('span', { class: 'arrow', 'aria-hidden': 'true' }));
    text.addEventListener('click', () => sort(table, column, next(head.getAttribute('aria-sort'), head.classList.contains('n'))));
    head.replaceChildren(text);
  });
}

/** Shows the lines that contain every word. */
function filter(table: HTMLTableElement, text: string, count: HTMLElement): void {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const all = lines(table);
  for (const line of all) {
    const content = line.textContent?.toLowerCase() ?? '';
    line.hidden = !words.every((word) => content.includes(word));
  }
  const shown = all.filter((line) => !line.hidden).length;
  count.textContent = words.length ? `${shown} of ${all.length} lines` : '';
}

function filterBox(table: HTMLTableElement, title: string): HTMLElement {
  const count = element('span', { class: 'count', role: 'status' });
  const box = element('input', { type: 'search', placeholder: 'Filter', 'aria-label': `Filter: ${title}`, spellcheck: 'false' });
  box.addEventListener('input', () => filter(table, box.value, count));
  return element('div', { class: 'filter' }, box, count);
}

/** Heads with their units, and the lines in the order they are in; those filtered away are left out. */
function content(table: HTMLTableElement): Value[][] {
  const head = every<HTMLTableCellElement>('thead th', table).map((cell) => {
    const unit = cell.querySelector('.unit')?.textContent;
    const name = (cell.textContent ?? '').trim();
    return unit ? `${name.slice(0, name.length - unit.length).trim()} (${unit})` : name;
  });
  const shown = lines(table).filter((line) => !line.hidden);
  return [head, ...shown.map((line) => Array.from(line.cells, written))];
}

/** Makes a table of the page sortable, filterable if it is long, and its data a file. */
export function enhance(place: HTMLElement, isFile = true): void {
  const table = the<HTMLTableElement>('table', place);
  const caption = the(':scope > .caption', place);
  const title = caption.textContent ?? '';
  sortable(table);
  const bar = tools();
  if (lines(table).length > LINES_MAX) the('.scroll', place).classList.add('high');
  if (lines(table).length >= LINES_MIN) bar.append(filterBox(table, title));
  if (isFile) bar.append(csvButton(place.id, title, () => content(table)));
  if (bar.childElementCount > 0) caption.after(bar);
}

/** Takes charge of every table of the page. */
export const tables = (): void => every('.table').forEach((place) => enhance(place));

