// What a mark stands for, beside the pointer.

import { element } from './dom';

let made: HTMLElement | undefined;

/** The one element for all of them. */
function box(): HTMLElement {
  made ??= element('div', { class: 'tooltip', 'aria-hidden': 'true', hidden: true });
  if (!made.isConnected) document.body.append(made);
  return made;
}

const shown = (value: unknown): string =>
  typeof value === 'number' ? `${Number(value.toPrecision(6))}` : value === null || value === undefined ? '–' : `${value}`;

function content(value: unknown): Node[] {
  if (typeof value !== 'object' || value === null) return [element('span', {}, shown(value))];
  return Object.entries(value).map(([name, one]) =>
    element('div', {}, element('span', { class: 'name' }, name), ' ', element('b', {}, shown(one))),
  );
}

function moved(place: HTMLElement, { clientX, clientY }: MouseEvent): void {
  const { offsetWidth: width, offsetHeight: height } = place;
  place.style.left = `${Math.max(4, Math.min(clientX + 14, innerWidth - width - 4))}px`;
  place.style.top = `${clientY + 18 + height > innerHeight ? clientY - height - 10 : clientY + 18}px`;
}

/** Vega calls it when the pointer comes to a mark, moves over it, and leaves it. */
export function tooltip(_: unknown, event: MouseEvent, __: unknown, value: unknown): void {
  const place = box();
  place.hidden = value === null || value === undefined || value === '';
  if (place.hidden) return;
  place.replaceChildren(...content(value));
  moved(place, event);
}
