// One journal, three faces: whatever the page folds from it, the terminal draws and an agent reads is the same state of every task.

import { expect, test } from 'vitest'
import { view } from '../src/cli/live/view-lines.ts'
import { paint } from '../src/cli/terminal/paint.ts'
import { agents } from '../src/mcp/mcp.fixture.ts'
import { PlanFold } from '../web/data/plan-fold.ts'

const TASKS = ['made', 'held', 'open', 'left', 'bad', 'after'].map(id => ({
  id,
  title: `Task ${id}`,
  ...(id === 'after' ? { needs: ['open'] } : {}),
}))
const SIGNS: { readonly [status: string]: RegExp } = {
  completed: /✔/,
  failed: /✖/,
  running: /[⠀-⣿]/,
  ready: /○/,
  pending: /·/,
}

test('page, terminal and agents show the same states of one journal, at every entry', async () => {
  const { agent, engine } = agents()
  const me = await agent({ as: 'claude' })
  const folded = new PlanFold()
  const seen = new Set<string>()
  for (const input of [
    { action: 'create', name: 'demo', goal: 'All states', tasks: TASKS, start: true },
    { action: 'claim', task: 'made' },
    { action: 'report', task: 'made', status: 'done' },
    { action: 'claim', task: 'bad' },
    { action: 'report', task: 'bad', status: 'failed', text: 'no way' },
    { action: 'claim', task: 'held' },
  ]) {
    const { text, error } = await me.write(input)
    expect(error, text).toBe(false)
    // The page reads on behind what it had; another tab that comes now begins with the state.
    for (const entry of (await engine.ask({ type: 'entries', plan: 'demo', after: folded.version }))!)
      expect(folded.read(entry)).toBe(true)
    const fresh = new PlanFold()
    const state = (await engine.ask({ type: 'state', plan: 'demo' }))!
    expect(fresh.start(state.fold, state.definition)).toBe(true)
    expect(fresh.whole()).toEqual(folded.whole())

    const { head, tasks } = folded.whole()
    const told = (await me.read({ what: 'plan' })).text
    const cards = (await engine.ask({ type: 'board', plan: 'demo' }))!
    const { status, progress } = (await engine.ask({ type: 'summary', plan: 'demo' }))!
    expect(head.status).toBe(status)
    const sight = { name: 'demo', title: null, status, startedAt: 0, progress, cards }
    const rest = { lastLine: new Map<string, string>(), question: [], notice: null }
    const drawn = view({ ...sight, ...rest }, { columns: 100, rows: 40, now: 0, frame: 0 }, paint(false))
    for (const task of tasks) {
      seen.add(task.status)
      expect(told).toMatch(new RegExp(`^- \\[.\\] ${task.name}: .*\\(${task.status}`, 'm'))
      const line = drawn.find(one => one.split(/\s+/)[1] === task.name)
      expect(line?.trim()[0] ?? '', `${task.name} is ${task.status} in: ${line}`).toMatch(SIGNS[task.status]!)
    }
  }
  expect([...seen].sort()).toEqual(['completed', 'failed', 'pending', 'ready', 'running'])
})
