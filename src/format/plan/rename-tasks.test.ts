import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TaskName } from '../../domain/id.ts'
import type { PlanDefinition } from '../../domain/plan.ts'
import { planDefinition } from './definition.arbitrary.ts'
import { canonicalJson, definitionHash } from './hash.ts'
import { parsePlan } from './parse.ts'
import { printJson } from './print.ts'
import { generatedIds, generateTaskIds, renameTasks } from './rename-tasks.ts'

const read = (text: string): PlanDefinition => {
  const parsed = parsePlan(text, { fallbackName: 'x' })
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics))
  return parsed.definition
}
const one = (renames: { [from: string]: string }) =>
  new Map(Object.entries(renames).map(([from, to]) => [from as TaskName, to as TaskName]))

const PLAN = `
planfold: 1
done:
  - expect: tasks.a.outputs.n >= 1
  - check: [test, "\${{ tasks['b-c'].outputs.n }}"]
  - a is mentioned, and tasks.a too, but this is prose
tasks:
  - id: a
    run: [echo, "tasks.a", "\${{ tasks.a.outputs.n }} of \${{ tasks['b-c'].outputs.n }}"]
    outputs: { n: { stdout: json } }
    on: { failure: b-c }
  - id: b-c
    needs: [a]
    when: tasks.a.status == 'completed' && 'tasks.a' != ''
    run: echo \${{ tasks["a"].outputs.n }}
    env: { A: "\${{ tasks . a . outputs . n }}" }
    inputs: { deep: [{ x: "\${{ tasks.a.outputs.n + 1 }}" }] }
    accept: [{ expect: "[{'a': 1}].all(tasks, tasks.a > 0) && tasks.a.visit > 0" }]
    failure_modes: [{ name: m, detect: { expect: tasks.a.visit > 1 }, recover: [a] }]
  - id: s
    needs: [b-c]
    subplan:
      - { id: a, run: [echo, "\${{ tasks.a.outputs.n }}"] }
      - { id: t, needs: [a], on: { failure: a, rejected: b-c }, when: "tasks['s/a'].status == 'completed'" }
  - id: last
    for_each: tasks.a.outputs.list
    needs: [s]
    decide: "tasks['s/t'].status == 'completed' ? 'success' : tasks.last.status"
`

