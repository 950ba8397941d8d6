// Light or dark: as the system has it, or as the reader chose. The choice is kept where the browser lets a file keep anything.

import { element, the } from './dom';

const THEMES = ['auto', 'light', 'dark'] as const;
type Theme = (typeof THEMES)[number];

const KEY = 'keytoll-theme';

/** Storage is refused to pages from files by some browsers, and by some settings. */
function stored(): Theme {
  try {
    const found = localStorage.getItem(KEY);
    return THEMES.find((theme) => theme === found) ?? 'auto';
  } catch {
    return 'auto';
  }
}

function store(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // The theme holds until the page is left.
  }
}

function choose(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  store(theme);
}

const option = (theme: Theme, chosen: Theme): HTMLLabelElement => {
  const input = element('input', { type: 'radio', name: 'theme', value: theme, checked: theme === chosen });
  input.addEventListener('change', () => choose(theme));
  return element('label', {}, input, element('span', {}, theme));
};

/** Puts the switch at the top of the page. */
export function themes(): void {
  const chosen = stored();
  document.documentElement.dataset.theme = chosen;
  const options = THEMES.map((theme) => option(theme, chosen));
  the('header').prepend(element('fieldset', { class: 'theme' }, element('legend', {}, 'Theme'), ...options));
}
