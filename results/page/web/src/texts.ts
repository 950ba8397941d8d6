// Texts within charts: about how wide they are, and where they are broken.

import type { Chart } from './model';

export const isSpec = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** About as many pixels wide is a letter of a label, and as high a line of it. */
export const LETTER = 6.3;
export const LINE = 14;

/** How many letters fit. */
export const fits = (pixels: number, letter = LETTER): number => Math.max(10, Math.floor(pixels / letter));

/** A text in lines of at most so many letters; longer words are kept. */
export function wrapped(text: string, letters: number): string[] {
  const lines = [''];
  for (const word of `${text}`.split(/(?<=[\s,/])/)) {
    const last = lines[lines.length - 1]!;
    if (last !== '' && (last + word).trimEnd().length > letters) lines.push(word);
    else lines[lines.length - 1] = last + word;
  }
  return lines.map((line) => line.trimEnd());
}

/** The texts of a column, each once. */
export function texts({ columns, lines }: Chart, field: unknown): string[] {
  const column = columns.indexOf(`${field}`);
  return column < 0 ? [] : [...new Set(lines.map((line) => `${line[column] ?? ''}`))];
}
