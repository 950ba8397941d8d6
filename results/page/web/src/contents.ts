// The contents: which section is being read.

import { every } from './dom';

/** Marks the section in the contents whose heading was last passed. */
export function contents(): void {
  const links = every<HTMLAnchorElement>('nav a');
  const headings = links.map((link) => document.getElementById(link.hash.slice(1)));
  let current: HTMLAnchorElement | undefined;
  const mark = () => {
    const passed = headings.filter((heading) => heading && heading.getBoundingClientRect().top < innerHeight / 4).length;
    const link = links[passed - 1];
    if (link === current) return;
    current?.removeAttribute('aria-current');
    link?.setAttribute('aria-current', 'location');
    current = link;
  };
  let asked = false;
  const ask = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      mark();
    });
  };
  addEventListener('scroll', ask, { passive: true });
  mark();
}
