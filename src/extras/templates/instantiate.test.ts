import { describe, expect, test } from 'vitest'
import { cpuMs } from '../../domain/cpu-time.fixture.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import { checkGraph } from '../../domain/plan-rules/graph-rules.ts'
import { raisePlan } from '../../format/plan/definition-to-document.ts'
import { readTemplate, type Template } from './document.ts'
import { instantiate } from './instantiate.ts'

const PARAMETERS = `
  what: { about: what to do, required: true }
  files: { type: list, of: path, about: which files, default: [] }
  tests: { type: boolean, about: with tests, default: true }
  level: { type: integer, about: how deep, default: 2, min: 1, max: 9 }
  note: { type: text, about: more }
  command: { type: list, about: a command, default: [npm, test] }`

/** A template whose plan is `tasks`, written as YAML under `plan:`. */
function template(plan: string, parameters = PARAMETERS): Template {
  const read = readTemplate(document(plan, parameters))
  if (!read.ok) throw new Error(JSON.stringify(read.diagnostics))
  return read.template
}

/** The line before the plan; in the plan everything stands two columns further right. */
const PLAN_LINE = document('').split('\n').indexOf('plan:') + 1

function document(plan: string, parameters = PARAMETERS): string {
  const indented = plan.trim().replace(/^/gm, '  ')
  return `planfold-template: 2\nname: sample\nparameters: ${parameters.trimEnd()}\nplan:\n${indented}\n`
}

function make(plan: string, given: JsonObject = {}): JsonObject {
  const made = instantiate(template(plan), { what: 'it', ...given }, { check: checkGraph })
  if (!made.ok) throw new Error(JSON.stringify([made.problems, made.diagnostics]))
  const { extra: _, planfold: __, ...rest } = raisePlan(made.definition) as { [key: string]: Json }
  return rest
}

function tasks(plan: string, given: JsonObject = {}): readonly JsonObject[] {
  return make(plan, given).tasks as readonly JsonObject[]
}

function faults(plan: string, given: JsonObject = {}): readonly string[] {
  const read = readTemplate(document(plan))
  if (!read.ok)
    return read.diagnostics.map(({ line, column, message }) => `${line - PLAN_LINE}:${column - 2} ${message}`)
  const made = instantiate(read.template, { what: 'it', ...given }, { check: checkGraph })
  if (made.ok) return []
  return [
    ...made.problems.map(({ message }) => message),
    ...made.diagnostics.map(({ line, column, message }) => `${line - PLAN_LINE}:${column - 2} ${message}`),
  ]
}