describe('renaming tasks', () => {
  const renamed = renameTasks(read(PLAN), one({ a: 'plan-x-01', s: 'sub' }))
  const [a, b, s, last] = renamed.tasks

  it('follows needs, on and recover', () => {
    expect(a).toMatchObject({ id: 'plan-x-01', on: { failure: ['b-c'] } })
    expect(b).toMatchObject({ id: 'b-c', needs: ['plan-x-01'], failureModes: [{ recover: ['plan-x-01'] }] })
    expect(last).toMatchObject({ needs: ['sub'] })
  })

  it('follows expressions and templates, and leaves alone what only looks like one', () => {
    expect(a?.action).toMatchObject({
      command: { argv: ['echo', 'tasks.a', "${{ tasks['plan-x-01'].outputs.n }} of ${{ tasks['b-c'].outputs.n }}"] },
    })
    expect(b).toMatchObject({
      when: "tasks['plan-x-01'].status == 'completed' && 'tasks.a' != ''",
      action: { command: { script: "echo ${{ tasks['plan-x-01'].outputs.n }}" } },
      env: { A: "${{ tasks['plan-x-01'] . outputs . n }}" },
      inputs: { deep: [{ x: "${{ tasks['plan-x-01'].outputs.n + 1 }}" }] },
      accept: [{ expression: "[{'a': 1}].all(tasks, tasks.a > 0) && tasks['plan-x-01'].visit > 0" }],
      failureModes: [{ detect: { expression: "tasks['plan-x-01'].visit > 1" } }],
    })
    expect(last).toMatchObject({ forEach: { in: "tasks['plan-x-01'].outputs.list" } })
    expect(renamed.done).toEqual([
      { type: 'expect', expression: "tasks['plan-x-01'].outputs.n >= 1" },
      { type: 'check', command: { argv: ['test', "${{ tasks['b-c'].outputs.n }}"] } },
      { type: 'prose', text: 'a is mentioned, and tasks.a too, but this is prose' },
    ])
  })

  it('steps of a subplan keep their short names, and are called by the new name of the task above', () => {
    expect(s?.action).toMatchObject({
      tasks: [
        { id: 'a', action: { command: { argv: ['echo', "${{ tasks['plan-x-01'].outputs.n }}"] } } },
        { id: 't', needs: ['a'], when: "tasks['sub/a'].status == 'completed'" },
      ],
    })
    expect(last?.action).toMatchObject({
      expression: "tasks['sub/t'].status == 'completed' ? 'success' : tasks.last.status",
    })
  })

  it('outcomes of a step lead to its siblings first, then to the tasks around it', () => {
    const plan = read(
      'planfold: 1\ntasks: [{ id: a }, { id: b }, { id: s, subplan: [{ id: a }, { id: t, on: { failure: [a, b] } }] }]',
    )
    expect(renameTasks(plan, one({ a: 'x', b: 'y' })).tasks[2]?.action).toMatchObject({
      tasks: [{ id: 'a' }, { on: { failure: ['a', 'y'] } }],
    })
  })

  it('two tasks may change names with each other', () => {
    const swapped = renameTasks(
      read('planfold: 1\ntasks: [{ id: a }, { id: b, needs: [a], when: tasks.a.visit > tasks.b.visit }]'),
      one({ a: 'b', b: 'a' }),
    )
    expect(swapped.tasks).toMatchObject([{ id: 'b' }, { id: 'a', needs: ['b'], when: 'tasks.b.visit > tasks.a.visit' }])
  })
})

describe('generated ids', () => {
  it('are plan-<shortname>-<nn>, and the plan still reads', () => {
    const generated = generateTaskIds(read(PLAN), 'Partial Retries!')
    expect(generated.tasks.map(({ id }) => id)).toEqual([1, 2, 3, 4].map(n => `plan-partial-retries-0${n}`))
    expect(read(printJson(generated))).toEqual(generated)
  })

  it('have as many digits as they need, and are names whatever the short name is', () => {
    const many = read(`planfold: 1\ntasks: [${Array.from({ length: 120 }, (_, at) => `{ id: t${at} }`).join(', ')}]`)
    expect([...generatedIds(many, '日本').values()].at(4)).toBe('plan-task-005')
    expect([...generatedIds(many, 'x'.repeat(500)).values()].every(id => id.length <= 100)).toBe(true)
  })

  it('regression 33: forward references are kept', () => {
    const generated = generateTaskIds(
      read('planfold: 1\ntasks: [{ id: a, needs: [c] }, { id: b, on: { failure: [c] } }, { id: c }]'),
      'f',
    )
    expect(generated.tasks).toMatchObject([
      { needs: ['plan-f-03'] },
      { on: { failure: ['plan-f-03'] } },
      { id: 'plan-f-03' },
    ])
  })
})

it('regression 31: a renamed plan leaves the one it came from untouched, and renaming back gives it again', () => {
  fc.assert(
    fc.property(planDefinition, definition => {
      const before = definitionHash(definition)
      const frozen = deepFreeze(definition)
      const there = generatedIds(frozen, 'x')
      const back = new Map([...there].map(([from, to]) => [to, from]))
      const renamed = renameTasks(frozen, there)
      expect(definitionHash(frozen)).toBe(before)
      // A name that is both a task of the plan and a stranger's cannot occur: generated names are not among the old ones.
      expect(canonicalJson(renameTasks(renamed, back) as never)).toBe(canonicalJson(frozen as never))
    }),
    { numRuns: 30 },
  )
})

function deepFreeze<T>(value: T): T {
  if (value !== null && typeof value === 'object') {
    Object.freeze(value)
    for (const item of Object.values(value)) deepFreeze(item)
  }
  return value
}
