import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from '../../domain/json.ts'
import type { PlanDefinition, TaskDefinition } from '../../domain/plan.ts'
import { isEmpty, type SemanticDiff } from '../../domain/revisions/semantic-diff.ts'
import { planDefinition } from './definition.arbitrary.ts'
import { diffDefinitions, explainDiff, printDiff } from './diff-text.ts'

import { canonicalJson } from './hash.ts'
import { parsePlan } from './parse.ts'

const plan = (text: string) => {
  const parsed = parsePlan(`planfold: 1\nname: x\n${text}`)
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics))
  return parsed.definition
}
const told = (before: string, after: string): readonly string[] =>
  explainDiff(diffDefinitions(plan(before), plan(after))).split('\n')

describe('a diff in short', () => {
  it('names what was added, removed and changed', () => {
    const before = plan('title: Old\ntasks: [{id: a, run: [ls]}, {id: b}, {id: c, timeout: 60s}]')
    const after = plan(
      'title: New\ngoal: g\ntasks: [{id: a, run: [ls, -l], needs: [c]}, {id: c, timeout: 1m}, {id: d}]',
    )
    expect(printDiff(diffDefinitions(before, after))).toBe('~ goal\n~ title\n- task b\n+ task d\n~ task a: run, needs')
  })

  it('tells another order of tasks, too', () => {
    const diff = diffDefinitions(plan('tasks: [{id: a}, {id: b}]'), plan('tasks: [{id: b}, {id: a}]'))
    expect(printDiff(diff)).toBe('~ order of tasks')
  })

  it('calls keys as the document does', () => {
    const diff = diffDefinitions(
      plan('tasks: [{id: a, timeout: 1m, estimate: 1h, run: [x]}]'),
      plan('defaults: {timeout: 1m}\ntasks: [{id: a, timeout: 2m, estimate: 2h, gate: approval}]'),
    )
    expect(printDiff(diff)).toBe('~ defaults.timeout\n~ task a: run → gate, estimate, timeout')
  })
})

describe('a diff in full', () => {
  it('shows another place of the plan', () => {
    const of = (place: string) => `place: ${place}\ntasks: [{id: a}]`
    expect(told(of('linux'), of('[linux, gpu]'))).toEqual(['~ plan', '  place: [linux] → [linux, gpu]'])
    expect(told('tasks: [{id: a}]', of('gpu'))).toEqual(['~ plan', '  + place: [gpu]'])
  })

  it('shows what was and what is, in the words of the document', () => {
    expect(
      told(
        'tasks: [{id: a, run: [npm, test], timeout: 60s, write: [src/**], retry: 2}, {id: b, title: B, run: x}]',
        'title: T\npolicy: {write: ["src/**"]}\ntasks: [{id: a, run: [npm, run, test], timeout: 2m, write: [src/a.ts], retry: 3}, {id: c, title: C}]',
      ),
    ).toEqual([
      '~ plan',
      '  + policy.write: [src/**]',
      '  + title: "T"',
      '- task b (run: B)',
      '+ task c (external: C)',
      '~ task a: action, scope, limits changed',
      '  run: [npm, test] → [npm, run, test]',
      '  write: [src/**] → [src/a.ts]',
      '  retry.attempts: 2 → 3',
      '  timeout: "1m" → "2m"',
    ])
  })

  it('shows a script line by line and an edit of the same file from inside', () => {
    const task = (script: string, edit: string) =>
      `tasks:\n  - id: a\n    run: |\n${script.replace(/^/gm, '      ')}\n  - id: e\n    edit:\n      - { file: f.ts, find: a, replace: ${edit} }\n      - { file: g.ts, delete: true }\n`
    expect(told(task('set -x\nnpm test\necho done', 'b'), task('set -x\nnpm run test\necho done', 'c'))).toEqual([
      '~ task a: action changed',
      '  run:',
      '    - npm test',
      '    + npm run test',
      '~ task e: action changed',
      '  edit:',
      '    ~ f.ts',
      '      replace: "b" → "c"',
    ])
  })

  it('goes into subplans', () => {
    expect(
      told(
        'tasks: [{id: s, subplan: [{id: a, title: one}, {id: b}]}]',
        'tasks: [{id: s, subplan: [{id: a, title: two}, {id: c, needs: [a]}]}]',
      ),
    ).toEqual(['- task s/b (external)', '+ task s/c (external)', '~ task s/a: text changed', '  title: "one" → "two"'])
  })

  it('is bounded, whatever changed', () => {
    const lines = (word: string) => Array.from({ length: 5_000 }, (_, at) => `echo ${word} ${at}`).join('\n')
    const script = (word: string): PlanDefinition => ({
      ...plan('tasks: [{id: a}]'),
      tasks: [{ id: 'a', action: { type: 'run', command: { script: lines(word) } } } as unknown as TaskDefinition],
    })
    const text = explainDiff(diffDefinitions(script('x'), script('y')))
    expect(text).toContain('5000 lines → 5000 lines')
    const longer = script('x')
    const cut = explainDiff(diffDefinitions(plan('tasks: [{id: a, run: ls}]'), longer))
    expect(cut.split('\n').length).toBeLessThan(50)
  })
})