describe('expressions over parameters', () => {
  test('stand in text, and a whole string keeps the type of its value', () => {
    const plan =
      'title: Do ${{ params.what }}, twice\nconcurrency: ${{ params.level }}\ntasks:\n  - id: a\n    write: ${{ params.files }}'
    expect(make(plan, { what: 'é " ${{ x }} <<', files: ['src/a'] })).toEqual({
      name: 'sample',
      title: 'Do é " ${{ x }} <<, twice',
      concurrency: 2,
      tasks: [{ id: 'a', write: ['src/a'] }],
    })
  })

  test('stand in the place of the plan; a task of a template has none either', () => {
    const plan = 'place: [linux, "${{ params.what }}"]\ntasks:\n  - id: a'
    expect(make(plan, { what: 'gpu' }).place).toEqual(['linux', 'gpu'])
    expect(faults(plan, { what: 'a b' })).toEqual(['1:16 "a b" cannot be a label of a worker'])
    expect(faults('tasks:\n  - id: a\n    place: [gpu]')).toEqual([
      "3:5 a task cannot have a 'place': tasks cannot be placed one by one yet",
    ])
  })

  test('of a parameter that was not given leave the key or the item out', () => {
    const plan =
      'tasks:\n  - id: a\n    description: ${{ params.note }}\n    accept: [It works, "${{ params.note }}"]\n    title: "Note: ${{ params.note }}"'
    expect(tasks(plan)).toEqual([{ id: 'a', title: 'Note: ', accept: ['It works'] }])
  })

  test('that give a list, as one of several texts, stand for its items', () => {
    const plan =
      'tasks:\n  - id: a\n    write: [x, "${{ params.files }}"]\n    run: [cat, "${{ params.files }}", y]\n    inputs: { all: ["${{ params.files }}"] }'
    expect(tasks(plan, { files: ['p', 'q'] })).toEqual([
      { id: 'a', run: ['cat', 'p', 'q', 'y'], inputs: { all: [['p', 'q']] }, write: ['x', 'p', 'q'] },
    ])
  })

  test('may hold any expression; $${{ stands for the characters', () => {
    const plan = `tasks:\n  - id: a\n    rationale: "\${{ params.level > 1 ? 'deep' : 'flat' }} $\${{ x }} \${{ string(params.level * 2) }}"`
    expect(tasks(plan)).toEqual([{ id: 'a', rationale: 'deep ${{ x }} 4' }])
  })

  test('in an argument, the environment or the inputs never open an expression of the running plan', () => {
    const plan =
      'tasks:\n  - id: a\n    run: [echo, "${{ params.what }}", "$${{ x }}${{ params.what }}${{ attempt }}"]\n    env: { A: "${{ params.level }}" }\n    inputs: { b: "${{ params.level }}", c: "${{ params.what }}" }'
    expect(tasks(plan, { what: '${{ tasks.x }}' })).toEqual([
      {
        id: 'a',
        run: ['echo', '$${{ tasks.x }}', '$${{ x }}$${{ tasks.x }}${{ attempt }}'],
        env: { A: '2' },
        inputs: { b: 2, c: '$${{ tasks.x }}' },
      },
    ])
    expect(tasks(plan, { what: 'cost $' })[0]!.run).toEqual([
      'echo',
      'cost $',
      "$${{ x }}cost ${{ '$' }}${{ attempt }}",
    ])
  })

  test('beside values of the running plan become literals', () => {
    const plan = `tasks:\n  - id: a\n    run: [echo, "\${{ params.what + string(attempt) }}"]\n    when: params.level > 1 && visit < params.level + 1\n    expect: stdout == params.what && [visit].all(x, x < params.level)`
    expect(tasks(plan, { what: `'" || true }}`, level: 3 })).toEqual([
      {
        id: 'a',
        when: 'true && visit < 4',
        run: ['echo', String.raw`\${{ "'\" || true }}" + string(attempt) }}`.slice(1)],
        expect: String.raw`stdout == "'\" || true }}" && [visit].all(x, x < 3)`,
      },
    ])
    expect(tasks('tasks: [{ id: a, for_each: params.files }]', { files: ["it's"] })).toEqual([
      { id: 'a', for_each: `["it's"]` },
    ])
  })

  test('never become part of a script: they travel beside it, as every value of a plan does', () => {
    const made = tasks('tasks:\n  - id: a\n    run: echo ${{ params.what }} && cat <<EOF >> x', { what: '; id }}' })
    expect(made).toEqual([{ id: 'a', run: 'echo ${{ "; id }}" }} && cat <<EOF >> x' }])
    const places = [
      'run: [sh, -c, "echo ${{ params.what }}"]',
      'run: [env, X=1, bash, -ec, "${{ params.what }}"]',
      'run: [node, --eval, "${{ params.what }}"]',
      'accept: [{ check: [python3, -c, "${{ params.what }}"] }]',
      'run: ${{ params.what }}',
      'subplan: [{ id: b, run: "${{ params.what }}" }]',
    ]
    for (const place of places) expect(faults(`tasks:\n  - id: a\n    ${place}`), place).toHaveLength(1)
  })

  test('beside a program, and as options of a program, are arguments', () => {
    const plan = `tasks:\n  - id: a\n    run: [node, server.js, -p, "\${{ params.level }}"]\n  - id: b\n    run: [sh, tool.sh, "\${{ params.what }}"]\n  - id: c\n    run: [bash, -o, pipefail, -c, 'cat <<EOF "$1" >> x', sh, "\${{ params.what }}"]`
    expect(tasks(plan, { what: '; id' }).map(({ run }) => (run as readonly string[]).at(-1))).toEqual([
      '2',
      '; id',
      '; id',
    ])
  })

  test('that leave a task without its action are refused: it would silently become another kind of task', () => {
    expect(faults('tasks:\n  - id: a\n    gate: ${{ params.note }}')).toEqual([
      "3:11 'gate' has no value, and the task would wait for an agent",
    ])
    const optional = template('tasks: [{ id: a, run: "${{ params.c }}" }]', ' { c: { type: list, about: x } }')
    expect(instantiate(optional, {}).ok).toBe(false)
    expect(instantiate(optional, { c: ['ls'] }).ok).toBe(true)
  })

  test('a list parameter may be a whole command', () => {
    const plan = 'tasks:\n  - id: b\n    run: ${{ params.command }}\n    accept: [{ check: "${{ params.command }}" }]'
    expect(tasks(plan, { command: ['echo', '${{ x }}', '; rm -rf /'] })).toEqual([
      { id: 'b', run: ['echo', '$${{ x }}', '; rm -rf /'], accept: [{ check: ['echo', '$${{ x }}', '; rm -rf /'] }] },
    ])
    expect(faults(plan, { command: [] })).toEqual(['3:10 this is not a command', '4:23 this is not a command'])
  })

  test('are checked before any value is known, also under a condition', () => {
    expect(faults('title: ${{ params.waht }}\ntasks: [{ id: a }]')).toEqual(["1:12 there is no parameter 'waht'"])
    expect(faults('title: ${{ tasks.a.exit }}\ntasks: [{ id: a }]')).toEqual([
      "1:8 'tasks.a.exit' has no value here: only parameters and names of loops have one",
    ])
    expect(faults('tasks:\n  - { id: a, if: false, title: "${{ params. }}" }')).toHaveLength(1)
    expect(faults('tasks:\n  - { id: a, inputs: { "${{ params.what }}": 1 } }')).toHaveLength(1)
  })
})

