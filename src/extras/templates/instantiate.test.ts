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
  return `planfold-template: 1\nname: sample\nparameters: ${parameters.trimEnd()}\nplan:\n${indented}\n`
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

describe('substitutions', () => {
  test('stand in text, and a whole string keeps the type of its value', () => {
    const plan =
      'title: Do << params.what >>, twice\nconcurrency: << params.level >>\ntasks:\n  - id: a\n    write: << params.files >>'
    expect(make(plan, { what: 'é " ${{ x }} <<', files: ['src/a'] })).toEqual({
      name: 'sample',
      title: 'Do é " ${{ x }} <<, twice',
      concurrency: 2,
      tasks: [{ id: 'a', write: ['src/a'] }],
    })
  })

  test('of a parameter that was not given leave the key or the item out', () => {
    const plan =
      'tasks:\n  - id: a\n    description: << params.note >>\n    accept: [It works, << params.note >>]\n    title: "Note: << params.note >>"'
    expect(tasks(plan)).toEqual([{ id: 'a', title: 'Note: ', accept: ['It works'] }])
  })

  test('may hold any expression; << in quotes stands for itself', () => {
    const plan = `tasks:\n  - id: a\n    title: "<< params.level > 1 ? 'deep' : 'flat' >> << '<<' >> << string(params.level * 2) >>"`
    expect(tasks(plan)).toEqual([{ id: 'a', title: 'deep << 4' }])
  })

  test('in an argument, the environment or the inputs never open an expression of the running plan', () => {
    const plan =
      'tasks:\n  - id: a\n    run: [echo, << params.what >>, "$<< params.what >>${{ attempt }}"]\n    env: { A: << params.level >> }\n    inputs: { b: << params.level >>, c: << params.what >> }'
    expect(tasks(plan, { what: '${{ tasks.x }}' })).toEqual([
      {
        id: 'a',
        run: ['echo', '$${{ tasks.x }}', '$$${{ tasks.x }}${{ attempt }}'],
        env: { A: '2' },
        inputs: { b: 2, c: '$${{ tasks.x }}' },
      },
    ])
    expect(tasks(plan, { what: '{{ visit }}' })[0]!.run).toEqual(['echo', '{{ visit }}', '$${{ visit }}${{ attempt }}'])
    expect(tasks(plan, { what: 'cost $' })[0]!.run).toEqual(['echo', 'cost $', "$cost ${{ '$' }}${{ attempt }}"])
  })

  test('in an expression are literals, inside ${{ }} too', () => {
    const plan = `tasks:\n  - id: a\n    run: [echo, "\${{ << params.what >> + string(attempt) }}"]\n    when: << params.level >> > 1 && << params.tests >>\n    expect: stdout == << params.what >>`
    expect(tasks(plan, { what: `'" || true }}`, level: 3 })).toEqual([
      {
        id: 'a',
        when: '3 > 1 && true',
        run: ['echo', String.raw`\${{ "'\" || true }}" + string(attempt) }}`.slice(1)],
        expect: String.raw`stdout == "'\" || true }}"`,
      },
    ])
  })

  test('inside quotes of an expression are refused: they could end the quotes', () => {
    expect(faults(`tasks:\n  - id: a\n    expect: stdout == '<< params.what >>'`)).toEqual([
      '3:13 a substitution inside quotes or as a field would become part of the expression',
    ])
    expect(faults('tasks:\n  - id: a\n    when: tasks.<< params.what >>.outputs.x == 1')).toHaveLength(1)
  })

  test('in a script are refused, in every place where a script can stand', () => {
    const places = [
      'run: echo << params.what >>',
      'run: |\n      cat <<EOF > a\n      << params.what >>\n      EOF',
      'run: [sh, -c, "echo << params.what >>"]',
      'run: [env, X=1, bash, -ec, << params.what >>]',
      'run: [node, --eval, << params.what >>]',
      'run: [ls]\n    probe: ls << params.what >>',
      'run: [ls]\n    compensate: { run: "rm << params.what >>" }',
      'accept: [{ check: "grep << params.what >> a" }]',
      'preconditions: [{ check: "grep << params.what >> a" }]',
      'subplan:\n      - id: b\n        run: echo << params.what >>',
      'run: << params.what >>',
      'run: << params.note >>',
    ]
    for (const place of places) expect(faults(`tasks:\n  - id: a\n    ${place}`), place).toHaveLength(1)
    expect(faults('done: [{ check: "test << params.what >>" }]\ntasks: [{ id: a }]')).toEqual([
      '1:23 << params.what >> would be spliced into a script',
    ])
  })

  test('beside a program, and as options of a program, are arguments', () => {
    const plan = `tasks:\n  - id: a\n    run: [node, server.js, -p, << params.level >>]\n  - id: b\n    run: [sh, tool.sh, << params.what >>]\n  - id: c\n    run: [bash, -o, pipefail, -c, 'cat <<EOF "$1" >> x', sh, << params.what >>]`
    expect(tasks(plan, { what: '; id' }).map(({ run }) => (run as readonly string[]).at(-1))).toEqual([
      '2',
      '; id',
      '; id',
    ])
  })

  test('that leave a task without its action are refused: it would silently become another kind of task', () => {
    expect(faults('tasks:\n  - id: a\n    gate: << params.note >>')).toEqual([
      "3:11 'gate' has no value, and the task would wait for an agent",
    ])
    const optional = template('tasks: [{ id: a, run: << params.c >> }]', ' { c: { type: list, about: x } }')
    expect(instantiate(optional, {}).ok).toBe(false)
    expect(instantiate(optional, { c: ['ls'] }).ok).toBe(true)
  })

  test('a script keeps its own <<, and a list parameter may be a whole command', () => {
    const plan =
      'tasks:\n  - id: a\n    run: |\n      cat <<EOF >> a\n      x\n      EOF\n  - id: b\n    run: << params.command >>\n    accept: [{ check: << params.command >> }]'
    expect(tasks(plan, { command: ['echo', '${{ x }}', '; rm -rf /'] })).toEqual([
      { id: 'a', run: 'cat <<EOF >> a\nx\nEOF\n' },
      { id: 'b', run: ['echo', '$${{ x }}', '; rm -rf /'], accept: [{ check: ['echo', '$${{ x }}', '; rm -rf /'] }] },
    ])
    expect(faults(plan, { command: [] })).toEqual([
      "8:10 'params.command' is not a command",
      "9:23 'params.command' is not a command",
    ])
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
    expect(at('tests')).toEqual(["3:9 'tests' is not known in a template"])
    expect(at('tasks.a.outputs.x')).toEqual(["3:9 'tasks' has no value yet when a plan is made of a template"])
    expect(at('params.note > 1')).toHaveLength(1)
    expect(at('3')).toEqual(["3:9 'if' wants an expression"])
    expect(at('<< params.tests >>')).toEqual(["3:9 'if' is an expression already"])
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
  - id: check-<< file_number >>
    each: params.files
    as: file
    title: Check << file >>
    read: [<< file >>]
  - id: all
    needs: [{ each: params.files, as: file, item: "check-<< file_number >>" }]
    accept:
      - { if: params.tests, item: Tests pass }
      - { each: params.files, as: file, if: file_number > 1, item: "<< file >> is clean" }
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
  - id: a-<< x_number >>
    each: params.files
    as: x
    accept: [{ each: params.files, as: y, item: "<< x >><< y >>" }]`
    expect(tasks(plan, { files: ['p', 'q'] }).map(({ accept }) => accept)).toEqual([
      ['pp', 'pq'],
      ['qp', 'qq'],
    ])
    expect(
      faults('tasks:\n  - { id: "a<< x_number >>", each: params.files, as: x }\n  - { id: b, title: << x >> }'),
    ).toEqual(["3:24 'x' is not known in a template"])
    for (const as of [', as: params', ', as: tasks', ', as: 2x', ', as: [a]', ', as: in', ''])
      expect(faults(`tasks:\n  - { id: a, each: params.files${as} }`), as).toHaveLength(1)
    expect(faults('tasks:\n  - { id: a, each: params.what, as: x }')).toEqual(["2:20 'params.what' is not a list"])
  })

  test('the work is bounded, whatever the loops say', () => {
    const files = Array.from({ length: 1000 }, (_, at) => `f${at}`)
    const plan =
      'tasks:\n  - id: a\n    accept: [{ each: params.files, as: x, item: a }]\n    labels:\n      - each: params.files.map(f, params.files.map(g, f + g).join()).map(h, h + h)\n        as: x\n        item: << x >>'
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

  test('by needs to a task that is left out lead to what that one waited for, and a note says so', () => {
    const plan =
      'tasks:\n  - { id: d, needs: [c, a] }\n  - { id: a }\n  - { id: b, if: params.tests, needs: a }\n  - { id: c, if: params.tests, needs: [b] }'
    expect(tasks(plan, { tests: false })).toEqual([{ id: 'd', needs: ['a'] }, { id: 'a' }])
    const made = instantiate(template(plan), { what: 'x', tests: false })
    expect(made.ok && made.warnings.map(({ line, message }) => `${line - PLAN_LINE} ${message}`)).toEqual([
      "2 'd' no longer needs 'c', which is left out because its condition is false",
    ])
  })

  test('to one of two tasks with the same name under opposite conditions are kept', () => {
    const plan =
      'tasks:\n  - { id: a, title: x, if: params.tests }\n  - { id: a, title: y, if: "!params.tests" }\n  - { id: b, needs: [a] }'
    for (const tests of [true, false]) expect(tasks(plan, { tests })[1]).toEqual({ id: 'b', needs: ['a'] })
  })

  test('by an outcome to a task that is left out are refused, for nobody can say where to go instead', () => {
    const plan = 'tasks:\n  - { id: a, on: { failure: b } }\n  - { id: b, if: params.tests }'
    expect(faults(plan, { tests: false })).toEqual([
      "2:29 this leads to 'b', which is left out because its condition is false",
    ])
    const mended = `tasks:\n  - { id: a, on: { failure: "<< params.tests ? 'b' : null >>" } }\n  - { id: b, if: params.tests }`
    expect(tasks(mended, { tests: false })).toEqual([{ id: 'a', on: {} }])
  })

  test('to a task that never was are faults at their place in the template', () => {
    expect(faults('tasks:\n  - id: a\n  - id: b<< params.level >>\n    needs: [nobody]')).toHaveLength(1)
  })
})

describe('what is made', () => {
  const plan =
    'title: << params.what >>\nextra: { mine: [1] }\ntasks:\n  - id: a\n    inputs: { deep: { list: [1, { x: 2 }] }, files: << params.files >> }\n    write: << params.files >>'

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
