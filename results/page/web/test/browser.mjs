// Opens a page in Chromium and does what a reader does: `node test/browser.mjs PAGE [FOLDER FOR SCREENSHOTS]`. The page has one of
// everything (`cargo run -p keytoll-page --example page`), or is a run's report, of which what it lacks is left out.
// CHROMIUM names the browser, Debian's is the default; TESTS is a pattern of the names of those to do, all by default.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import axe from 'axe-core';
import { chromium } from 'playwright-core';

const [path, shots] = process.argv.slice(2);
if (!path) throw new Error('usage: node test/browser.mjs PAGE [FOLDER FOR SCREENSHOTS]');
const address = pathToFileURL(resolve(path)).href;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
});

/** What a page must never do: complain, fail, or ask for anything but itself. */
async function open(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, acceptDownloads: true, ...options });
  const page = await context.newPage();
  const wrong = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && wrong.length < 9) wrong.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => wrong.push(`exception: ${error.message}`));
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith('blob:') && url.split('#')[0] !== address) wrong.push(`request: ${url}`);
  });
  await page.goto(address);
  return { page, wrong, close: () => context.close() };
}

/** As before printing: all that is not hidden is drawn. */
async function drawAll(page) {
  await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
  await page.waitForFunction(() =>
    [...document.querySelectorAll('figure.chart .plot')].every((plot) => plot.clientWidth === 0 || plot.querySelector('svg')),
  );
  await page.waitForTimeout(150);
}

/** By keyboard: a pointer that a busy machine presses before and lifts after a chart is drawn misses what that moves. */
const press = (button) => button.press('Enter');

async function saved(page, button) {
  const [download] = await Promise.all([page.waitForEvent('download'), press(button)]);
  return { name: download.suggestedFilename(), text: await readFile(await download.path(), 'utf8') };
}