describe('conditions and loops', () => {
  test('regression 37: a condition is evaluated', () => {
    const plan =
      'tasks:\n  - id: a\n  - { id: b, if: params.tests }\n  - { id: c, if: "!params.tests" }\n  - { id: d, if: true }'
    expect(tasks(plan).map(({ id }) => id)).toEqual(['a', 'b', 'd'])
    expect(tasks(plan, { tests: false }).map(({ id }) => id)).toEqual(['a', 'c', 'd'])
  })

  test('regression 37: a condition that cannot be evaluated is refused at its place, never dropped', () => {
    const at = (condition: string) => faults(`tasks:\n  - id: a\n    if: ${condition}`)
    expect(at('params.level')).toEqual(["3:9 the condition 'params.level' is 2, not true or false"])
    expect(at('params.test')).toEqual(["3:9 there is no parameter 'test'"])
    expect(at('tests')).toEqual(["3:9 'tests' is not known in expressions"])
    expect(at('tasks.a.outputs.x')).toEqual([
      "3:9 'tasks.a.outputs.x' is not made of parameters, and nothing else has a value yet",
    ])
    expect(at('params.note > 1')).toHaveLength(1)
    expect(at('3')).toEqual(["3:9 'if' wants an expression"])
    expect(at('${{ params.tests }}')).toHaveLength(1)
    expect(at('params.tests ==')).toHaveLength(1)
  })

  test('regression 37: a condition where none can be is refused', () => {
    expect(faults('if: params.tests\ntasks: [{ id: a }]')).toEqual(["1:1 unknown key 'if'"])
    expect(faults('tasks:\n  - id: a\n    retry: { if: params.tests, attempts: 2 }')).toHaveLength(1)
    expect(faults('tasks:\n  - id: a\n    as: x')).toEqual(["3:5 'as' only makes sense beside 'each'"])
  })

  test('a loop gives its items a name and a number, on tasks and on list items', () => {
    const plan = `
tasks:
  - id: check-\${{ file_number }}
    each: params.files
    as: file
    title: Check \${{ file }}
    read: ["\${{ file }}"]
  - id: all
    needs: [{ each: params.files, as: file, items: ["check-\${{ file_number }}"] }]
    accept:
      - { if: params.tests, items: [Tests pass] }
      - { each: params.files, as: file, if: file_number > 1, items: ["\${{ file }} is clean"] }
      - { if: "!params.tests", check: [ls] }`
    expect(tasks(plan, { files: ['a', 'b'] })).toEqual([
      { id: 'check-1', title: 'Check a', read: ['a'] },
      { id: 'check-2', title: 'Check b', read: ['b'] },
      { id: 'all', needs: ['check-1', 'check-2'], accept: ['Tests pass', 'b is clean'] },
    ])
    expect(tasks(plan, { tests: false })).toEqual([{ id: 'all', needs: [], accept: [{ check: ['ls'] }] }])
  })

  test('loops may stand in each other, and their names do not leak', () => {
    const plan = `
tasks:
  - id: a-\${{ x_number }}
    each: params.files
    as: x
    accept: [{ each: params.files, as: y, items: ["\${{ x }}\${{ y }}"] }]`
    expect(tasks(plan, { files: ['p', 'q'] }).map(({ accept }) => accept)).toEqual([
      ['pp', 'pq'],
      ['qp', 'qq'],
    ])
    expect(
      faults('tasks:\n  - { id: "a${{ x_number }}", each: params.files, as: x }\n  - { id: b, title: "${{ x }}" }'),
    ).toEqual(["3:26 'x' is not known in expressions"])
    for (const as of [', as: params', ', as: tasks', ', as: 2x', ', as: [a]', ', as: in', ''])
      expect(faults(`tasks:\n  - { id: a, each: params.files${as} }`), as).toHaveLength(1)
    expect(faults('tasks:\n  - { id: a, each: params.what, as: x }')).toEqual(["2:20 'params.what' is not a list"])
  })

  test('the work is bounded, whatever the loops say', () => {
    const files = Array.from({ length: 1000 }, (_, at) => `f${at}`)
    const plan =
      'tasks:\n  - id: a\n    accept: [{ each: params.files, as: x, items: [a] }]\n    labels:\n      - each: params.files.map(f, params.files.map(g, f + g).join()).map(h, h + h)\n        as: x\n        items: ["${{ x }}"]'
    expect(faults(plan, { files })).toHaveLength(1)
    expect(cpuMs(() => faults(plan, { files }), 2_000)).toBeLessThan(2_000)
  })
})

