// Elements, made in one expression.

type Content = Node | string;

/** An element with attributes and content. Attributes that are `false` or nothing are left out. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Record<string, string | number | boolean | null | undefined> = {},
  ...content: Content[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value === true ? '' : `${value}`);
  }
  made.append(...content);
  return made;
}

/** A button that does something. `name` is what is heard, if more than what is seen. */
export function button(text: string, name: string, action: () => void): HTMLButtonElement {
  const made = element('button', { type: 'button', 'aria-label': name, title: name }, text);
  made.addEventListener('click', action);
  return made;
}

/** Every element below `root` that a selector finds. */
export const every = <E extends Element = HTMLElement>(selector: string, root: ParentNode = document): E[] =>
  Array.from(root.querySelectorAll<E>(selector));

/** The one element below `root` that a selector finds. */
export function the<E extends Element = HTMLElement>(selector: string, root: ParentNode = document): E {
  const found = root.querySelector<E>(selector);
  if (!found) throw new Error(`the page lacks ${selector}`);
  return found;
}

/** What the writer of the page left beside a figure. */
export const data = <T>(figure: Element): T =>
  JSON.parse(the(':scope > script[type="application/json"]', figure).textContent ?? '') as T;

/** The text of a figure's caption. */
export const caption = (figure: Element): string => the('figcaption', figure).textContent ?? '';
