// Whoever folds what is announced under the names of seed 001 sees what its routes answer, after every single event.

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { ClockFake, external, Journal, type JournalEntry, name, numberedSha, plan } from '../../testing/index.ts'
import { Luck, noTo, troubledCommand, troubledPlan } from '../../testing/random-judgement.ts'
import type { Event } from '../event.ts'
import { evolve } from '../evolve.ts'
import { newState } from '../fold.ts'
import type { PlanState } from '../state.ts'
import { underscoreAnnouncements } from './announcement-underscore.ts'
import { planWord, stepWord } from './session-words.ts'

const FOLDER = fileURLToPath(new URL('../../../test/fixtures/journals/', import.meta.url))
const facts = { name: 'p', session: null }

interface Seen {
  plan: string
  readonly steps: Map<string, string>
}

/** As a page does it: what was never told of is pending. */
function fold(seen: Seen, told: readonly { readonly name: string; readonly data: string }[]): void {
  for (const { name, data: text } of told) {
    const { data } = JSON.parse(text)
    if (name !== 'plan_step_update') seen.plan = data.status ?? seen.plan
    else if (data.status === 'removed') seen.steps.delete(data.step_id)
    else seen.steps.set(data.step_id, data.status ?? 'nobody knows')
  }
}

function check(entries: readonly { readonly now: number; readonly events: readonly Event[] }[]): PlanState {
  const [moved, real] = [newState(), newState()]
  const seen: Seen = { plan: 'pending', steps: new Map() }
  for (const [at, { now, events }] of entries.entries()) {
    const entry = { position: at + 1, version: at + 1, plan: real.id, actor: 'ana' as never, events }
    fold(seen, underscoreAnnouncements({ ...entry, at: new Date(now).toISOString() }, facts, moved))
    for (const event of events) evolve(real, event, now)
    moved.version = real.version = at + 1
    const shown = Object.fromEntries(real.order.map(task => [task.definition.id, stepWord(task)]))
    const folded = Object.fromEntries(Object.keys(shown).map(id => [id, seen.steps.get(id) ?? 'pending']))
    expect({ at, plan: seen.plan, steps: folded }).toEqual({ at, plan: planWord(real.status), steps: shown })
    expect([...seen.steps.keys()].filter(id => !(id in shown))).toEqual([])
  }
  return real
}

describe('folding what is announced', () => {
  const journals = readdirSync(FOLDER).filter(file => file.endsWith('.jsonl'))
  test.each(journals)('gives what is true, of %s', file => {
    const lines = readFileSync(FOLDER + file, 'utf8')
      .trim()
      .split('\n')
    check(lines.map(line => JSON.parse(line) as JournalEntry))
  })

  test('gives what is true, of 150 troubled plans', () => {
    const ends = new Set<string>()
    for (let seed = 1; seed <= 150; seed++) {
      const luck = new Luck(seed)
      const journal = new Journal(new ClockFake()).create(troubledPlan(luck))
      for (let steps = 0; steps < 200; steps++) {
        const command = troubledCommand(journal.state, luck, journal.clock.now())
        if (command === null) break
        if (!journal.submit(command).ok && command.type === 'decide') journal.must(noTo(command.task))
        journal.clock.advance(luck.next(500))
      }
      if (seed % 3 === 0) journal.submit({ type: 'cancel', reason: 'enough', force: false })
      ends.add(check(journal.entries).status)
    }
    expect(ends.size).toBeGreaterThan(2)
  })

  test('a task that a revision takes out is told as removed', () => {
    const journal = new Journal(new ClockFake()).create(plan('p', external('a'), external('b')))
    const definition = plan('p', external('b'), external('c'))
    journal.must({ type: 'revise', definition, hash: numberedSha(2), rationale: 'less' })
    check(journal.entries)
    const before = newState()
    const [created, revised] = journal.entries.map(entry => entry.events)
    for (const event of created!) evolve(before, event, 0)
    const entry = { position: 2, version: 2, plan: before.id, actor: 'ana' as never, at: '2026-01-01T00:00:00.000Z' }
    const told = underscoreAnnouncements({ ...entry, events: revised! }, facts, before)
    const steps = told.filter(one => one.name === 'plan_step_update').map(({ data }) => JSON.parse(data).data)
    expect(steps).toEqual([
      { event: 'plan.revised', step_id: name('c'), status: 'pending' },
      { event: 'plan.revised', step_id: name('a'), status: 'removed' },
    ])
  })
})
