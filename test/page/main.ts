// `npm run page`: looks at the page in a real Chromium, with a real service and real plans. Screenshots of every page (in four
// sizes, light and dark), findings of axe-core, frames while a thousand tasks are panned, long tasks while they run, seven tabs,
// a service that is killed, the size of the first load, and words that want to be code. Prints what was measured; fails on a miss.

import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { browserOrReason, complaintsOf } from '../e2e/browser.fixture.ts'
import { type Place, place } from '../e2e/planfold.fixture.ts'
import { type ServedProcess, serving } from '../e2e/serve.fixture.ts'
import { huge, idle, manyPlans, scripts } from './costs.ts'
import { framesWhilePanning, whileItRuns } from './measure.ts'
import { DONE, FAILED, FILES, large, NASTY, SHOP } from './plans.ts'

const OUT = process.env.PLANFOLD_PAGE_OUT ?? '.page'
const SIZES = {
  desk: { width: 1440, height: 900 },
  laptop: { width: 1024, height: 768 },
  side: { width: 844, height: 390 },
  phone: { width: 390, height: 844 },
} as const
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** e.g. `npm run page -- shots axe`: only these parts. */
const wanted = new Set(process.argv.slice(2))
const wants = (part: string): boolean => wanted.size === 0 || wanted.has(part)

/** So long the large plan is watched while it runs. */
const RUN_MS = 10_000

let misses = 0
function tell(what: string, value: string, isGood: boolean): void {
  if (!isGood) misses++
  console.log(`${isGood ? 'ok  ' : 'MISS'} ${what}: ${value}  [load ${loadavg()[0]!.toFixed(1)}]`)
}

/** Every page, by a name for its picture. `open` does what a person would do there first. */
const PAGES: readonly {
  readonly name: string
  readonly path: string
  readonly ready: string
  readonly open?: (page: Page) => Promise<void>
}[] = [
  { name: 'plans', path: '/ui/', ready: 'rename-total' },
  { name: 'graph', path: '/ui/plans/rename-total?view=graph&task=watch', ready: 'Try it under load' },
  { name: 'board', path: '/ui/plans/rename-total?view=board', ready: 'Waiting for you' },
  { name: 'outline', path: '/ui/plans/rename-total?view=outline', ready: 'Try it under load' },
  { name: 'task-overview', path: '/ui/plans/rename-total?task=money', ready: 'Criteria' },
  { name: 'task-changes', path: '/ui/plans/rename-total?task=callers&tab=changes', ready: 'src/cart.mjs' },
  { name: 'task-log', path: '/ui/plans/rename-total?task=watch&tab=log', ready: 'request' },
  { name: 'task-data', path: '/ui/plans/rename-total?task=money&tab=data', ready: 'Definition' },
  { name: 'task-attempts', path: '/ui/plans/rename-total?task=money&tab=attempts', ready: 'Attempt 1' },
  { name: 'checkpoints', path: '/ui/plans/tidy-notes?view=checkpoints', ready: 'Roll back' },
  { name: 'history', path: '/ui/plans/rename-total?view=history', ready: 'plan started' },
  { name: 'entry', path: '/ui/plans/nightly-build?entry=4', ready: 'newest first' },
  {
    name: 'rollback',
    path: '/ui/plans/tidy-notes?view=checkpoints',
    ready: 'Roll back',
    open: async page => {
      await page.getByRole('button', { name: 'Roll back' }).last().click()
      await page.getByRole('dialog').getByText('notes/today.md').waitFor()
    },
  },
  { name: 'failed', path: '/ui/plans/nightly-build', ready: 'compile' },
  { name: 'inbox', path: '/ui/inbox', ready: 'look' },
  { name: 'consent', path: 'look', ready: 'were changed' },
  { name: 'question', path: 'place', ready: 'Host' },
  { name: 'decision', path: 'store', ready: 'Choose one' },
  { name: 'new-goal', path: '/ui/new', ready: 'What do you want done?' },
  { name: 'new-template', path: '/ui/new?from=template', ready: 'feature-with-tests' },
  { name: 'new-text', path: '/ui/new?from=text', ready: 'The plan' },
  {
    name: 'palette',
    path: '/ui/plans/rename-total?view=graph',
    ready: 'rename-total',
    open: async page => {
      await page.keyboard.press('Control+k')
      await page.getByRole('combobox', { name: 'Search or run' }).waitFor()
    },
  },
  { name: 'missing', path: '/ui/plans/nothing', ready: 'There is no such plan' },
]

