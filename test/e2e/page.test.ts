// The page as a person uses it, in a real browser: signing in by the link, seeing what waits, deciding, making a plan, and a service
// that goes away and comes back.

import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { large, PRINTED } from '../page/plans.ts'
import { browserOrReason, complaintsOf } from './browser.fixture.ts'
import { crossedLabels, fitOfHead } from './page-geometry.fixture.ts'
import { type Place, place } from './planfold.fixture.ts'
import { lastingPort, type ServedProcess, serving } from './serve.fixture.ts'

const HOSTILE = '<img src=x onerror=alert(1)><script>alert(2)</script>'
const GATED = `planfold: 1
name: gated
title: ${JSON.stringify(HOSTILE)}
tasks:
  - id: first
    title: "[click](javascript:alert(3)) ![x](https://example.com/x.png)"
    run: [echo, made]
    effect: pure
  - id: look
    title: Is it good?
    needs: first
    gate: approval
  - id: last
    needs: look
    run: [echo, ${JSON.stringify(HOSTILE)}]
    effect: pure
`

let folder: Place
let service: ServedProcess
let browser: Browser | string
let context: BrowserContext
let page: Page
let complaints: string[] = []

beforeAll(async () => {
  browser = await browserOrReason()
  if (typeof browser === 'string') {
    console.log(`page.test.ts is skipped: ${browser}`)
    return
  }
  folder = await place()
  service = await serving(folder.folder, '--port', String(await lastingPort()))
  context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: 'reduce' })
  context.setDefaultTimeout(120_000)
  page = await context.newPage()
  complaints = complaintsOf(page, service.address)
})

afterAll(async () => {
  if (typeof browser !== 'string') await browser?.close()
  service?.kill('SIGKILL')
  await service?.ended
  await folder?.remove()
})

async function post(path: string, body: string, type: string): Promise<void> {
  const token = readFileSync(service.tokenFile!, 'utf8').trim()
  const response = await fetch(service.address + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': type },
    body,
  })
  expect(response.ok, await response.text()).toBe(true)
}

async function stateOf(plan: string): Promise<string> {
  const token = readFileSync(service.tokenFile!, 'utf8').trim()
  const response = await fetch(`${service.address}/plans/${plan}`, { headers: { authorization: `Bearer ${token}` } })
  return ((await response.json()) as { readonly status: string }).status
}

test('by the link to the plans; a gate is approved in one tab and passed in another; hostile words stay words', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await page.goto(service.link!)
  await page.getByRole('heading', { name: 'No plans yet' }).waitFor()
  expect(page.url()).toBe(`${service.address}/ui/`)
  // It comes by itself: nobody loads the page again.
  await post('/plans?start=true', GATED, 'application/yaml')
  const row = page.getByRole('link', { name: /gated/ })
  await row.getByText('1 question').waitFor()
  await row.click()
  await page.getByRole('region', { name: 'Waiting for you' }).getByText('look').waitFor()
  // What waits is open beside the graph.
  await page.getByRole('complementary', { name: 'look' }).waitFor()
  const other = await context.newPage()
  const others = complaintsOf(other, service.address)
  await other.goto(`${service.address}/ui/plans/gated?view=outline`)
  await other.getByRole('button', { name: /last/ }).first().waitFor()
  await page
    .getByRole('link', { name: /Review/ })
    .first()
    .click()
  await page.getByRole('heading', { name: 'If you approve, this runs' }).waitFor()
  await page.getByRole('img', { name: `Command: "echo" ${JSON.stringify(HOSTILE)}` }).waitFor()
  await page.getByRole('button', { name: /^Approve\s*A$/ }).click()
  // It stays, and says what was decided and by whom.
  await page.getByRole('heading', { name: 'look approved by ana@example.com' }).waitFor()
  await page.getByRole('link', { name: 'Open gated' }).click()
  await page.getByText('Completed').first().waitFor()
  await other.getByText('Completed').first().waitFor()
  await page.goto(`${service.address}/ui/plans/gated?task=last&tab=log`)
  await page.getByRole('log').getByText(HOSTILE, { exact: true }).waitFor()
  await other.close()
  expect([...complaints, ...others]).toEqual([])
})

