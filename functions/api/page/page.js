// The page asks the API for what it shows, every two seconds while somebody looks. Everything it is told is text:
// elements are made here, and strings enter them as textContent only, never as markup.

const REFRESH_MILLISECONDS = 2000;
const REQUEST_TIMEOUT_MILLISECONDS = 15_000;
const MANIFEST_LIMIT = 200;
const EXECUTION_LIMIT = 50;

const byId = (id) => document.getElementById(id);
const known = new Map();
let clockOffset = 0;

/** An element with attributes and children; a child that is a string becomes text. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(key, value);
  made.append(...children.map((child) => child ?? ''));
  return made;
}

/** The JSON at `url`; when the API says that nothing changed, the very same object as before. */
async function ask(url) {
  const before = known.get(url);
  const headers = before ? { 'if-none-match': before.tag } : {};
  const response = await fetch(url, { headers, cache: 'no-store', signal: AbortSignal.timeout(REQUEST_TIMEOUT_MILLISECONDS) });
  const answeredAt = Date.parse(response.headers.get('date') ?? '');
  // The header has whole seconds: a difference below two is no difference.
  if (!Number.isNaN(answeredAt)) clockOffset = Math.abs(answeredAt - Date.now()) < 2000 ? 0 : answeredAt - Date.now();
  if (response.status === 304 && before) return before.value;
  if (response.status === 404) return undefined;
  if (!response.ok) throw new Error(`the API answered ${response.status}`);
  const value = await response.json();
  known.set(url, { tag: response.headers.get('etag') ?? '', value });
  return value;
}

const now = () => Date.now() + clockOffset;

const STATE_KINDS = {
  completed: 'good',
  done: 'good',
  completed_with_warnings: 'warning',
  retrying: 'warning',
  failed: 'bad',
  dead_lettered: 'bad',
  quarantined: 'bad',
  in_progress: 'busy',
  running: 'busy',
  pending: 'busy',
  queued: 'busy',
};

const inWords = (state) => state.replaceAll('_', ' ');
const kindOf = (state) => STATE_KINDS[state] ?? 'idle';
const showState = (state) => element('span', { class: `state ${kindOf(state)}` }, inWords(state));
const plural = (count, noun) => (count === 1 ? noun : `${count} ${noun}s`);

function everyInWords(seconds) {
  for (const [size, noun] of [
    [86_400, 'day'],
    [3600, 'hour'],
    [60, 'minute'],
  ]) {
    if (seconds % size === 0) return `every ${plural(seconds / size, noun)}`;
  }
  return `every ${plural(seconds, 'second')}`;
}

function scheduleInWords({ type, cron, timeZone, intervalSeconds, runAt, dependsOn, mode }) {
  const parents = dependsOn.join(mode === 'any' ? ' or ' : ' and ');
  if (type === 'cron') return `cron ${cron} (${timeZone})`;
  if (type === 'interval') return everyInWords(intervalSeconds);
  if (type === 'once') return `once, ${new Date(runAt).toLocaleString()}`;
  if (type === 'dependent') return parents ? `after ${parents}` : 'orphaned: its parents are gone';
  if (type === 'dormant_dependent') return parents ? `when ${parents} activates it` : 'orphaned: its parents are gone';
  return 'on request';
}

