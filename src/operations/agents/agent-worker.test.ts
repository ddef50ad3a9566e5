// Needs the extras: planners

import { describe, expect, test } from 'vitest'
import type { PlanDefinition } from '../../domain/plan.ts'
import { finishDraft, sameFinish } from '../../extras/planners/goals/finish-draft.ts'
import { parsePlan } from '../../format/plan/parse.ts'
import { printYaml } from '../../format/plan/print.ts'
import { chooseWorker, keepWorker, withWorker, workerOf } from './agent-worker.ts'

function definitionOf(text: string): PlanDefinition {
  const parsed = parsePlan(`planfold: 1\nname: p\n${text}`)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed))
  return parsed.definition
}

const WORK = definitionOf(`
title: Mend it
tasks:
  - { id: look, title: Look at it, outputs: { cause: { report: text } } }
  - { id: mine, assignee: ana, instruction: hers }
  - { id: check, run: [make, test], needs: [look] }
  - id: parts
    subplan: [{ id: one, instruction: the first }]
  - { id: review, gate: diff, needs: [look, parts] }
  - { id: after, needs: [review], run: [make, install] }
`)
const OPENCODE = { agent: 'opencode', model: 'local/m' } as const

describe('an agent works a plan', () => {
  test('its external tasks, also those of groups; not what is assigned to somebody else', () => {
    const worked = withWorker(WORK, OPENCODE)
    const [look, mine, check, parts] = worked.tasks
    expect(look).toMatchObject({
      action: { type: 'agent', spec: { use: 'opencode', model: 'local/m' } },
      instruction: 'Look at it',
    })
    expect([mine?.action.type, check?.action.type]).toEqual(['external', 'run'])
    expect(parts?.action).toMatchObject({ tasks: [{ action: { type: 'agent' }, instruction: 'the first' }] })
    expect(workerOf(worked)).toEqual(OPENCODE)
    // It is a plan as every other, and says the same when it is printed and read.
    expect(parsePlan(printYaml(worked))).toMatchObject({ ok: true, definition: { tasks: worked.tasks } })
  })

  test('a file that does not name it leaves it its tasks, and no others', () => {
    const one = withWorker(WORK, OPENCODE, new Set(['look' as never]))
    const kept = keepWorker(one, WORK)
    expect(kept).toEqual(one)
    expect(keepWorker(WORK, WORK)).toBe(WORK)
  })

  test('what is approved is committed before anything that came after the review', () => {
    const done = finishDraft(WORK, { worker: OPENCODE, commits: true, budget: { calls: 3 } })
    const commit = done.tasks.find(({ id }) => id === 'commit')
    expect(commit).toMatchObject({
      needs: ['review'],
      write: [],
      action: { git: { do: 'commit', message: 'Mend it' } },
    })
    expect(done.tasks.find(({ id }) => id === 'after')?.needs).toEqual(['commit'])
    expect(done.policy?.budget).toEqual({ calls: 3 })
    // The next draft of the same goal ends alike.
    expect(sameFinish(done, WORK)).toEqual(done)
    expect(sameFinish(WORK, WORK)).toEqual(WORK)
  })

  test('is the one that is named, was used last, or is alone', async () => {
    const agents = (...names: string[]) => names.map(name => ({ name: name as never, status: 'installed' }))
    const engine = {
      ask: async ({ type }: { type: string }) =>
        type === 'plans' ? { items: [{ id: 'a' }, { id: 'b' }] } : { definition: withWorker(WORK, OPENCODE) },
    } as never
    const none = { ask: async () => ({ items: [] }) } as never
    expect(await chooseWorker(engine, agents('grok', 'opencode'))).toMatchObject({ agent: 'opencode' })
    expect(await chooseWorker(engine, agents('grok', 'opencode'), 'grok')).toMatchObject({ agent: 'grok' })
    expect(await chooseWorker(engine, agents('grok'))).toMatchObject({ agent: 'grok', why: 'only one' })
    expect(await chooseWorker(none, agents('grok', 'opencode'))).toMatchObject({ status: 'several' })
    expect(await chooseWorker(none, agents())).toEqual({ status: 'missing', agent: null })
    expect(await chooseWorker(none, agents('grok'), 'claude')).toEqual({ status: 'missing', agent: 'claude' })
  })
})
