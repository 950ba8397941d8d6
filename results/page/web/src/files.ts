// Files that a reader takes along: CSV and SVG, made in the page.

import { button, element } from './dom';
import type { Value } from './model';

/** A field as RFC 4180 has it. */
const field = (value: Value): string => {
  const text = value === null ? '' : `${value}`;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** Lines of fields as a CSV file. */
export const csv = (lines: Value[][]): string => lines.map((line) => `${line.map(field).join(',')}\r\n`).join('');

function save(name: string, type: string, content: string): void {
  const address = URL.createObjectURL(new Blob([content], { type }));
  const link = element('a', { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** A button that saves the data of a figure or table. */
export const csvButton = (id: string, title: string, lines: () => Value[][]): HTMLButtonElement =>
  button('CSV', `CSV: data of ${title}`, () => save(`${id}.csv`, 'text/csv', csv(lines())));

/** A button that saves a picture. */
export const svgButton = (id: string, title: string, picture: () => Promise<string>): HTMLButtonElement =>
  button('SVG', `SVG: picture of ${title}`, () => {
    void picture().then((svg) => save(`${id}.svg`, 'image/svg+xml', svg));
  });

/** The buttons of a figure or table. */
export const tools = (...buttons: HTMLElement[]): HTMLDivElement => element('div', { class: 'tools' }, ...buttons);