function durationInWords(milliseconds) {
  const seconds = Math.max(0, milliseconds) / 1000;
  if (seconds < 10) return `${Number.isInteger(seconds) ? seconds : seconds.toFixed(1)} s`;
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [Math.floor(seconds) % 60, 's'],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

function showInstant(instant) {
  return instant ? element('time', { datetime: instant, title: instant }, new Date(instant).toLocaleString()) : '—';
}

/** Text that changes by itself: the ticker at the end rewrites whatever carries `data-due-at` or `data-since`. */
function showCountdown(instant) {
  return instant ? moving(element('time', { datetime: instant, title: instant, 'data-due-at': instant })) : '—';
}

function showDuration({ startedAt, finishedAt }) {
  if (!startedAt) return '—';
  if (finishedAt) return element('span', { class: 'number' }, durationInWords(Date.parse(finishedAt) - Date.parse(startedAt)));
  return moving(element('span', { class: 'number', 'data-since': startedAt }));
}

function moving(node) {
  const { dueAt, since } = node.dataset;
  const until = Date.parse(dueAt ?? since) - now();
  if (since) node.textContent = durationInWords(Math.floor(-until / 1000) * 1000);
  else node.textContent = until > 0 ? `in ${durationInWords(Math.ceil(until / 1000) * 1000)}` : 'due now';
  return node;
}

/** Rows whose data did not change stay as they are, so that focus, selection and scrolling survive a refresh. */
function fillTable(body, items, keyOf, cellsOf) {
  const existing = new Map(Array.from(body.rows, (row) => [row.dataset.key, row]));
  const rows = items.map((item) => {
    const content = JSON.stringify(item);
    const row = existing.get(keyOf(item));
    if (row && row.content === content) return row;
    const made = element('tr', { 'data-key': keyOf(item) }, ...cellsOf(item));
    made.content = content;
    return made;
  });
  if (rows.length !== body.rows.length || rows.some((row, index) => row !== body.rows[index])) replaceContent(body, rows);
}

/** A link that had the focus and is made anew has it again. */
function replaceContent(place, content) {
  const focused = place.contains(document.activeElement) ? document.activeElement.getAttribute('href') : null;
  place.replaceChildren(...content);
  if (focused === null) return;
  const links = Array.from(place.querySelectorAll('a'));
  links.find((link) => link.getAttribute('href') === focused)?.focus({ preventScroll: true });
}

const cell = (...content) => element('td', {}, ...content);
const linkTo = (id) => `#/executions/${encodeURIComponent(id)}`;

function showRuns(runs) {
  if (!runs.length) return element('span', { class: 'quiet' }, 'none yet');
  const dots = runs.toReversed().map((run) => {
    const times = run.finishedAt ? `, ${new Date(run.finishedAt).toLocaleString()}` : '';
    const label = `execution ${run.id}: ${inWords(run.state)}${times}`;
    return element('a', { class: `dot ${kindOf(run.state)}`, href: linkTo(run.id), title: label, 'aria-label': label });
  });
  return element('span', { class: 'dots' }, ...dots);
}

function manifestCells(manifest) {
  return [
    element('th', { scope: 'row' }, manifest.externalId),
    cell(manifest.workflow ?? manifest.kind),
    cell(scheduleInWords(manifest.schedule)),
    cell(showState(manifest.state)),
    cell(showCountdown(manifest.nextDueAt)),
    cell(showRuns(manifest.lastRuns)),
  ];
}

function executionCells(execution) {
  return [
    element('th', { scope: 'row' }, element('a', { href: linkTo(execution.id) }, execution.id)),
    cell(showState(execution.state)),
    cell(execution.manifest ?? execution.workflow ?? '—'),
    cell(String(execution.attempt)),
    cell(showInstant(execution.startedAt)),
    cell(showDuration(execution)),
    element('td', { class: 'failure' }, execution.failure ? (execution.failure.message ?? execution.failure.code) : ''),
  ];
}

/** A view asks first and gives back how to show the answer, which may have become irrelevant meanwhile. */
async function overview() {
  const search = byId('search').value.trim();
  const filter = search ? `&q=${encodeURIComponent(search)}` : '';
  const [manifests, executions] = await Promise.all([
    ask(`/v1/manifests?limit=${MANIFEST_LIMIT}${filter}`),
    ask(`/v1/executions?limit=${EXECUTION_LIMIT}`),
  ]);
  return () => {
    fillTable(byId('manifests'), manifests.items, ({ externalId }) => externalId, manifestCells);
    byId('manifests-note').textContent = noteFor(manifests, search ? 'No manifest has this in its id.' : 'No manifests yet.');
    fillTable(byId('executions'), executions.items, ({ id }) => id, executionCells);
    byId('executions-note').textContent = executions.items.length ? '' : 'Nothing has run yet.';
  };
}

function noteFor({ items, nextCursor }, whenEmpty) {
  if (!items.length) return whenEmpty;
  return nextCursor ? `The first ${items.length} are shown: narrow them down to see others.` : '';
}

async function detail(id) {
  const execution = await ask(`/v1/executions/${encodeURIComponent(id)}`);
  return () => {
    const view = byId('detail');
    const content = `${id} ${JSON.stringify(execution)}`;
    if (view.content === content) return;
    view.content = content;
    replaceContent(view, execution ? detailParts(execution) : [element('p', {}, `Execution ${id} does not exist.`)]);
  };
}

function detailParts(execution) {
  const facts = [
    ['State', showState(execution.state)],
    ['Manifest', execution.manifest ?? '—'],
    ['Workflow', execution.workflow ?? '—'],
    ['Attempt', String(execution.attempt)],
    ['Asked for by', [execution.initiator.type, execution.initiator.name ?? execution.initiator.id].filter(Boolean).join(': ')],
    ['Occurrence', showInstant(execution.occurrenceAt)],
    ['Admitted', showInstant(execution.createdAt)],
    ['Sent', showInstant(execution.sentAt)],
    ['Started', showInstant(execution.startedAt)],
    ['Finished', showInstant(execution.finishedAt)],
    ['Duration', showDuration(execution)],
    ['Progress', progressInWords(execution.progress)],
  ];
  return [
    element('h2', {}, `Execution ${execution.id}`),
    element('dl', {}, ...facts.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)])),
    ...(execution.failure ? failureParts(execution.failure) : []),
    element('h2', {}, 'Input'),
    element('pre', { tabindex: '0' }, JSON.stringify(execution.input, null, 2)),
    element('h2', {}, 'Output'),
    execution.output === null
      ? element('p', { class: 'note' }, 'None.')
      : element('pre', { tabindex: '0' }, JSON.stringify(execution.output, null, 2)),
    ...relatedParts('Attempts', 'Execution', execution.attempts, relatedLink),
    ...relatedParts('Steps', 'Step', execution.steps, (step) => step.name),
    ...relatedParts('Children', 'Execution', execution.children, relatedLink),
  ];
}