/** The pictures of README and docs/guide/page.md, from the same real run. */
const PICTURES: readonly {
  readonly name: string
  readonly path: string
  readonly ready: string
  readonly theme?: 'dark'
  readonly size?: keyof typeof SIZES
}[] = [
  { name: 'plans', path: '/ui/', ready: 'rename-total' },
  { name: 'graph', path: '/ui/plans/rename-total?view=graph&task=watch', ready: 'Try it under load' },
  { name: 'graph-dark', path: '/ui/plans/rename-total?view=graph&task=money', ready: 'Criteria', theme: 'dark' },
  { name: 'board', path: '/ui/plans/rename-total?view=board', ready: 'Waiting for you' },
  { name: 'consent', path: 'look', ready: 'were changed' },
  { name: 'phone', path: '/ui/plans/rename-total?view=outline', ready: 'Try it under load', size: 'phone' },
  { name: 'report', path: 'report.html', ready: 'Graph' },
]
const PICTURES_MAX_BYTES = 1.5 * 1024 * 1024

const started = await browserOrReason()
if (typeof started === 'string') {
  console.log(`skipped: ${started}`)
  process.exit(1)
}
const browser = started
mkdirSync(OUT, { recursive: true })
const folder: Place = await place()
let service: ServedProcess = await serving(folder.folder)
const token = readFileSync(service.tokenFile!, 'utf8').trim()

async function call<T>(method: string, path: string, body?: string, type = 'application/yaml'): Promise<T> {
  const response = await fetch(service.address + path, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': type },
    ...(body === undefined ? {} : { body }),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${path}: ${text}`)
  return JSON.parse(text) as T
}

/** Waits for what must come; the time is only there to end what hangs. */
async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const end = Date.now() + 120_000; Date.now() < end; ) {
    if (await holds()) return
    await new Promise(resolve => setTimeout(resolve, 200))
  }
  throw new Error(`it did not come: ${what}`)
}

console.log(
  `${cpus().length} cores, load ${loadavg()
    .map(one => one.toFixed(1))
    .join(' ')}`,
)
try {
  const context = await signedIn()
  await makePlans()
  const ids = await questionIds()
  if (wants('shots') || wants('axe')) await look(context, ids)
  // Only when it is asked for: it writes into docs/.
  if (wanted.has('pictures')) await pictures(context, ids)
  const costs = { address: service.address, call, until, tell }
  if (wants('size')) await scripts(context, costs)
  if (wants('idle')) await idle(context, costs)
  if (wants('nasty')) await nasty(context, ids)
  if (wants('tabs')) await tabs(context)
  if (wants('large')) await thousand(context)
  if (wants('feed')) await feed(context)
  if (wants('huge')) await huge(context, costs, join(OUT, 'huge-light-desk.png'))
  if (wants('plans')) await manyPlans(context, costs)
  if (wants('away')) await away(context)
} finally {
  await browser.close()
  service.kill('SIGKILL')
  await service.ended
  await folder.remove()
}
console.log(misses === 0 ? 'all as promised' : `${misses} missed`)
process.exitCode = misses === 0 ? 0 : 1

async function signedIn(): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: SIZES.desk, deviceScaleFactor: 1 })
  context.setDefaultTimeout(60_000)
  // tsx names functions; in the page nobody does.
  await context.addInitScript({ content: 'globalThis.__name = one => one' })
  const page = await context.newPage()
  await page.goto(service.link!)
  await page.getByRole('heading', { name: 'No plans yet' }).waitFor()
  await page.close()
  return context
}

async function makePlans(): Promise<void> {
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(join(folder.folder, path, '..'), { recursive: true })
    await folder.write(path, text)
  }
  for (const text of [DONE, FAILED, NASTY, SHOP]) await call('POST', '/plans?start=true', text)
  type Plans = { items: { name: string; status: string }[] }
  await until('plans that ended', async () => {
    const { items } = await call<Plans>('GET', '/plans')
    const is = (name: string): string | undefined => items.find(one => one.name === name)?.status
    return is('tidy-notes') === 'completed' && is('nightly-build') === 'failed'
  })
}

/** By task; once everything that will wait waits. */
async function questionIds(): Promise<ReadonlyMap<string, string>> {
  let found = new Map<string, string>()
  await until('questions', async () => {
    const { items } = await call<{ items: { id: string; task: string }[] }>('GET', '/inbox')
    found = new Map(items.map(({ task, id }) => [task, id]))
    return ['look', 'place', 'store', 'ask'].every(task => found.has(task))
  })
  return found
}

async function look(context: BrowserContext, ids: ReadonlyMap<string, string>): Promise<void> {
  const page = await context.newPage()
  const complaints = complaintsOf(page, service.address)
  let findings = 0
  for (const theme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
    for (const [sizeName, size] of Object.entries(SIZES)) {
      await page.setViewportSize(size)
      for (const { name, path, ready, open } of PAGES) {
        const only = process.env.PLANFOLD_PAGE_ONLY
        if (only !== undefined && !only.split(',').includes(name)) continue
        await page.goto(service.address + (path.startsWith('/') ? path : `/ui/inbox/${ids.get(path)}`))
        await page.getByText(ready).filter({ visible: true }).first().waitFor()
        await open?.(page)
        await page.getByText('Connecting', { exact: true }).waitFor({ state: 'detached' })
        await page.evaluate('document.fonts.ready.then(() => new Promise(requestAnimationFrame))')
        if (wants('shots')) await page.screenshot({ path: join(OUT, `${name}-${theme}-${sizeName}.png`) })
        if (!wants('axe')) continue
        for (const { id, impact, nodes } of await axe(page)) {
          findings++
          console.log(`     axe ${name} ${theme} ${sizeName}: ${id} (${impact}) ${nodes.slice(0, 2).join(' | ')}`)
        }
      }
    }
  }
  if (wants('axe')) tell('axe, serious findings', String(findings), findings === 0)
  tell('complaints of the pages', JSON.stringify(complaints), complaints.length === 0)
  await page.close()
}

async function pictures(context: BrowserContext, ids: ReadonlyMap<string, string>): Promise<void> {
  const out = 'docs/pictures'
  mkdirSync(out, { recursive: true })
  let bytes = 0
  const { stdout } = await folder.planfold('export', 'rename-total', '--to', 'html')
  await folder.write('report.html', stdout)
  for (const { name, path, ready, theme = 'light', size = 'desk' } of PICTURES) {
    const page = await context.newPage()
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
    await page.setViewportSize(SIZES[size])
    const address = service.address + (path.startsWith('/') ? path : `/ui/inbox/${ids.get(path)}`)
    // The report opens from disk, as it does for whoever it was sent to.
    await page.goto(name === 'report' ? `file://${join(folder.folder, path)}` : address)
    await page.getByText(ready).filter({ visible: true }).first().waitFor()
    await page.getByText('Connecting', { exact: true }).waitFor({ state: 'detached' })
    await page.evaluate('document.fonts.ready.then(() => new Promise(requestAnimationFrame))')
    bytes += (await page.screenshot({ path: join(out, `${name}.png`) })).length
    await page.close()
  }
  tell('pictures', `${PICTURES.length} of ${(bytes / 1024).toFixed(0)} KB`, bytes <= PICTURES_MAX_BYTES)
}

