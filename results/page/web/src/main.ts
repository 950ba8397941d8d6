// Everything that moves on a page of keytoll, which is complete without it but for charts and ladders. Where there is no page, in an
// engine that a program embeds, the same script draws pictures.

import './bare';

import { charts } from './chart';
import { contents } from './contents';
import { ladders, parsed } from './ladder';
import { definitions } from './palette';
import { pictures } from './pictures';
import { rankings } from './ranking';
import { tables } from './table';
import { themes } from './theme';

/** Patterns that all charts of the page refer to. */
function patterns(): void {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" class="patterns" aria-hidden="true" width="0" height="0"><defs>${definitions()}</defs></svg>`;
  document.body.append(parsed(svg));
}

function begin(): void {
  document.documentElement.classList.add('scripted');
  themes();
  contents();
  patterns();
  tables();
  ladders();
  rankings();
  charts();
}

if ('document' in globalThis) begin();
else Object.assign(globalThis, { pictures });