test('a plan is drafted from a goal, shown, run and watched', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await page.goto(`${service.address}/ui/`)
  await page.getByRole('link', { name: 'New plan' }).first().click()
  await page.getByRole('link', { name: 'From a template' }).click()
  await page.getByRole('link', { name: /^feature-with-tests/ }).waitFor()
  await page.getByRole('link', { name: 'From a goal' }).click()
  await page.getByLabel('What do you want done?').fill('Write a note about the weather')
  await page.getByRole('button', { name: /Draft the plan/ }).click()
  await page.getByText('Draft', { exact: true }).first().waitFor()
  await page.getByRole('heading', { name: 'What runs, what it may write, what proves it' }).waitFor()
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByRole('button', { name: 'Pause', exact: true }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search or run' }).fill('pause')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Resume', exact: true }).waitFor()
  // What a person does, or somebody else, is not offered to an agent.
  await post(
    '/plans',
    'planfold: 1\nname: open\ntasks:\n  - { id: mine }\n  - { id: ship, kind: deploy }\n  - { id: hers, assignee: bo }\n',
    'application/yaml',
  )
  await page.goto(`${service.address}/ui/plans/open`)
  const strip = page.getByRole('region', { name: 'Waiting to be claimed' })
  expect(await strip.locator('.strip-what').innerText()).toMatch(/^1 task\s+for an agent or a person: mine$/)
  expect(complaints).toEqual([])
})

test('who is not signed in is told how, in the middle of the window', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  const stranger = await browser.newPage({ viewport: { width: 1200, height: 700 } })
  await stranger.goto(`${service.address}/ui/`)
  const box = await stranger.getByRole('heading', { name: 'Not signed in' }).boundingBox()
  expect(Math.abs(box!.x + box!.width / 2 - 600)).toBeLessThan(30)
  await stranger.close()
})

test('a place that cannot be shown says so, with a way on', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await page.goto(`${service.address}/ui/`)
  await page.route('**/new-page-*.js', route =>
    route.fulfill({ contentType: 'text/javascript', body: 'throw Error("torn")' }),
  )
  await page.getByRole('link', { name: 'New plan' }).first().click()
  await page.getByRole('heading', { name: 'This page cannot be shown' }).waitFor()
  await page.getByRole('alert').getByText('torn').waitFor()
  await page.unroute('**/new-page-*.js')
  await page.getByRole('button', { name: 'Reload' }).click()
  await page.getByRole('link', { name: 'From a template' }).waitFor()
  complaints.length = 0
})

test('when the service is killed the page stays readable and says so; when it is back, it goes on, still signed in', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await page.goto(`${service.address}/ui/plans/open?view=checkpoints`)
  await page.getByText('Live', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Run', exact: true }).waitFor()
  await page.getByRole('button', { name: 'More' }).click()
  const { port } = service
  service.kill('SIGKILL')
  await service.ended
  await page.getByText(/The server does not respond/).waitFor()
  for (const name of ['Run', 'Edit', 'Edit the plan', 'Take a checkpoint', 'Cancel the plan'])
    expect([name, await page.getByRole('button', { name, exact: true }).isDisabled()]).toEqual([name, true])
  expect(await page.getByRole('heading', { name: 'open' }).isVisible()).toBe(true)
  service = await serving(folder.folder, '--port', String(port))
  await page.getByText('Live', { exact: true }).waitFor()
  await post(
    '/plans',
    'planfold: 1\nname: afterwards\ntasks:\n  - { id: a, run: [echo, a], effect: pure }\n',
    'application/yaml',
  )
  await page.getByRole('link', { name: 'Plans', exact: true }).first().click()
  await page.getByRole('link', { name: /afterwards/ }).waitFor()
})

const EDITED = `planfold: 1
name: edited
policy: { write: [notes/**] }
tasks:
  - id: first
    edit: { file: notes/a.md, create: "one\\ntwo\\n" }
  - id: second
    needs: first
    edit: { file: notes/a.md, find: two, replace: three }
  - id: host
    needs: second
    gate: { type: question, question: Where to?, form: [{ name: host, type: text, label: Host }, { name: port, type: number, default: 443, label: Port }] }
  - id: look
    needs: host
    gate: { type: approval, show: [diff] }
  - id: last
    needs: look
    run: [echo, first words]
    effect: pure
  - id: never
    needs: last
    run: ["false"]
    effect: pure
    optional: true
`

test('a plan is made from text and run, up to what it asks', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await page.goto(`${service.address}/ui/new?from=text`)
  await page.getByLabel('The plan').fill(EDITED)
  await page.getByRole('button', { name: 'Create the plan' }).click()
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByRole('region', { name: 'Waiting for you' }).getByText('host', { exact: true }).waitFor()
  expect(complaints).toEqual([])
})

