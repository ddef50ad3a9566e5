// `npm run page -- idle plans huge size`: what a page costs that nobody touches, five hundred plans, and a plan of ten thousand tasks.

import { gzipSync } from 'node:zlib'
import type { BrowserContext, Page } from 'playwright-core'
import { framesWhilePanning } from './measure.ts'
import { PRINTED } from './plans.ts'

export interface Costs {
  readonly address: string
  call<T>(method: string, path: string, body?: string, type?: string): Promise<T>
  until(what: string, holds: () => Promise<boolean>): Promise<void>
  tell(what: string, value: string, isGood: boolean): void
}

const SECONDS = 10
const IDLE_MAX_MS = 30
const PLANS = 500
const USABLE_MAX_MS = 1_000
const TASKS = 10_000
const FRAMES_MIN = 30

/** Milliseconds that the main thread works in each of ten seconds, the median. Measure on a quiet machine: time in which it waits for a processor counts. */
export async function idleCost(page: Page): Promise<number> {
  const client = await page.context().newCDPSession(page)
  await client.send('Performance.enable')
  const spent = async (): Promise<number> => {
    const { metrics } = await client.send('Performance.getMetrics')
    return 1_000 * metrics.find(({ name }) => name === 'TaskDuration')!.value
  }
  const seconds: number[] = []
  for (let before = await spent(); seconds.length < SECONDS; ) {
    await page.waitForTimeout(1_000)
    const now = await spent()
    seconds.push(now - before)
    before = now
  }
  await client.detach()
  return seconds.toSorted((a, b) => a - b)[SECONDS / 2]!
}

export async function idle(context: BrowserContext, { address, call, until, tell }: Costs): Promise<void> {
  await call('POST', '/plans?start=true', PRINTED)
  await until('a plan that printed', async () => {
    const { status } = await call<{ status: string }>('GET', '/plans/printed')
    return status === 'failed'
  })
  for (const [path, ready] of [
    ['/ui/', 'printed'],
    ['/ui/inbox', 'look'],
    ['/ui/plans/printed?task=prints&tab=log', 'still here'],
    ['/ui/plans/rename-total?view=graph&task=watch', 'Try it under load'],
    ['/ui/plans/rename-total?view=outline&task=watch&tab=log', 'request'],
    ['/ui/plans/rename-total?view=board', 'Waiting for you'],
    ['/ui/plans/rename-total?view=history', 'plan started'],
  ] as const) {
    const page = await context.newPage()
    await page.goto(address + path)
    await page.getByText(ready).filter({ visible: true }).first().waitFor()
    await page.waitForTimeout(2_000)
    const cost = await idleCost(page)
    tell(`nobody touches ${path}`, `${cost.toFixed(1)} ms of the main thread in a second`, cost < IDLE_MAX_MS)
    await page.close()
  }
}

/** Scripts as they are sent, without the worker that all tabs share. */
export async function scripts(context: BrowserContext, { address, tell }: Costs): Promise<void> {
  for (const [path, ready, max] of [
    ['/ui/', 'tidy-notes', 160],
    ['/ui/plans/tidy-notes?view=graph', 'first', 200],
  ] as const) {
    const page = await context.newPage()
    const bodies: Promise<number>[] = []
    page.on('response', response => {
      if (/\.js(\?|$)/.test(response.url())) bodies.push(response.body().then(body => gzipSync(body).length))
    })
    const began = Date.now()
    await page.goto(address + path)
    await page.getByText(ready).filter({ visible: true }).first().waitFor()
    const took = Date.now() - began
    const bytes = (await Promise.all(bodies)).reduce((sum, one) => sum + one, 0)
    const value = `${(bytes / 1024).toFixed(1)} KB in ${bodies.length} files, usable after ${took} ms`
    tell(`JavaScript of ${path}, gzipped`, value, bytes <= max * 1024 && bytes > 0)
    await page.close()
  }
}

export async function manyPlans(context: BrowserContext, { address, call, tell }: Costs): Promise<void> {
  for (let at = 0; at < PLANS; at++)
    await call('POST', '/plans', `planfold: 1\nname: many-${at}\ntasks:\n  - { id: a, run: [echo, a], effect: pure }\n`)
  const times: number[] = []
  for (let round = 0; round < 5; round++) {
    const page = await context.newPage()
    const began = Date.now()
    await page.goto(`${address}/ui/`)
    await page.getByRole('link', { name: /many-/ }).first().waitFor()
    await page.getByLabel('Search plans').fill('many-77')
    await page
      .getByRole('link', { name: /many-77\b/ })
      .first()
      .waitFor()
    times.push(Date.now() - began)
    await page.close()
  }
  const middle = times.toSorted((a, b) => a - b)[2]!
  tell(`${PLANS} plans, until one of them is found`, `${middle} ms (${times.join(', ')})`, middle < USABLE_MAX_MS)
}

export async function huge(context: BrowserContext, { address, call, tell }: Costs, picture: string): Promise<void> {
  // A document of this size must be JSON.
  const tasks = Array.from({ length: TASKS }, (_, at) => ({
    id: `t${at}`,
    needs: at < 100 ? [] : [`t${at - 100}`, ...(at % 5 === 0 ? [`t${at - 99}`] : [])],
    run: ['true'],
    effect: 'pure',
  }))
  await call('POST', '/plans', JSON.stringify({ planfold: 1, name: 'huge', tasks }))
  const page = await context.newPage()
  const began = Date.now()
  await page.goto(`${address}/ui/plans/huge?view=graph`)
  await page.getByRole('button', { name: /t0\b/ }).first().waitFor({ state: 'attached' })
  const opened = Date.now() - began
  await page.keyboard.press('f')
  await page.locator('canvas.blocks').waitFor()
  const { frames, nodes, p95 } = await framesWhilePanning(page)
  await page.screenshot({ path: picture })
  const value = `${frames.toFixed(1)} frames/s, p95 ${p95.toFixed(0)} ms, ${nodes} elements; opened in ${opened} ms`
  tell(`panning ${TASKS.toLocaleString('en')} tasks, all in view`, value, frames >= FRAMES_MIN)
  await page.close()
}
