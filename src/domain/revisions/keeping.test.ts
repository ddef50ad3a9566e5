// What clients keep beside plans and tasks: merged, bounded, never followed, and nothing of it can do harm.

import { describe, expect, it } from 'vitest'
import { external, Journal, name, plan, started, succeeded, task } from '../../testing/index.ts'
import type { Command } from '../command.ts'
import { type Json, type JsonObject, jsonBytes } from '../json.ts'
import { ANNOTATIONS_MAX_BYTES, EVALUATION_MAX_BYTES, EVALUATIONS_KEPT } from '../limits.ts'
import { unpackFold } from '../state/fold.ts'
import { stored } from '../state/state.fixture.ts'

const annotate = (set: JsonObject, task?: string): Command => ({
  type: 'annotate',
  set,
  by: 'ana',
  task: task === undefined ? undefined : name(task),
})
const evaluate = (id: string, more: { score?: number; passed?: boolean; data?: Json } = {}): Command => ({
  type: 'evaluate',
  task: name('a'),
  id,
  by: 'ana',
  ...more,
})
const draft = () => new Journal().create(plan('p', external('a'), external('b')))

function refused(journal: Journal, command: Command): string {
  const before = stored(journal.state)
  const decided = journal.submit(command)
  expect(stored(journal.state)).toEqual(before)
  if (decided.ok) throw new Error(`'${command.type}' was not refused`)
  return `${decided.refusal.code}: ${decided.refusal.message}`
}

describe('annotations', () => {
  it('are merged key by key, and null takes a key away', () => {
    const journal = draft()
    journal.must(annotate({ current_step: 1, client: { a: 1 } }))
    expect(journal.must(annotate({ current_step: 2, client: { b: 2 }, gone: null }))).toEqual([
      { type: 'plan.annotated', set: { current_step: 2, client: { b: 2 }, gone: null }, by: 'ana' },
    ])
    journal.must(annotate({ started_at: 'then' }, 'a'))
    expect(journal.state.annotations).toEqual({ current_step: 2, client: { b: 2 } })
    expect(journal.state.tasks.get(name('a'))?.annotations).toEqual({ started_at: 'then' })
    journal.must(annotate({ current_step: null, client: null }))
    expect(journal.state.annotations).toEqual({})
    expect(stored(journal.state)).not.toHaveProperty('annotations')
  })

  it('that change nothing write nothing', () => {
    const journal = draft()
    journal.must(annotate({ a: { x: 1, y: [2] } }))
    expect(journal.must(annotate({ a: { y: [2], x: 1 } }))).toEqual([])
    expect(journal.must(annotate({ never: null }))).toEqual([])
    expect(journal.must(annotate({}))).toEqual([])
  })

  it('are kept in every status, also when the plan has ended, but not when it is archived', () => {
    const journal = started(plan('p', external('a')))
    journal.must({ type: 'report', task: name('a'), by: 'bo', result: succeeded() })
    expect(journal.state.status).toBe('completed')
    journal.must(annotate({ seen: true }, 'a'))
    journal.must(evaluate('e1', { passed: true }))
    journal.must({ type: 'archive' })
    expect(refused(journal, annotate({ seen: false }))).toContain('illegal-transition')
  })

  it('of a task that is not there are refused with the nearest name', () => {
    expect(refused(draft(), annotate({ x: 1 }, 'aa'))).toContain("not-found: the plan has no task 'aa'")
    expect(refused(draft(), { ...evaluate('e'), task: name('zz') } as Command)).toContain('not-found')
  })

  it('of 64 KB are kept, one byte more is refused, also when it comes bit by bit', () => {
    const journal = draft()
    const full = 'x'.repeat(ANNOTATIONS_MAX_BYTES - '{"k":""}'.length)
    expect(refused(journal, annotate({ k: `${full}x` }))).toContain('limit')
    journal.must(annotate({ k: full }))
    expect(refused(journal, annotate({ l: 1 }))).toContain('limit: the plan would keep more than 65536 bytes')
    expect(refused(journal, annotate({ l: 'x'.repeat(ANNOTATIONS_MAX_BYTES) }, 'b'))).toContain('limit')
    journal.must(annotate({ k: null, l: 1 }))
    // Bytes, not characters.
    expect(refused(journal, annotate({ k: 'ä'.repeat(40_000) }))).toContain('limit')
  })

  it('cannot reach what objects are made of, nor exhaust the stack', () => {
    const journal = draft()
    expect(refused(journal, annotate(JSON.parse('{"__proto__":{"polluted":true}}') as JsonObject))).toContain('invalid')
    journal.must(annotate(JSON.parse('{"constructor":1,"x":{"__proto__":{"polluted":true}}}') as JsonObject))
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    expect(Object.getPrototypeOf(journal.state.annotations)).toBe(Object.prototype)
    expect(stored(unpackFold(stored(journal.state), journal.state.definition))).toEqual(stored(journal.state))
    let deep: Json = 0
    for (let at = 0; at < 100_000; at++) deep = [deep]
    expect(refused(journal, annotate({ deep }))).toContain('limit: an annotation is nested too deep')
    expect(refused(journal, evaluate('e', { data: deep }))).toContain('nested too deep')
  })

  it('are followed by nobody: the plan stands as it did', () => {
    const journal = started(plan('p', task('a'), external('b')))
    const { annotations: _, version: __, ...before } = stored(journal.state)
    journal.must(annotate({ status: 'completed', needs: [], current_step: 9 }))
    const { annotations: ___, version: ____, ...after } = stored(journal.state)
    expect(after).toEqual(before)
  })
})

describe('evaluations', () => {
  it('say what somebody makes of the visit', () => {
    const journal = draft()
    const at = journal.clock.now()
    journal.must(evaluate('e1', { score: 0.25, passed: false, data: { why: 'slow' } }))
    journal.must(evaluate('e2'))
    // The same one, said again.
    expect(journal.must(evaluate('e1', { score: 1 }))).toEqual([])
    expect(journal.state.tasks.get(name('a'))?.evaluations).toEqual([
      { id: 'e1', by: 'ana', visit: 1, at, score: 0.25, passed: false, data: { why: 'slow' } },
      { id: 'e2', by: 'ana', visit: 1, at },
    ])
  })

  it('are remembered up to a hundred, each within its bounds', () => {
    const journal = draft()
    for (let at = 1; at <= EVALUATIONS_KEPT + 5; at++) journal.must(evaluate(`e${at}`, { score: at }))
    const { evaluations } = journal.state.tasks.get(name('a'))!
    expect([evaluations.length, evaluations[0]?.id, evaluations.at(-1)?.id]).toEqual([100, 'e6', 'e105'])
    expect(refused(journal, evaluate('x', { score: Number.NaN }))).toContain('invalid')
    expect(refused(journal, evaluate('x', { data: 'x'.repeat(EVALUATION_MAX_BYTES) }))).toContain('limit')
  })
})

describe('the size of JSON', () => {
  it('is counted in bytes as they are written', () => {
    const values: readonly Json[] = [null, 0, 'a', 'ä', '€', '😀', '\ud800', '\n"', [1, [2]], { ä: '€😀' }, '']
    for (const value of values) expect(jsonBytes(value)).toBe(Buffer.byteLength(JSON.stringify(value)))
  })
})