test('a plan goes back to before the first task after a look at what that does, line by line, and the going back is undone', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await page.goto(`${service.address}/ui/plans/edited?view=checkpoints`)
  // By what they follow and when, not by the name that commands take.
  const rows = page.locator('.checkpoint')
  await rows.first().waitFor()
  expect((await rows.locator('> b').allInnerTexts()).slice(-2)).toEqual(['After first', 'Before the first task'])
  expect(await rows.locator('time').first().innerText()).toMatch(/^\d\d:\d\d:\d\d$/)
  await rows.last().getByRole('button', { name: 'Compare' }).click()
  await page.getByText(/changed since/).waitFor()
  const dialog = page.getByRole('dialog')
  await rows.last().getByRole('button', { name: 'Roll back' }).click()
  await dialog.getByRole('heading', { name: 'Roll back to before the first task' }).waitFor()
  await dialog.getByText('− three').waitFor()
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await rows
    .nth((await rows.count()) - 2)
    .getByRole('button', { name: 'Roll back' })
    .click()
  await dialog.getByText('notes/a.md').waitFor()
  await dialog.getByText('− three').waitFor()
  await dialog.getByText('+ two').waitFor()
  await dialog.getByText('Will run again').waitFor()
  await dialog.getByRole('button', { name: 'Roll back' }).click()
  await page.getByText('Rollback started').waitFor()
  await expect.poll(() => folder.read('notes/a.md'), { timeout: 60_000 }).toBe('one\ntwo\n')
  await page.getByRole('button', { name: 'Undo the last rollback' }).click()
  await dialog.getByText('notes/a.md').waitFor()
  await dialog.getByRole('button', { name: 'Undo' }).click()
  await expect.poll(() => folder.read('notes/a.md'), { timeout: 60_000 }).toBe('one\nthree\n')
  expect(complaints).toEqual([])
})

test('the history says what `planfold log` says; every entry has an address, which is where the entry is named', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await page.goto(`${service.address}/ui/plans/edited?task=first&tab=attempts`)
  const link = page
    .getByRole('complementary', { name: 'first' })
    .getByRole('link', { name: /^entry \d+$/ })
    .first()
  const entry = Number((await link.innerText()).replace('entry ', ''))
  await link.click()
  await page.waitForURL(url => url.searchParams.get('entry') === String(entry))
  const history = page.getByRole('region', { name: 'History' })
  const marked = history.locator('li[aria-current="true"]')
  await marked.getByText(/^first completed/).waitFor()
  expect(await marked.getByRole('link').first().innerText()).toBe(String(entry))
  const told: [number, string[]][] = []
  for (const row of await history.locator('.entry').all())
    told.push([
      Number(await row.locator('.entry-number').innerText()),
      await row.locator('.entry-sentences li > span').allInnerTexts(),
    ])
  type Log = { readonly data: { readonly items: readonly { readonly version: number; readonly text: string }[] } }
  const { data } = JSON.parse((await folder.planfold('log', 'edited', '--json')).stdout) as Log
  const said = new Map<number, string[]>()
  for (const { version, text } of data.items) said.set(version, [...(said.get(version) ?? []), text])
  expect(told).toEqual([...said].reverse())
  // An address that leads nowhere says so.
  await page.goto(`${service.address}/ui/plans/edited?entry=9999`)
  await history.getByText(/There is no entry 9999/).waitFor()
  expect(complaints).toEqual([])
})

test('what happens while a plan is being loaded is shown as well', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await post(
    '/plans?start=true',
    'planfold: 1\nname: raced\ntasks:\n  - { id: look, gate: approval }\n  - { id: last, needs: look, run: [echo, a], effect: pure }\n',
    'application/yaml',
  )
  // Without a SharedWorker the stream is the tab's own, and its requests can be held.
  const tab = await context.newPage()
  await tab.addInitScript(() => Reflect.deleteProperty(globalThis, 'SharedWorker'))
  const isState = (body: string | null): boolean => body !== null && /"type":"state"/.test(body)
  let held = 0
  await tab.route('**/engine/**', async route => {
    if (!isState(route.request().postData()) || held > 0) return await route.continue()
    held += 1
    const old = await route.fetch()
    await post('/plans/raced/gates/look/approve', '{"unseen":true}', 'application/json')
    await expect.poll(() => stateOf('raced'), { timeout: 60_000 }).toBe('completed')
    // The page asks for lists again when the stream has told it of something: then it knows all that was before.
    const again = tab.waitForRequest(request => /"type":"inbox"/.test(request.postData() ?? ''))
    await post(
      '/plans',
      'planfold: 1\nname: later\ntasks:\n  - { id: a, run: [echo, a], effect: pure }\n',
      'application/yaml',
    )
    await again
    await route.fulfill({ response: old })
  })
  await tab.goto(`${service.address}/ui/`)
  await tab.getByText('Live', { exact: true }).waitFor()
  await tab.getByRole('link', { name: /raced/ }).click()
  await tab.getByRole('heading', { name: 'raced' }).waitFor()
  await tab.locator('.pill').getByText('Completed').waitFor()
  expect(held).toBe(1)
  await tab.close()
})

