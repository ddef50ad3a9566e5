// The live view against a scripted engine and a terminal that only remembers.

import { expect, it, vi } from 'vitest'
import type { Composed } from '../../compose.ts'
import type { PlanId, TaskName } from '../../domain/id.ts'

import type { Order } from '../../engine/engine.ts'
import type { Context, Terminal } from '../context.ts'
import { paint } from '../terminal/paint.ts'
import { cardOf, summaryOf } from '../text/cards.fixture.ts'
import { LiveReporter } from './live-view.ts'

function setup() {
  let written = ''
  let press = (_: string): void => {}
  const released: string[] = []
  const orders: Order[] = []
  const cards = [cardOf('build', 'running', { startedAt: 0 }), cardOf('review', 'waiting')]
  const waiting = [{ task: 'review' as TaskName, asks: { type: 'approval' as const, show: [] }, since: 5 }]
  let summary = summaryOf(cards, { waiting })
  const terminal: Terminal = {
    columns: () => 60,
    rows: () => 15,
    onResize: () => () => released.push('resize'),
    onKey: listener => {
      press = listener
      return () => released.push('keys')
    },
  }
  const engine = {
    ask: async (query: { readonly type: string }) =>
      query.type === 'board' ? cards : query.type === 'summary' ? summary : null,
    submit: async (_: string, order: Order) => {
      orders.push(order)
      summary = summaryOf(cards, { waiting: [] })
      return { ok: true }
    },
  }
  const context = {
    stdout: { write: (text: string) => (written += text) },
    now: () => 1_000,
    paint: paint(false),
    settings: {},
  }
  const onLeft = vi.fn()
  const live = new LiveReporter(
    context as unknown as Context,
    terminal,
    { engine, actor: 'ana' } as unknown as Composed,
    { plan: 'plan' as PlanId },
    onLeft,
  )
  return { live, orders, released, onLeft, written: () => written, press: (key: string) => press(key) }
}

it('draws tasks and their output, asks at a gate, takes the answer, and gives the terminal back', async () => {
  const { live, orders, released, written, press } = setup()
  live.output('build' as TaskName, 'compiling \u001b[2Jmain.ts\n')
  await vi.waitFor(() => expect(written()).toContain('[a]pprove'), 120_000)
  expect(written()).toContain('compiling \\u{1b}[2Jmain.ts')
  press('r')
  for (const key of 'no') press(key)
  press('\r')
  expect(orders).toEqual([{ type: 'decide', task: 'review', verdict: 'rejected', rationale: 'no' }])
  await live.close()
  expect(written().startsWith('\u001b[?25l')).toBe(true)
  expect(written().endsWith('\u001b[J\u001b[?25h')).toBe(true)
  // Where it stands stays on the screen, without the question and without what only matters while it goes on.
  const last = written().slice(written().lastIndexOf('\r'))
  expect(last).toMatch(/demo[^\n]*\n[^\n]*build[^\n]*\n[^\n]*review/)
  expect(last).not.toMatch(/\[a\]pprove|Ctrl-C/)
  expect(released).toEqual(['resize', 'keys'])
})

it('does not ask again what was put off', async () => {
  const { live, orders, written, press } = setup()
  await vi.waitFor(() => expect(written()).toContain('[a]pprove'), 120_000)
  press('s')
  press('a')
  await live.close()
  expect(orders).toEqual([])
})
