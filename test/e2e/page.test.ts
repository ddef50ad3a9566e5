// The page as a person uses it, in a real browser: signing in by the link, seeing what waits, deciding, making a plan, and a service
// that goes away and comes back.

import { readFileSync } from 'node:fs'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { browserOrReason, complaintsOf } from './browser.fixture.ts'
import { type Place, place } from './planfold.fixture.ts'
import { type ServedProcess, serving } from './serve.fixture.ts'

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
  service = await serving(folder.folder)
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
  await page.getByRole('region', { name: 'Waits for you' }).getByText('look').waitFor()
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
  await page.getByRole('heading', { name: 'Done when' }).waitFor()
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByRole('button', { name: 'Pause', exact: true }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Find or do' }).fill('pause')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Resume', exact: true }).waitFor()
  expect(complaints).toEqual([])
})

test('when the service is killed the page stays readable and says so; when it is back, it goes on, still signed in', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await page.goto(`${service.address}/ui/plans/gated?view=outline`)
  await page.getByText('Live', { exact: true }).waitFor()
  const { port } = service
  service.kill('SIGKILL')
  await service.ended
  await page.getByText(/The service does not answer/).waitFor()
  expect(await page.getByRole('button', { name: /last/ }).first().isVisible()).toBe(true)
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
  await page.getByRole('button', { name: 'Make the plan' }).click()
  await page.getByRole('button', { name: 'Run', exact: true }).click()
  await page.getByRole('region', { name: 'Waits for you' }).getByText('host', { exact: true }).waitFor()
  expect(complaints).toEqual([])
})

test('a plan goes back to a checkpoint after a look at what that does, and the going back is undone', async context_ => {
  if (typeof browser === 'string') return context_.skip(browser)
  await page.goto(`${service.address}/ui/plans/edited?view=checkpoints`)
  await page.getByRole('button', { name: 'Compare' }).last().click()
  await page.getByText(/changed since/).waitFor()
  await page.getByRole('button', { name: 'Go back' }).last().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('notes/a.md').waitFor()
  await dialog.getByText('Open again').waitFor()
  await dialog.getByRole('button', { name: 'Go back' }).click()
  await page.getByText('The plan goes back').waitFor()
  await expect.poll(() => folder.read('notes/a.md'), { timeout: 60_000 }).toBe('one\ntwo\n')
  await page.getByRole('button', { name: 'Undo the last' }).click()
  await dialog.getByText('notes/a.md').waitFor()
  await dialog.getByRole('button', { name: 'Undo' }).click()
  await expect.poll(() => folder.read('notes/a.md'), { timeout: 60_000 }).toBe('one\nthree\n')
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
    await post('/plans/raced/gates/look/approve', '{}', 'application/json')
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