/** Makes and starts a plan as another program would, and opens what waits in it. */
async function openAsked(name: string, task: string): Promise<void> {
  await page.goto(`${service.address}/ui/plans/${name}?view=outline`)
  await page.getByRole('region', { name: 'Waiting for you' }).getByText(task, { exact: true }).waitFor()
  await page
    .getByRole('link', { name: /Review/ })
    .first()
    .click()
  await page.getByRole('article').waitFor()
}
/** Presses a button that answers, and waits until the service has taken the answer. */
async function answer(button: RegExp): Promise<void> {
  const taken = page.waitForResponse(response => response.url().endsWith('/answer'))
  await page.getByRole('button', { name: button }).click()
  expect((await taken).ok()).toBe(true)
}
const started = (text: string): Promise<void> => post('/plans?start=true', text, 'application/yaml')

test('pasted text is checked while it is written, each fault with its place and a hint', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await page.goto(`${service.address}/ui/new?from=text`)
  await page.getByLabel('The plan').fill('planfold: 1\nname: typed\ntasks:\n  - { id: a, neds: b, run: [echo, a] }\n')
  const faults = page.getByRole('list', { name: 'What is wrong with it' })
  await faults.getByText(/neds/).first().waitFor()
  expect(await faults.innerText()).toMatch(/needs/)
  expect(await faults.innerText()).toMatch(/line 4/)
  await page
    .getByLabel('The plan')
    .fill('planfold: 1\nname: typed\ntasks:\n  - { id: a, run: [echo, a], effect: pure }\n')
  await page.getByText(/A plan of 1 task, called/).waitFor()
  expect(complaints).toEqual([])
})

