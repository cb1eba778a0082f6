// Draws rows with three.js in headless Chromium.
//
// usage: node three.mjs ROWS.json OUT_DIR NODE_MODULES_DIR CHROMIUM
//
// ROWS.json is written by rows.py. Pictures are written to OUT_DIR/ID.SHOT.png, messages of three.js to OUT_DIR/ID.json;
// existing rows are not drawn again. All requests stay on this machine.

import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** What one row may take at most, in milliseconds: a software driver draws. */
const ROW_TIMEOUT = 300_000;

const [rowsFile, outDir, modules, chromium] = process.argv.slice(2);
const puppeteer = createRequire(path.resolve(modules, 'none.js'))('puppeteer-core');
const here = path.dirname(fileURLToPath(import.meta.url));
const types = { '.html': 'text/html', '.js': 'text/javascript', '.wasm': 'application/wasm', '.json': 'application/json' };

/** Files by address: this folder, the npm modules, and any file of a row by its absolute path. */
function fileOf(url) {
  const name = decodeURIComponent(url.pathname);
  if (name === '/') return path.join(here, 'three.html');
  if (name.startsWith('/page/')) return path.join(here, name.slice(6));
  if (name.startsWith('/modules/')) return path.join(modules, name.slice(9));
  const file = name.slice('/file'.length);
  return url.searchParams.has('find') ? findBelow(file, url.searchParams.get('find')) : file;
}

/** The first file of that name below a folder, whatever its case. */
function findBelow(folder, name) {
  const matches = (file) => path.basename(file).toLowerCase() === name.toLowerCase();
  const files = fs.readdirSync(folder, { recursive: true }).map(String).sort();
  const found = files.find((file) => matches(file) && fs.statSync(path.join(folder, file)).isFile());
  return path.join(folder, found ?? name);
}

const server = http.createServer((request, response) => {
  const file = fileOf(new URL(request.url, 'http://localhost'));
  fs.readFile(file, (error, bytes) => {
    response.statusCode = error ? 404 : 200;
    response.setHeader('content-type', types[path.extname(file)] ?? 'application/octet-stream');
    response.end(bytes);
  });
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const launch = () =>
  puppeteer.launch({
    executablePath: chromium,
    headless: true,
    protocolTimeout: ROW_TIMEOUT,
    args: [
      '--no-sandbox',
      '--use-gl=angle',
      '--use-angle=swiftshader',
      '--enable-unsafe-swiftshader',
      '--ignore-gpu-blocklist',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
let browser = await launch();

/** Rows after which the page is loaded anew: memory of models does not always come back. */
const ROWS_A_PAGE = 25;
let page = null;
let drawn = 0;

async function fresh() {
  if (page) await page.close();
  if (!browser.connected) browser = await launch();
  page = await browser.newPage();
  drawn = 0;
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.waitForFunction('window.ready', { timeout: 60_000 });
}

async function draw(row) {
  try {
    if (!page || drawn++ >= ROWS_A_PAGE) await fresh();
    const address = (file) => '/file' + file.split('/').map(encodeURIComponent).join('/');
    const [model, root] = [row.three_model ?? row.model, row.three_root ?? ''].map(address);
    const asked = { ...row, model, root, env: address(row.env) };
    const { pictures, warnings } = await page.evaluate((given) => window.draw(given), asked);
    pictures.forEach((picture, shot) => {
      fs.writeFileSync(path.join(outDir, `${row.id}.${shot}.png`), Buffer.from(picture.split(',')[1], 'base64'));
    });
    return { warnings };
  } catch (error) {
    await page?.close().catch(() => {});
    page = null;
    return { problem: error.message.split('\n')[0] };
  }
}

fs.mkdirSync(outDir, { recursive: true });
for (const row of JSON.parse(fs.readFileSync(rowsFile))) {
  const note = path.join(outDir, `${row.id}.json`);
  if (row.gain_map || fs.existsSync(note)) continue;
  const begin = Date.now();
  const said = await draw(row);
  fs.writeFileSync(note, JSON.stringify({ ...said, seconds: (Date.now() - begin) / 1000 }));
  console.log(`three.js  ${row.id.padEnd(50)} ${said.problem ?? `${((Date.now() - begin) / 1000).toFixed(1)} s`}`);
}
await browser.close();
server.close();