const progressInWords = (progress) =>
  progress
    ? [progress.done, progress.total === null ? null : `of ${progress.total}`, progress.message]
        .filter((part) => part !== null && part !== '')
        .join(' ')
    : '—';

function failureParts({ code, message, step, stack }) {
  const where = step ? ` in step ${step}` : '';
  return [
    element('h2', {}, `Failure: ${inWords(code)}${where}`),
    element('pre', { tabindex: '0' }, [message, stack].filter(Boolean).join('\n\n')),
  ];
}

function relatedLink({ id, attempt, stepName, workflow }) {
  return element('a', { href: linkTo(id) }, `${id} · attempt ${attempt} · ${stepName ?? workflow ?? 'plan'}`);
}

function relatedParts(title, first, items, nameOf) {
  if (!items.length) return [];
  const columns = [first, 'State', 'Started', 'Duration', 'Failure'].map((name) => element('th', { scope: 'col' }, name));
  const rows = items.map((item) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, nameOf(item)),
      cell(showState(item.state)),
      cell(showInstant(item.startedAt)),
      cell(showDuration(item)),
      element('td', { class: 'failure' }, item.failureMessage ?? ''),
    ),
  );
  const table = element('table', {}, element('thead', {}, element('tr', {}, ...columns)), element('tbody', {}, ...rows));
  return [element('h2', {}, title), element('div', { class: 'scroll' }, table)];
}

let round = 0;
let timer;

/** One look at the API. A later one (another view, another search) makes what an earlier one still waits for irrelevant. */
async function refresh() {
  const mine = ++round;
  clearTimeout(timer);
  const id = /^#\/executions\/([0-9]+)$/.exec(location.hash)?.[1];
  try {
    const show = await (id === undefined ? overview() : detail(id));
    if (mine !== round) return;
    show();
    byId('overview').hidden = id !== undefined;
    byId('detail').hidden = id === undefined;
    document.title = id === undefined ? 'Waybill' : `Execution ${id} · Waybill`;
    say('');
  } catch (error) {
    if (mine !== round) return;
    say('cannot reach the API, retrying', String(error));
  }
  if (!document.hidden) timer = setTimeout(refresh, REFRESH_MILLISECONDS);
}

/** Written only when it differs, so that a screen reader does not repeat it every two seconds. */
function say(message, reason = '') {
  const place = byId('connection');
  if (place.textContent !== message) place.textContent = message;
  place.className = message ? 'lost' : '';
  place.title = reason;
}

function startOver() {
  known.clear();
  refresh();
}

addEventListener('hashchange', () => {
  scrollTo(0, 0);
  startOver();
});
byId('search').addEventListener('input', startOver);
document.addEventListener('visibilitychange', () => {
  if (document.hidden) clearTimeout(timer);
  else refresh();
});
setInterval(() => {
  if (!document.hidden) document.querySelectorAll('[data-due-at], [data-since]').forEach(moving);
}, 1000);
refresh();