interface Finding {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly string[]
}

/** Put in by the debugger, which the policy of the page does not bind. */
async function axe(page: Page): Promise<readonly Finding[]> {
  await page.evaluate(AXE)
  return await page.evaluate(async () => {
    type Found = { violations: { id: string; impact: string; nodes: { html: string; target: string[] }[] }[] }
    const { violations } = await (globalThis as unknown as { axe: { run(): Promise<Found> } }).axe.run()
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, impact, nodes }) => ({ id, impact, nodes: nodes.map(({ html }) => html.slice(0, 160)) }))
  })
}

async function nasty(context: BrowserContext, ids: ReadonlyMap<string, string>): Promise<void> {
  const page = await context.newPage()
  const complaints = complaintsOf(page, service.address)
  for (const path of [
    '/ui/',
    '/ui/plans/nasty?view=graph&task=words',
    '/ui/plans/nasty?view=outline&task=words&tab=log',
    '/ui/plans/nasty?view=board&task=words&tab=data',
    `/ui/inbox/${ids.get('ask')}`,
  ]) {
    await page.goto(service.address + path)
    await page.getByText('onerror=alert').first().waitFor()
  }
  const svg = await page.goto(`${service.address}/plans/nasty/graph?as=svg`)
  tell('the picture is SVG', svg?.headers()['content-type'] ?? '', /svg/.test(svg?.headers()['content-type'] ?? ''))
  tell('hostile words: dialogs, requests, errors', String(complaints.length), complaints.length === 0)
  for (const one of complaints) console.log(`     ${one}`)
  await page.close()
}