const tests = {
  /** The best of three: others may have the processors. */
  async 'is shown within a second'({ page }) {
    const times = [];
    for (let turn = 0; turn < 3; turn += 1) {
      times.push(
        await page.evaluate(async () => {
          await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
          const [{ domContentLoadedEventEnd: scripts }] = performance.getEntriesByType('navigation');
          const [paint] = performance.getEntriesByName('first-contentful-paint');
          return Math.max(scripts, paint?.startTime ?? 0);
        }),
      );
      await page.reload();
    }
    const best = Math.min(...times);
    console.log(`  painted, and all scripts have run, after ${best.toFixed(0)} ms`);
    assert.ok(best < 1000, `${times} ms`);
  },

  async 'tells its contents, and every part of it exists'({ page }) {
    const targets = await page.locator('nav a').evaluateAll((links) => links.map((link) => link.getAttribute('href').slice(1)));
    assert.ok(targets.length > 0);
    const missing = await page.evaluate((ids) => ids.filter((id) => !document.getElementById(id)), targets);
    assert.deepEqual(missing, []);
    const twice = await page.evaluate(() => {
      const ids = [...document.querySelectorAll('[id]')].map((one) => one.id);
      return ids.filter((id, place) => ids.indexOf(id) !== place);
    });
    assert.deepEqual(twice, [], 'ids are given once');
  },

  async 'draws every chart when it comes near'({ page }) {
    for (const plot of await page.locator('figure.chart .plot').all()) {
      if (!(await plot.isVisible())) continue;
      await plot.scrollIntoViewIfNeeded();
      await plot.locator('svg').first().waitFor();
    }
    const empty = await page.locator('figure.chart').evaluateAll((figures) =>
      figures.filter((figure) => figure.checkVisibility() && figure.querySelectorAll('.plot svg path').length < 3).map((figure) => figure.id),
    );
    assert.deepEqual(empty, []);
  },

  async 'sorts a table by a column, both ways and back'({ page }) {
    await drawAll(page);
    const table = page.locator('.table:has(th.n)').first();
    const place = await table.evaluate((one) => [...one.querySelectorAll('thead th')].findIndex((head) => head.classList.contains('n')));
    const column = () =>
      table.evaluate(
        (one, at) => [...one.querySelectorAll('tbody tr')].map((row) => row.cells[at].dataset.written ?? row.cells[at].textContent),
        place,
      );
    const head = table.locator('thead th').nth(place);
    const before = await column();
    for (const order of ['descending', 'ascending']) {
      await head.getByRole('button').click();
      assert.equal(await head.getAttribute('aria-sort'), order);
      const numbers = (await column()).filter(Boolean).map(Number);
      const sorted = numbers.slice().sort((one, other) => (order === 'ascending' ? one - other : other - one));
      assert.deepEqual(numbers, sorted);
    }
    await head.getByRole('button').press('Enter');
    assert.equal(await head.getAttribute('aria-sort'), null);
    assert.deepEqual(await column(), before);
  },

  async 'filters a table by words'({ page }) {
    const box = page.locator('input[type=search]').first();
    if ((await box.count()) === 0) return 'no long table';
    const table = page.locator('.table:has(input[type=search])').first();
    const rows = () => table.locator('tbody tr:visible').count();
    const all = await rows();
    const word = (await table.locator('tbody th').first().textContent()).slice(0, 24);
    await box.fill(word.toUpperCase());
    const some = await rows();
    assert.ok(some >= 1 && some <= all, `${some} of ${all}`);
    await box.fill('no line has this word');
    assert.equal(await rows(), 0);
    assert.match(await table.getByRole('status').textContent(), /^0 of \d+ lines$/);
    await box.fill('');
    assert.equal(await rows(), all);
  },

  async 'saves a table as CSV'({ page }) {
    const table = page.locator('.table:has(> .tools button:text("CSV"))').first();
    const { name, text } = await saved(page, table.getByRole('button', { name: 'CSV' }));
    assert.match(name, /^[\w-]+\.csv$/);
    const rows = await table.locator('tbody tr').count();
    assert.equal(text.trimEnd().split('\r\n').length, rows + 1);
    const columns = await table.locator('thead th').count();
    assert.equal(text.split('\r\n')[0].split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/).length, columns);
  },

  async 'saves the data and the picture of a chart'({ page }) {
    const chart = page.locator('figure.chart').first();
    const csv = await saved(page, chart.getByRole('button', { name: 'CSV' }));
    assert.ok(csv.text.split('\r\n').length > 2);
    for (const figure of await page.locator('figure.chart, figure.ladder, figure.ranking').all()) {
      if (!(await figure.isVisible())) continue;
      const svg = await saved(page, figure.getByRole('button', { name: 'SVG' }));
      assert.match(svg.name, /\.svg$/);
      assert.ok(svg.text.startsWith('<svg') && !svg.text.includes('var('), 'colours are resolved');
      assert.ok(svg.text.includes('font-family'), 'fonts are named');
      const [, width] = /^<svg[^>]* width="([\d.]+)"/.exec(svg.text);
      assert.ok(width < 800, `${svg.name} is ${width} wide`);
      const wrong = await page.evaluate((text) => {
        const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
        const used = [...text.matchAll(/url\(#(fill-[\w-]+)\)/g)].map((found) => found[1]);
        return [...parsed.querySelectorAll('parsererror'), ...used.filter((id) => !parsed.getElementById(id))].map(String);
      }, svg.text);
      assert.deepEqual(wrong, [], svg.name);
    }
  },

  async 'shows the data of a chart as a table'({ page }) {
    const chart = page.locator('figure.chart').first();
    const button = chart.getByRole('button', { name: 'Table' });
    await press(button);
    assert.equal(await button.getAttribute('aria-expanded'), 'true');
    assert.ok((await chart.locator('tbody tr').count()) > 0);
    await press(button);
    assert.equal(await chart.locator('table').count(), 0);
  },

  async 'comes to the scores of the ranking'({ page }) {
    const differences = await page.locator('figure.ranking').evaluateAll((figures) =>
      figures.flatMap((figure) => {
        const { alternatives } = JSON.parse(figure.querySelector(':scope > script').textContent);
        const shown = [...figure.querySelectorAll('.bars li')].map((line) => [
          line.querySelector('.name').textContent,
          Number(line.dataset.score),
        ]);
        const scores = new Map(alternatives.map(({ name, score }) => [name, score]));
        const order = shown.map(([name]) => name).join() === alternatives.map(({ name }) => name).join() ? 0 : 1;
        return [order, ...shown.map(([name, score]) => Math.abs(score - scores.get(name)))];
      }),
    );
    if (differences.length === 0) return 'no ranking';
    assert.ok(Math.max(...differences) <= 1e-9, `${differences}`);
  },

  async 'ranks again when a weight is moved, and as before when it is reset'({ page }) {
    const ranking = page.locator('figure.ranking').first();
    if ((await ranking.count()) === 0) return 'no ranking';
    const names = () => ranking.locator('.bars .name').allTextContents();
    const before = await names();
    const orders = new Set();
    for (const slider of await ranking.getByRole('slider').all()) {
      if (await slider.isDisabled()) continue;
      for (const weight of ['100', '0']) {
        await slider.fill(weight);
        orders.add((await names()).join());
      }
      const group = await slider.evaluate((one) =>
        [...one.closest('fieldset').querySelectorAll('.amount')].reduce((sum, amount) => sum + parseFloat(amount.textContent), 0),
      );
      assert.ok(Math.abs(group - 100) <= 1.5, `the weights of a group add up to ${group} %`);
      await press(ranking.getByRole('button', { name: 'Reset' }));
      assert.deepEqual(await names(), before);
    }
    orders.delete(before.join());
    assert.ok(orders.size > 0, 'some weight changes the order');
    await ranking.getByRole('slider').first().focus();
    await page.keyboard.press('End');
    await page.waitForTimeout(700);
    assert.match(await ranking.getByRole('status').textContent(), /^New order: 1 /);
    assert.match(await ranking.locator('.winner').textContent(), /^With these weights, /);
  },

  async 'switches its theme, charts included'({ page }) {
    const colours = () =>
      page.evaluate(() => {
        const label = document.querySelector('figure.chart .plot svg text');
        return [getComputedStyle(document.body).backgroundColor, label && getComputedStyle(label).fill];
      });
    await drawAll(page);
    const seen = [];
    for (const theme of ['light', 'dark']) {
      await page.getByRole('radio', { name: theme }).check({ force: true });
      seen.push(await colours());
    }
    assert.notEqual(seen[0][0], seen[1][0]);
    assert.notEqual(seen[0][1], seen[1][1]);
  },

  async 'can be reached by keyboard, and shows where one is'({ page }) {
    await page.keyboard.press('Tab');
    const skip = await page.evaluate(() => document.activeElement.textContent);
    assert.equal(skip, 'To the content');
    const visible = await page.evaluate(() => document.activeElement.getBoundingClientRect().left >= 0);
    assert.ok(visible);
    await page.keyboard.press('Enter');
    const button = page.locator('thead button').first();
    await button.focus();
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Tab');
    assert.equal(await button.evaluate((one) => getComputedStyle(one).outlineStyle), 'solid');
  },

  async 'shows what a mark stands for'({ page }) {
    await drawAll(page);
    const mark = page.locator('figure.chart .plot svg .mark-rect path, figure.chart .plot svg .mark-symbol path').first();
    await mark.scrollIntoViewIfNeeded();
    await mark.hover({ force: true });
    assert.ok(await page.locator('.tooltip').isVisible());
  },

  async 'prints light, with every chart and without buttons'({ page }) {
    await page.getByRole('radio', { name: 'dark' }).check({ force: true });
    const pdf = await page.pdf({ format: 'A4', printBackground: true });
    assert.ok(pdf.length > 20_000, `${pdf.length} bytes`);
    const undrawn = await page.locator('figure.chart').evaluateAll((figures) =>
      figures.filter((figure) => figure.checkVisibility() && !figure.querySelector('.plot svg')).map((figure) => figure.id),
    );
    assert.deepEqual(undrawn, [], 'all charts are drawn before it is printed');
    await page.emulateMedia({ media: 'print' });
    const looks = await page.evaluate(() => ({
      paper: getComputedStyle(document.body).backgroundColor,
      buttons: [...document.querySelectorAll('button, input')].filter((one) => one.checkVisibility() && !one.closest('thead, .slider')).length,
    }));
    assert.deepEqual(looks, { paper: 'rgb(255, 255, 255)', buttons: 0 });
    if (shots) await page.pdf({ format: 'A4', printBackground: true, path: `${shots}/print.pdf` });
  },
};

/** Both themes, on a screen and on a telephone: nothing sticks out, nothing is inaccessible. */
for (const colorScheme of ['light', 'dark']) {
  for (const width of [1280, 390]) {
    tests[`is accessible and fits, ${colorScheme}, ${width} px`] = {
      options: { viewport: { width, height: 900 }, colorScheme },
      async run({ page }) {
        await drawAll(page);
        for (const details of await page.locator('details').all()) await details.evaluate((one) => (one.open = true));
        await drawAll(page);
        const beyond = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(beyond <= 0, `${beyond} px stick out`);
        const wide = await page.locator('figure .plot svg').evaluateAll((all) =>
          all.filter((svg) => svg.getBoundingClientRect().right > svg.closest('.plot').getBoundingClientRect().right + 1).length,
        );
        assert.equal(wide, 0, 'charts fit');
        if (shots) await page.screenshot({ path: `${shots}/${colorScheme}-${width}.png`, fullPage: true });
        await page.evaluate(axe.source);
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
        assert.deepEqual(
          violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`),
          [],
        );
      },
    };
  }
}

/** Without scripts there are no charts, and everything else. */
tests['can be read without scripts'] = {
  options: { javaScriptEnabled: false },
  async run({ page }) {
    assert.ok((await page.locator('h1').textContent()).length > 0);
    const charts = await page.locator('figure.chart:visible .plot').all();
    for (const plot of charts.slice(0, 5)) assert.ok((await plot.textContent()).trim().length > 0, 'something stands in for a chart');
    assert.equal(await page.locator('button:visible, input:visible').count(), 0);
  },
};

/** Opens a page of its own, so that no test finds what another left behind. */
async function passes(name, test) {
  const { run, options } = typeof test === 'function' ? { run: test } : test;
  const opened = await open(options);
  const begin = Date.now();
  try {
    const lacking = await run(opened);
    assert.deepEqual(opened.wrong, []);
    console.log(`ok ${name}${lacking ? ` (${lacking})` : ''}, ${Date.now() - begin} ms`);
    return true;
  } catch (error) {
    console.log(`FAILED ${name}: ${error.message}`);
    return false;
  } finally {
    await opened.close();
  }
}

let failed = 0;
const chosen = Object.entries(tests).filter(([name]) => new RegExp(process.env.TESTS ?? '').test(name));
for (const [name, test] of chosen) failed += (await passes(name, test)) ? 0 : 1;
await browser.close();
console.log(failed ? `${failed} of ${chosen.length} failed` : `all ${chosen.length} passed`);
process.exit(failed ? 1 : 0);