describe('for any two definitions', () => {
  it('a definition does not differ from itself, nor from its copy with other key order', () => {
    fc.assert(
      fc.property(planDefinition, definition => {
        const diff = diffDefinitions(definition, definition)
        expect(isEmpty(diff)).toBe(true)
        expect(printDiff(diff) + explainDiff(diff)).toBe('')
        expect(isEmpty(diffDefinitions(definition, turned(definition as unknown as Json) as never))).toBe(true)
      }),
      { numRuns: 25 },
    )
  })

  it('regression 32: every key that differs is in the diff', () => {
    fc.assert(
      fc.property(planDefinition, planDefinition, fc.array(fc.nat(), { maxLength: 5 }), (one, other, picks) => {
        for (const [before, after] of [
          [one, other],
          [one, mixed(one, other, picks)],
        ] as const) {
          const diff = diffDefinitions(before, after)
          expect(isEmpty(diff)).toBe(canonicalJson(before as never) === canonicalJson(after as never))
          expect(unmentioned(before, after, diff)).toEqual([])
          expect(explainDiff(diff) === '').toBe(isEmpty(diff))
          expect(JSON.parse(JSON.stringify(diff))).toEqual(diff)
        }
      }),
      { numRuns: 60 },
    )
  })
})

/** The same value with all keys the other way round. */
function turned(value: Json): Json {
  if (Array.isArray(value)) return value.map(turned)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, item]) => [key, turned(item as Json)]),
  )
}

/** The first plan with some keys and tasks of the second, so that tasks of the same name differ here and there. */
function mixed(one: PlanDefinition, other: PlanDefinition, picks: readonly number[]): PlanDefinition {
  const tasks = one.tasks.map((task, at) => {
    const donor = other.tasks[(picks[at % 5] ?? 0) % other.tasks.length]!
    const keys = Object.entries(donor).filter(([key], place) => key !== 'id' && ((picks[0] ?? 1) + place) % 3 === 0)
    return { ...task, ...Object.fromEntries(keys) }
  })
  return { ...one, tasks: picks.length > 3 ? tasks.toReversed() : tasks }
}

/** Every differing key of every task that keeps its name, and of the plan, that the diff does not mention. */
function unmentioned(before: PlanDefinition, after: PlanDefinition, diff: SemanticDiff): readonly string[] {
  const renamed = new Set(diff.renamed.flatMap(({ from, to }) => [from, to]))
  const missing: string[] = []
  const differ = (a: unknown, b: unknown): boolean =>
    canonicalJson((a ?? null) as Json) !== canonicalJson((b ?? null) as Json) || (a === undefined) !== (b === undefined)
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
    if (key !== 'tasks' && differ(before[key as 'name'], after[key as 'name']))
      if (!diff.plan.some(change => change.key === key || change.key.startsWith(`${key}.`))) missing.push(key)
  for (const task of before.tasks) {
    const later = after.tasks.find(({ id }) => id === task.id)
    if (later === undefined) {
      if (!renamed.has(task.id) && !diff.removed.some(one => one.task === task.id)) missing.push(`-${task.id}`)
      continue
    }
    const changes = diff.changed.find(one => one.task === task.id)?.changes ?? []
    for (const key of new Set([...Object.keys(task), ...Object.keys(later)])) {
      if (!differ(task[key as 'title'], later[key as 'title']) || changes.some(change => change.key === key)) continue
      const explained = renamed.size > 0 && ['needs', 'on', 'failureModes'].includes(key)
      const inside = key === 'action' && task.action.type === 'subplan' && later.action.type === 'subplan'
      if (!explained && !inside) missing.push(`${task.id}.${key}`)
    }
  }
  for (const { id } of after.tasks)
    if (!before.tasks.some(task => task.id === id) && !renamed.has(id) && !diff.added.some(one => one.task === id))
      missing.push(`+${id}`)
  return missing
}