test('a plan is made from a template; its draft is commented, drafted again and shown as a difference before anything is kept', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await page.goto(`${service.address}/ui/new?from=template`)
  await page.getByRole('link', { name: /^feature-with-tests/ }).click()
  await page.getByLabel(/^feature/).fill('Notes can be exported')
  await page.getByRole('button', { name: 'Create the plan' }).click()
  await page.waitForURL(/\/ui\/plans\//)
  await page.getByText('Notes can be exported').first().waitFor()
  await page.goto(`${service.address}/ui/new`)
  await page.getByLabel('What do you want done?').fill('Rename `greet` to `salute`')
  await page.getByRole('button', { name: /Draft the plan/ }).click()
  await page.getByRole('button', { name: 'Comment', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('About').selectOption('review')
  await dialog.getByRole('textbox', { name: 'Comment' }).fill('leave this out')
  await dialog.getByRole('button', { name: 'Redraft' }).click()
  await dialog.getByText('− review').waitFor()
  await page.getByText('r1', { exact: true }).waitFor()
  await dialog.getByRole('button', { name: 'Keep the new draft' }).click()
  await page.getByText('r2', { exact: true }).waitFor()
  // What was said is kept with the draft, and stands above what is said next.
  await page.getByRole('button', { name: 'Comment', exact: true }).click()
  await dialog.getByRole('list', { name: 'Redrafted after' }).getByText('review: leave this out').waitFor()
  await dialog.getByRole('button', { name: 'Keep the old draft' }).click()
  expect(complaints).toEqual([])
})

test('a question is answered in its form, and an approval given with edits', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await started(
    'planfold: 1\nname: asked\ntasks:\n  - id: host\n    gate: { type: question, question: Where to?, form: [{ name: host, type: text, label: Host }, { name: port, type: number, default: 443, label: Port }] }\n  - { id: look, needs: host, gate: approval }\n  - { id: last, needs: look, run: [echo, first words], effect: pure }\n',
  )
  await openAsked('asked', 'host')
  await page.keyboard.press('Control+k')
  await page.getByText('planfold answer asked host').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('textbox', { name: 'Host' }).fill('shop.example')
  await answer(/^Answer/)
  await openAsked('asked', 'look')
  await page.getByRole('button', { name: 'Approve with edits' }).click()
  const text = page.getByLabel('The plan as text')
  await text.fill((await text.inputValue()).replace('first words', 'other words'))
  await page.getByRole('dialog').getByText('other words').last().waitFor()
  await page.getByRole('button', { name: 'Approve with these edits' }).click()
  await expect.poll(() => stateOf('asked'), { timeout: 60_000 }).toBe('completed')
  await page.goto(`${service.address}/ui/plans/asked?task=last&tab=log&line=1`)
  await page.getByRole('log').getByText('other words', { exact: true }).waitFor()
  expect(complaints).toEqual([])
})

test('nothing is approved before it is drawn, by a held key, or because another request took its place', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await writeFile(join(folder.folder, 'ship.sh'), `echo to the server\n${' '.repeat(300)}echo \u202eback\n`)
  const asking = (name: string) =>
    `planfold: 1\nname: ${name}\ntasks:\n  - { id: ask, gate: approval }\n  - { id: ship, needs: ask, kind: deploy, run: [sh, ship.sh] }\n`
  for (const name of ['held', 'held-too']) await started(asking(name))
  let draw = (): void => {}
  const drawing = new Promise<void>(resolve => {
    draw = resolve
  })
  await page.route('**/gates/ask', async route => {
    await drawing
    await route.continue()
  })
  const answers: string[] = []
  const note = (request: { url(): string }): void => void (/answer$/.test(request.url()) && answers.push(request.url()))
  page.on('request', note)
  await openAsked('held', 'ask')
  const approve = page.getByRole('button', { name: /^Approve\s*A$/ })
  expect(await approve.isDisabled()).toBe(true)
  await page.keyboard.down('a')
  draw()
  // The script itself, what hides in it, and what the rules let it reach.
  const shown = page.getByRole('article')
  await shown.getByText('echo to the server').first().waitFor()
  await shown.getByText('⟨300 spaces⟩ echo \\u{202e}back').first().waitFor()
  await shown.getByText('not declared (only what your own network rules allow)').first().waitFor()
  await expect.poll(() => approve.isEnabled()).toBe(true)
  // Held: the browser repeats it.
  for (let times = 0; times < 3; times++) await page.keyboard.down('a')
  await page.keyboard.up('a')
  expect(answers).toEqual([])
  for (let times = 0; times < 3; times++) await page.keyboard.press('a')
  await page.getByRole('heading', { name: 'ask approved by ana@example.com' }).waitFor()
  // The second plan reaches its gate by itself: the key goes nowhere before the page knows what comes next.
  await page.getByRole('link', { name: /^Next: ask of held-too/ }).waitFor()
  await page.keyboard.press('a')
  await page.keyboard.press('n')
  await shown.waitFor()
  expect(answers).toHaveLength(1)
  page.off('request', note)
  await page.unroute('**/gates/ask')
  expect(complaints).toEqual([])
})

test('work is pushed back with words on a single line, and rejected', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await started(
    `planfold: 1\nname: pushed\npolicy: { write: [pushed/**] }\ntasks:\n  - { id: write, write: [pushed/**], network: [], run: [sh, -c, "mkdir -p pushed; echo one >> pushed/a.md"] }\n  - { id: look, needs: write, gate: { type: approval, show: [diff] } }\n  - { id: last, needs: look, run: [echo, a], effect: pure }\n`,
  )
  await openAsked('pushed', 'look')
  await page.getByText('1 file was changed').waitFor()
  await page.getByRole('button', { name: 'Comment on pushed/a.md:1' }).click()
  await page.getByLabel('What is to be changed in pushed/a.md:1').fill('say two')
  await answer(/^Push back/)
  await page.goto(`${service.address}/ui/plans/pushed?task=look&tab=attempts`)
  await page.getByText('pushed/a.md:1: say two').first().waitFor()
  await openAsked('pushed', 'look')
  await page.getByLabel('Comment', { exact: true }).fill('not like this')
  await answer(/^Reject/)
  await expect.poll(() => stateOf('pushed'), { timeout: 60_000 }).toBe('failed')
  expect(complaints).toEqual([])
})

