// Colours by name. A specification names a colour `@network` and the same with its pattern `@network-fill`; in the page they become
// CSS variables, so that charts follow the theme without being drawn again, and in a picture that stands alone they are resolved.

import palette from './palette.json';

type Pattern = 'plain' | 'rising' | 'falling' | 'upright' | 'level' | 'dotted' | 'hollow';
type Entry = [light: string, dark: string, pattern?: string];

const PALETTE = palette as unknown as Record<string, Entry>;

export const SERIES = Object.keys(PALETTE).filter((name) => name.startsWith('series-'));

const pattern = (name: string): Pattern => (PALETTE[name]?.[2] ?? 'plain') as Pattern;

/** The colour of this name, as CSS. */
export const colour = (name: string): string => `var(--${name})`;

/** The fill of this name: its colour, or its pattern. */
export const fill = (name: string): string => (pattern(name) === 'plain' ? colour(name) : `url(#fill-${name})`);

/** What stands for `@name` and `@name-fill`; other texts stand for themselves. */
function named(text: string): string {
  if (!text.startsWith('@')) return text;
  const name = text.slice(1);
  if (name in PALETTE) return colour(name);
  const base = name.replace(/-fill$/, '');
  if (base in PALETTE) return fill(base);
  console.error(`no colour is named ${text}`);
  return colour('ink');
}

/** A specification whose colours are resolved. */
export function coloured(value: unknown): unknown {
  if (typeof value === 'string') return named(value);
  if (Array.isArray(value)) return value.map(coloured);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, coloured(inner)]));
}

const line = (x: number, y: number, width: number, height: number, fill: string, opacity = 1): string =>
  `<rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${fill}" fill-opacity="${opacity}"/>`;

/** A pattern of stripes of paper over the colour, or of the colour over paper. */
function definition(name: string): string {
  const [ink, paper] = [colour(name), colour('paper')];
  const stripes = (turn: number) => [turn, line(0, 0, 6, 6, ink) + line(0, 0, 2, 6, paper, 0.5)] as const;
  const kinds: Record<Pattern, readonly [number, string]> = {
    plain: [0, line(0, 0, 6, 6, ink)],
    rising: stripes(45),
    falling: stripes(-45),
    upright: stripes(0),
    level: stripes(90),
    dotted: [0, `${line(0, 0, 6, 6, ink)}<circle cx="3" cy="3" r="1.2" fill="${paper}"/>`],
    hollow: [-45, line(0, 0, 6, 6, paper) + line(0, 0, 2.2, 6, ink)],
  };
  const [turn, content] = kinds[pattern(name)];
  return (
    `<pattern id="fill-${name}" patternUnits="userSpaceOnUse" width="6" height="6" ` +
    `patternTransform="rotate(${turn})">${content}</pattern>`
  );
}

const patterned = Object.keys(PALETTE).filter((name) => pattern(name) !== 'plain');

/** The patterns of these names, of all without any. */
export const definitions = (names: string[] = patterned): string => names.map(definition).join('');

/** A picture that stands alone: with the patterns it uses, and colours instead of variables. */
export function standalone(svg: string, theme: 0 | 1 = 0): string {
  const used = patterned.filter((name) => svg.includes(`url(#fill-${name})`));
  const defined = svg.replace(/(<svg[^>]*>)/, `$1<defs>${definitions(used)}</defs>`);
  return defined.replace(/var\(--([a-z0-9-]+)\)/g, (_, name: string) => PALETTE[name]?.[theme] ?? '#000000');
}