async function tabs(context: BrowserContext): Promise<void> {
  const pages: Page[] = []
  for (let at = 0; at < 7; at++) {
    const page = await context.newPage()
    await page.goto(`${service.address}/ui/plans/rename-total?view=outline`)
    await page.getByRole('button', { name: /watch/ }).first().waitFor()
    pages.push(page)
  }
  await call('POST', '/plans/rename-total/pause', '{}', 'application/json')
  await Promise.all(pages.map(page => page.getByText('Paused').first().waitFor()))
  await call('POST', '/plans/rename-total/resume', '{}', 'application/json')
  await Promise.all(pages.map(page => page.getByRole('button', { name: 'Pause', exact: true }).waitFor()))
  tell('seven tabs follow', '7 of 7', true)
  await Promise.all(pages.map(page => page.close()))
}

async function thousand(context: BrowserContext): Promise<void> {
  await call('POST', '/plans', large(1_000))
  const page = await context.newPage()
  await page.goto(`${service.address}/ui/plans/large?view=graph`)
  await page.getByRole('button', { name: /t0\b/ }).first().waitFor({ state: 'attached' })
  await page.keyboard.press('f')
  const { frames, nodes, p95 } = await framesWhilePanning(page)
  tell(
    'panning 1,000 tasks, all in view',
    `${frames.toFixed(1)} frames/s, p95 ${p95.toFixed(0)} ms, ${nodes} drawn`,
    frames >= 30,
  )
  const ran = await whileItRuns(page, async () => {
    const began = Date.now()
    await call('POST', '/plans/large/execute', '{}', 'application/json')
    await new Promise(resolve => setTimeout(resolve, RUN_MS))
    const took = (Date.now() - began) / 1_000
    // A task of this plan begins and ends: two events.
    const ended = await page.locator('.canvas .sheet button.completed').count()
    return { rate: (2 * ended) / took, ended }
  })
  tell(
    'the same plan runs in view',
    `${ran.done.rate.toFixed(0)} events/s as fast as the service goes (${ran.done.ended} tasks ended), ${ran.frames.toFixed(1)} frames/s, longest task ${ran.longest.toFixed(0)} ms, ${ran.long} over 50 ms`,
    ran.longest <= 100,
  )
  await page.screenshot({ path: join(OUT, 'large-light-desk.png') })
  await page.close()
}

/** Several plans at once, one of them in view: as many events in a second as the service can make. */
async function feed(context: BrowserContext): Promise<void> {
  const names = ['feed-1', 'feed-2', 'feed-3', 'feed-4']
  for (const name of names) await call('POST', '/plans', large(1_000, { wide: 100, name }))
  const page = await context.newPage()
  await page.goto(`${service.address}/ui/plans/feed-1?view=graph`)
  await page.getByRole('button', { name: /t0\b/ }).first().waitFor({ state: 'attached' })
  await page.keyboard.press('f')
  // What the first drawing costs is not what the events cost.
  await until('all tasks drawn', async () => (await page.locator('.canvas .sheet button').count()) >= 1_000)
  await page.evaluate('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
  const ran = await whileItRuns(page, async () => {
    const began = Date.now()
    for (const name of names) await call('POST', `/plans/${name}/execute`, '{}', 'application/json')
    await new Promise(resolve => setTimeout(resolve, RUN_MS))
    const took = (Date.now() - began) / 1_000
    const { items } = await call<{ items: { name: string; done: number }[] }>('GET', '/plans')
    const done = items.filter(({ name }) => names.includes(name)).reduce((all, one) => all + one.done, 0)
    // A task of these plans begins and ends: two events.
    return (2 * done) / took
  })
  tell(
    'four plans run at once, one in view',
    `${ran.done.toFixed(0)} events/s, ${ran.frames.toFixed(1)} frames/s, longest task ${ran.longest.toFixed(0)} ms, ${ran.long} over 50 ms`,
    ran.longest <= 100,
  )
  await page.close()
}

async function away(context: BrowserContext): Promise<void> {
  const page = await context.newPage()
  await page.goto(`${service.address}/ui/plans/rename-total?view=graph`)
  await page.getByText('Live', { exact: true }).waitFor()
  const { port } = service
  service.kill('SIGKILL')
  await service.ended
  await page.getByText(/The server does not respond/).waitFor()
  await page.screenshot({ path: join(OUT, 'away-light-desk.png') })
  service = await serving(folder.folder, '--port', String(port))
  await page.getByText('Live', { exact: true }).waitFor()
  tell('service killed and back', 'live again, still signed in', true)
  await page.close()
}