test('what failed is tried again, or skipped; a plan is paused, resumed and cancelled, two tabs in step', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await started(
    'planfold: 1\nname: failing\ntasks:\n  - { id: a, run: [sh, -c, "test -f go && until test -f on; do sleep 0.1; done"], effect: pure }\n  - { id: b, needs: a, run: ["false"], effect: pure }\n  - { id: c, needs: b, run: [echo, c], effect: pure }\n',
  )
  await expect.poll(() => stateOf('failing'), { timeout: 60_000 }).toBe('failed')
  // The page opens on what failed.
  await page.goto(`${service.address}/ui/plans/failing`)
  await page.getByRole('complementary', { name: 'a' }).waitFor()
  await folder.write('go', '')
  await page.getByRole('button', { name: 'Retry' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Retry' }).click()
  await page.getByText('a runs again').waitFor()
  // Why the last attempt failed is not said of the one that runs.
  const drawer = page.getByRole('complementary', { name: 'a' })
  await drawer.getByText('Running').waitFor()
  expect(await drawer.getByText('Why it failed').count()).toBe(0)
  await folder.write('on', '')
  await page.goto(`${service.address}/ui/plans/failing?task=b`)
  await page.getByRole('complementary', { name: 'b' }).getByText('Why it failed').waitFor()
  await page.getByRole('button', { name: 'Skip' }).click()
  await page.getByRole('dialog').getByLabel('Why').fill('not needed')
  await page.getByRole('dialog').getByRole('button', { name: 'Skip' }).click()
  await expect.poll(() => stateOf('failing'), { timeout: 60_000 }).toBe('completed')
  await started(
    'planfold: 1\nname: long\ntasks:\n  - { id: a, run: [node, -e, "setInterval(() => {}, 1000)"], effect: pure }\n',
  )
  const tabs = [page]
  tabs.push(await context.newPage())
  for (const tab of tabs) {
    await tab.goto(`${service.address}/ui/plans/long?view=outline`)
    await tab.getByRole('button', { name: 'Pause', exact: true }).waitFor()
  }
  await page.getByRole('button', { name: 'Pause', exact: true }).click()
  await Promise.all(tabs.map(tab => tab.getByRole('button', { name: 'Resume', exact: true }).waitFor()))
  await tabs[1]!.getByRole('button', { name: 'Resume', exact: true }).click()
  await Promise.all(tabs.map(tab => tab.getByRole('button', { name: 'Pause', exact: true }).waitFor()))
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('button', { name: 'Cancel the plan' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the plan' }).click()
  await Promise.all(tabs.map(tab => tab.getByText('Cancelled').first().waitFor()))
  await Promise.all(tabs.slice(1).map(tab => tab.close()))
  expect(complaints).toEqual([])
})

test('a log reads as in a terminal: every line has an address, it is searched, downloaded and streamed', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await started(PRINTED)
  await expect.poll(() => stateOf('printed'), { timeout: 60_000 }).toBe('failed')
  await page.goto(`${service.address}/ui/plans/printed?task=prints&tab=log`)
  const log = page.getByRole('log')
  // Nothing that it printed for a terminal is obeyed, and nothing is left of it.
  await log.getByText('still here', { exact: true }).waitFor()
  await page.getByText(/^5,0\d\d lines$/).waitFor()
  expect(await log.locator('.log-line').count()).toBeLessThan(150)
  expect(await log.locator('.t-red').allInnerTexts()).toEqual(['not ok'])
  expect(await log.getByText(/^progress/).allInnerTexts()).toEqual(['progress 100%'])
  const links = log.locator('a[target]')
  expect(await links.evaluateAll(all => all.map(one => one.getAttribute('href')))).toEqual([
    'https://example.com/report',
  ])
  expect(await log.innerText()).not.toMatch(/1b\}|javascript/)
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download the log' }).click(),
  ])
  const text = readFileSync(await file.path(), 'utf8')
  expect(text).toContain('\nline 1\nline 2\n')
  expect(text).toContain('x'.repeat(1e6))
  expect(text).not.toContain('\u001b')
  await page.getByLabel('Search the log').fill('LINE 4321')
  await log.locator('.found').getByText('line 4321', { exact: true }).waitFor()
  const address = await log.locator('.found a').getAttribute('href')
  await page.goto(`${service.address}/ui/plans/printed${address}`)
  await log.locator('.wanted').getByText('line 4321', { exact: true }).waitFor()
  await page.goto(`${service.address}/ui/plans/printed?task=fails&tab=log&view=outline`)
  await log.getByRole('heading', { name: /^Attempt 2/ }).waitFor()
  await page
    .getByRole('button', { name: /fails/ })
    .getByText(/error E7: total is 4$/)
    .waitFor()
  await started(
    `planfold: 1\nname: speaking\ntasks:\n  - id: a\n    effect: pure\n    run: [sh, -c, "echo first; until test -f speak; do sleep 0.1; done; echo streamed"]\n`,
  )
  await page.goto(`${service.address}/ui/plans/speaking?task=a&tab=log`)
  await log.getByText('first', { exact: true }).waitFor()
  await folder.write('speak', '')
  await log.getByText('streamed', { exact: true }).waitFor()
  expect(complaints).toEqual([])
})