describe('regression 33: references', () => {
  test('to tasks written later are kept', () => {
    const plan =
      'tasks:\n  - { id: a, needs: [z] }\n  - { id: b, on: { failure: y } }\n  - { id: y }\n  - { id: z, if: params.tests }'
    expect(tasks(plan)).toEqual([
      { id: 'a', needs: ['z'] },
      { id: 'b', on: { failure: ['y'] } },
      { id: 'y' },
      { id: 'z' },
    ])
  })

  test('to a task that is left out are refused, unless they are left out under the same condition', () => {
    for (const left of ['needs: [b]', 'on: { failure: b }']) {
      const plan = `tasks:\n  - { id: a, ${left} }\n  - { id: b, if: params.tests }`
      expect(faults(plan)).toEqual([])
      expect(faults(plan, { tests: false })).toHaveLength(1)
    }
    const mended = `tasks:\n  - { id: a, needs: ["\${{ params.tests ? 'b' : null }}"], on: { failure: "\${{ params.tests ? 'b' : null }}" } }\n  - { id: b, if: params.tests }`
    expect(tasks(mended, { tests: false })).toEqual([{ id: 'a', needs: [], on: {} }])
  })

  test('to one of two tasks with the same name under opposite conditions are kept', () => {
    const plan =
      'tasks:\n  - { id: a, title: x, if: params.tests }\n  - { id: a, title: y, if: "!params.tests" }\n  - { id: b, needs: [a] }'
    for (const tests1 of [true, false]) expect(tasks(plan, { tests: tests1 })[1]).toEqual({ id: 'b', needs: ['a'] })
  })

  test('to a task that never was are faults at their place in the template', () => {
    expect(faults('tasks:\n  - id: a\n  - id: b${{ params.level }}\n    needs: [nobody]')).toHaveLength(1)
  })
})

test('a template of format 1 is refused with what to change', () => {
  const read = readTemplate('planfold-template: 1\nname: old\nplan: { tasks: [{ id: a, title: << params.x >> }] }\n')
  expect(read.ok ? [] : read.diagnostics).toMatchObject([
    { line: 1, message: 'this template is written in format 1, which is no longer read' },
  ])
})

describe('what is made', () => {
  const plan =
    'title: ${{ params.what }}\nextra: { mine: [1] }\ntasks:\n  - id: a\n    inputs: { deep: { list: [1, { x: 2 }] }, files: "${{ params.files }}" }\n    write: "${{ params.files }}"'

  test('says where it comes from', () => {
    const made = instantiate(template(plan), { what: 'x', files: ['a'] }, { name: 'mine' })
    expect(made.ok && made.definition.name).toBe('mine')
    expect(made.ok && made.definition.extra).toEqual({
      mine: [1],
      template: {
        name: 'sample',
        hash: template(plan).hash,
        parameters: { what: 'x', files: ['a'], tests: true, level: 2, note: null, command: ['npm', 'test'] },
      },
    })
  })

  test('regression 31: shares nothing that can change, neither with the template nor with another plan', () => {
    const source = template(plan)
    const given = { what: 'x', files: ['a'] }
    const first = instantiate(source, given)
    const second = instantiate(source, given)
    if (!first.ok || !second.ok) throw new Error('no plan')
    expect(first.definition).toEqual(second.definition)
    const before = JSON.stringify(second.definition)
    scribble(first.definition)
    given.files.push('b')
    expect(JSON.stringify(second.definition)).toBe(before)
    const third = instantiate(source, { what: 'x', files: ['a'] })
    expect(third.ok && JSON.stringify(third.definition)).toBe(before)
    expect(Object.isFrozen(source.plan.extra)).toBe(true)
  })
})

/** Changes every list and map it can reach. */
function scribble(value: unknown): void {
  if (value === null || typeof value !== 'object') return
  for (const item of Object.values(value)) scribble(item)
  if (Array.isArray(value)) value.push('scribbled')
  else (value as { [key: string]: unknown }).scribbled = true
}
