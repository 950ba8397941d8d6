// Bundles the page's script and style sheet, and writes what goes with them: licences, and the policy by which a browser runs nothing
// else. `--check` compares with what is checked in instead of writing.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const assets = join(here, '..', 'assets');
const palette = JSON.parse(readFileSync(join(here, 'src/palette.json'), 'utf8'));

/** The colours as CSS variables, before the style sheet. */
const variables = Object.entries(palette)
  .map(([name, [light, dark]]) => `--${name}:light-dark(${light},${dark})`)
  .join(';');

const common = {
  absWorkingDir: here,
  bundle: true,
  minify: true,
  write: false,
  charset: 'utf8',
  legalComments: 'none',
  logLevel: 'warning',
  target: ['chrome123', 'firefox120', 'safari17.5'],
};

const script = await build({
  ...common,
  entryPoints: ['src/main.ts'],
  format: 'iife',
  alias: { vega: './src/vega.js' },
  metafile: true,
});

const style = await build({
  ...common,
  stdin: { contents: `:root{${variables}}\n${readFileSync(join(here, 'src/page.css'), 'utf8')}`, loader: 'css' },
});

/** The folders of the packages that are in the script. */
function packages(metafile) {
  const inside = Object.keys(metafile.inputs).filter((path) => path.includes('node_modules/'));
  const folder = (path) => path.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/)[0];
  return [...new Set(inside.map(folder))].sort();
}

/** Every licence text once, below the packages it is of. */
function licences(metafile) {
  const byText = new Map();
  for (const folder of packages(metafile)) {
    const { name, version, license } = JSON.parse(readFileSync(join(here, folder, 'package.json'), 'utf8'));
    const file = readdirSync(join(here, folder)).find((name) => /^licen[cs]e/i.test(name));
    const text = file ? readFileSync(join(here, folder, file), 'utf8').replace(/\r/g, '').trim() : `Licence: ${license}`;
    byText.set(text, [...(byText.get(text) ?? []), `${name} ${version} (${license})`]);
  }
  return [...byText].map(([text, names]) => `${names.join(', ')}\n\n${text}\n`).join(`\n${'-'.repeat(72)}\n\n`);
}

const js = script.outputFiles[0].text.trimEnd();
const css = style.outputFiles[0].text.trimEnd();
if (/<\/script|<!--/i.test(js) || /<\/style/i.test(css)) throw new Error('an asset would end its own element');

const digest = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const policy = [
  "default-src 'none'",
  `script-src ${digest(js)}`,
  `style-src ${digest(css)}`,
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const outputs = { 'page.js': js, 'page.css': css, 'policy.txt': policy, 'licences.txt': licences(script.metafile) };

if (process.argv.includes('--check')) {
  const differs = Object.entries(outputs).filter(([name, text]) => {
    const path = join(assets, name);
    return !existsSync(path) || readFileSync(path, 'utf8') !== text;
  });
  for (const [name] of differs) console.error(`${relative(process.cwd(), join(assets, name))} is not what its source builds: run web/build.sh`);
  process.exit(differs.length ? 1 : 0);
}
for (const [name, text] of Object.entries(outputs)) writeFileSync(join(assets, name), text);
console.log(Object.entries(outputs).map(([name, text]) => `${name} ${Buffer.byteLength(text)} bytes`).join(', '));