test('of a plan with 1,600 tasks only what is in view is in the document; as a whole it is one picture', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await post('/plans', large(1_600, { wide: 100 }), 'application/yaml')
  await page.goto(`${service.address}/ui/plans/large?view=outline`)
  await page.getByRole('button', { name: /t0\b/ }).first().waitFor()
  expect(await page.locator('.outline li').count()).toBeLessThan(100)
  await page.locator('.outline-scroll').evaluate(box => box.scrollTo(0, box.scrollHeight))
  await page.getByRole('button', { name: /t1599\b/ }).waitFor()
  await page.getByRole('link', { name: 'Graph', exact: true }).click()
  await page.locator('.sheet button').first().waitFor()
  await page.keyboard.press('f')
  const picture = page.getByRole('img', { name: /^1600 tasks/ })
  await picture.waitFor()
  expect(await page.locator('.sheet button').count()).toBe(0)
  // A task is opened where it is drawn.
  const box = (await page.locator('.canvas').boundingBox())!
  const isOpen = (): boolean => new URL(page.url()).searchParams.has('task')
  for (let at = 0; at < 40 && !isOpen(); at++)
    await page.mouse.click(box.x + box.width / 2 + at, box.y + box.height / 2 + at)
  await page.getByRole('complementary', { name: /^t\d+$/ }).waitFor()
  expect(complaints).toEqual([])
})

test('plans are sorted and filtered by the address; a report opens from disk and does nothing', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await page.goto(`${service.address}/ui/`)
  await page.getByLabel('Sort by').selectOption('Name')
  await page.getByLabel('Changed').selectOption('Last day')
  await page.getByLabel('Search plans').fill('gat')
  await page.getByRole('link', { name: /failing/ }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: /gated/ }).waitFor()
  expect(Object.fromEntries(new URL(page.url()).searchParams)).toEqual({ q: 'gat', sort: 'name', since: 'day' })
  const { stdout } = await folder.planfold('export', 'gated', '--to', 'html')
  await folder.write('report.html', stdout)
  const tab = await context.newPage()
  const address = `file://${folder.folder}/report.html`
  const others = complaintsOf(tab, address)
  await tab.goto(address)
  await tab.getByRole('heading', { name: 'Decisions' }).waitFor()
  expect(await tab.getByText(HOSTILE).count()).toBeGreaterThan(1)
  expect(await tab.locator('svg').count()).toBe(1)
  await tab.close()
  expect([...complaints, ...others]).toEqual([])
})

const REWORKED = `planfold: 1
name: retry-transfers-of-the-whole-shop
title: Resume a failed transfer from the failed part, in the service and in both clients
policy: { write: [many/**] }
tasks:
  - { id: rework, run: [sh, -c, "mkdir -p many; for i in 1 2 3 4 5 6 7; do echo $i > many/part-$i.md; done"], write: [many/**], network: [] }
  - { id: broken, run: ["false"], effect: pure }
  - { id: approve-format, needs: rework, gate: { type: approval, show: [diff] }, on: { rejected: rework } }
  - { id: by-hand, needs: approve-format }
`

test('the page fits a laptop, a phone on its side and a zoom of 200 %; what failed is said first; no edge crosses a label', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await started(REWORKED)
  const address = `${service.address}/ui/plans/retry-transfers-of-the-whole-shop`
  await page.goto(`${address}?view=graph&task=approve-format`)
  await page.getByRole('complementary', { name: 'approve-format' }).waitFor()
  await page.locator('.facts').getByText('Waiting for you').waitFor()
  // What failed comes before what waits.
  expect(await page.locator('.facts .pill').allInnerTexts()).toEqual(['1 failed', 'Waiting for you'])
  for (const [width, height] of [
    [1440, 900],
    [1199, 800],
    [1024, 768],
    [844, 390],
    [761, 800],
    [720, 450],
    [390, 844],
  ] as const) {
    await page.setViewportSize({ width, height })
    const { overlapping, outside, room } = await fitOfHead(page)
    expect({ width, overlapping, outside }).toEqual({ width, overlapping: [], outside: [] })
    expect(room).toBeGreaterThan(0.45)
  }
  await page.setViewportSize({ width: 1280, height: 800 })
  expect(await crossedLabels(page)).toEqual([])
  // The answers leave the room to what will run.
  await page.setViewportSize({ width: 844, height: 390 })
  await page.getByRole('link', { name: 'Review' }).first().click()
  await page.getByText('7 files were changed').waitFor()
  expect((await page.locator('.asked-acts').boundingBox())!.height).toBeLessThan(110)
  // A list of the files, and a filter.
  const files = page.getByRole('list', { name: 'Changed files' })
  expect(await files.getByRole('listitem').count()).toBe(7)
  await page.getByLabel('Filter files').fill('part-6')
  expect(await files.getByRole('listitem').allInnerTexts()).toEqual([expect.stringContaining('many/part-6.md')])
  await files.getByRole('button').click()
  expect(await page.locator('.file-diff').count()).toBe(1)
  await page.setViewportSize({ width: 1280, height: 800 })
  expect(complaints).toEqual([])
})

test('two people answer one gate: who was second reads who was first, what was decided, and that the own answer does not count', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  const made = await folder.planfold('serve', 'token', 'create', 'bo', '--role', 'approver', '--json')
  const { data } = JSON.parse(made.stdout) as { readonly data: { readonly token: string } }
  await openAsked('retry-transfers-of-the-whole-shop', 'approve-format')
  await expect.poll(() => page.getByRole('button', { name: /^Approve\s*A$/ }).isEnabled()).toBe(true)
  // The other answer arrives first; this page has not heard of it.
  await page.route('**/inbox/*/answer', async route => {
    const headers = { authorization: `Bearer ${data.token}`, 'content-type': 'application/json' }
    const reject = { method: 'POST', headers, body: JSON.stringify({ answer: 'reject', unseen: true }) }
    expect((await fetch(route.request().url(), reject)).status).toBe(200)
    await route.continue()
  })
  await page.getByRole('button', { name: /^Approve\s*A$/ }).click()
  await page
    .getByRole('heading', { name: /^bo rejected this (now|\d+ s ago); your approval was not recorded$/ })
    .waitFor()
  await page.unroute('**/inbox/*/answer')
  await page.getByRole('link', { name: /^Entry \d+ of retry-transfers/ }).click()
  await page
    .locator('li[aria-current="true"]')
    .getByText(/approve-format rejected by bo/)
    .waitFor()
  expect(complaints).toEqual([])
})

test('the list says one word for one state, by the clock of the service: chips, headings, rows and the head of the plan agree', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await started('planfold: 1\nname: unclaimed\ntasks:\n  - { id: mine }\n')
  const tab = await context.newPage()
  await tab.clock.install({ time: Date.now() + 3_600_000 })
  await tab.goto(`${service.address}/ui/`)
  const row = tab.getByRole('link', { name: /^Waiting to be claimed unclaimed/ })
  await row.getByText('Waiting to be claimed', { exact: true }).waitFor()
  // The clock of this browser is an hour ahead.
  expect(await row.innerText()).toMatch(/(now|\d+ s ago)$/)
  expect((await row.boundingBox())!.height).toBeLessThanOrEqual(40)
  for (const section of await tab.locator('.plans section').all()) {
    const heading = (await section.getByRole('heading').innerText()).replace(/\s+/g, ' ')
    const chip = tab
      .getByRole('group', { name: 'Filter by status' })
      .getByRole('button', { name: heading, exact: true })
    expect([heading, await chip.count()]).toEqual([heading, 1])
    expect(await section.getByRole('listitem').count()).toBe(Number(/[\d,]+$/.exec(heading)![0]))
  }
  const all = await tab.getByRole('button', { name: /^All \d/ }).innerText()
  expect(await tab.locator('.plan-row').count()).toBe(Number(/\d+$/.exec(all)![0]))
  await row.click()
  await tab.locator('.facts').getByText('Waiting to be claimed').waitFor()
  await tab.close()
})
