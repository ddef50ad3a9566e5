// The dialects of the planning playbook by examples in our own words. Each has a golden file: the canonical plan it becomes, what is told
// about it, and how it is printed back. PLANFOLD_GOLDEN=write makes them anew.

import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { checkGraph } from '../../../domain/plan-rules/graph-rules.ts'
import type { TaskStatus } from '../../../domain/status.ts'
import type { Parsed } from '../../../format/plan/parse.ts'
import { printYaml } from '../../../format/plan/print.ts'
import { printDiagnostic } from '../../../format/text/print-diagnostic.fixture.ts'
import { dialectNamed, parsePlan } from '../dialects.fixture.ts'

const folder = resolve(import.meta.dirname, '../../../../test/fixtures/dialects/003')
const fixture = (name: string): string => readFileSync(join(folder, name), 'utf8')

describe('a gate of the plan that is no node', () => {
  const NODES =
    'plan_id: p\nnodes:\n  - { id: a }\n  - { id: b, depends_on: [a] }\n  - { id: c, next: [{ on: failure, to: a }] }\n'

  test('is asked at the end, with its checks, and printed back as a node', () => {
    const { definition } = good(parsePlan(`${NODES}gates: [{ id: claims-ok, checks: [Two sources agree] }]\n`))
    const gate = definition.tasks.at(-1)!
    expect([gate.id, gate.action, gate.needs]).toEqual(['claims-ok', { type: 'gate', gate: 'approval' }, ['b', 'c']])
    expect(JSON.stringify(gate.preconditions)).toContain('Two sources agree')
    const { text, lost } = dialectNamed('plan-nodes')!.print!(definition, () => 'pending')
    expect([good(parsePlan(text)).definition, lost]).toEqual([definition, []])
  })

  test('is asked at the end where it has no id, and refused where its id cannot be read', () => {
    const { definition } = good(parsePlan(`${NODES}gates:\n  - checks: [Two sources agree]\n  - { role: reviewer }\n`))
    expect(definition.tasks.slice(-2).map(({ id, needs }) => [id, needs])).toEqual([
      ['gate', ['b', 'c']],
      ['gate-2', ['b', 'c']],
    ])
    const parsed = parsePlan(`${NODES}gates:\n  - { id: [], checks: [Two sources agree] }\n`)
    const told = parsed.ok ? [] : parsed.diagnostics.map(one => printDiagnostic(one))
    expect(told[0]).toMatch(/^plan:7:\d+: error: this gate has the id of another one/)
  })
})

describe('examples', () => {
  test.each([
    ['task.yaml', 'task-yaml'],
    ['plan.yaml', 'plan-nodes'],
    ['sketch.json', 'plan-sketch'],
    ['plan.txt', 'plan-dsl'],
    ['template.txt', 'plan-dsl'],
  ])('%s is read as %s, and printed back', (name, dialect) => {
    const parsed = good(parsePlan(fixture(name), { fallbackName: 'fixture', check: checkGraph }))
    expect(parsed.dialect).toBe(dialect)
    const status = (task: string): TaskStatus =>
      (parsed.ended.get(task as never) as TaskStatus | undefined) ?? 'pending'
    const printed = dialectNamed(dialect)!.print!(parsed.definition, status)
    expect(printed.lost).toEqual([])
    const again = good(parsePlan(printed.text, { fallbackName: 'fixture' }))
    expect(again.definition).toEqual(parsed.definition)
    expect(again.ended).toEqual(parsed.ended)
    golden(
      `${name}.golden`,
      [
        '# canonical',
        printYaml(parsed.definition),
        '# told',
        ...parsed.warnings.map(one => printDiagnostic(one, name)),
        ...parsed.sketch.map(one => `sketch: ${one}`),
        ...[...parsed.ended].map(([task, ended]) => `${task} is ${ended}`),
        '',
        '# printed back',
        printed.text,
      ].join('\n'),
    )
  })
})

describe('a plan of nodes', () => {
  test('regression 4: an unknown status is refused where it stands, with the nearest word', () => {
    expect(wrong('nodes:\n  - id: a\n    status: complted\n')).toEqual([
      `plan:3:13: error: "complted" is not a status here\n  hint: did you mean 'completed'?`,
    ])
    expect(wrong('plan_id: x\nstate: marvellous\nnodes: [{id: a}]\n')[0]).toMatch(
      /^plan:2:8: error: "marvellous" is not a status here\n {2}hint: write one of pending, running/,
    )
    expect(wrong('nodes: [{id: a, status: 7}]')[0]).toMatch(/7 is not a status here/)
  })

  test('regression 8: a duplicate id is a precise error', () => {
    expect(wrong('plan_id: x\nnodes:\n  - id: a\n  - id: a\n')).toEqual([
      "plan:4:9: error: two tasks are called 'a'\n  hint: give one of them another id",
    ])
  })

  test('regression 20: a cycle and a way to nowhere are refused at their place', () => {
    expect(wrong('plan_id: x\nnodes:\n  - {id: a, depends_on: [b]}\n  - {id: b, needs: a}\n')[0]).toMatch(
      /a → b → a|b → a → b/,
    )
    expect(wrong('plan_id: x\nnodes:\n  - {id: fetch, depends_on: [fetsh]}\n')[0]).toMatch(
      /^plan:3:\d+: error: .*fetsh/,
    )
  })

  test('regression 33: a task may need one that comes later', () => {
    const { definition } = good(
      parsePlan('plan_id: x\nnodes: [{id: b, depends_on: [a]}, {id: a}]', { check: checkGraph }),
    )
    expect(definition.tasks[0]?.needs).toEqual(['a'])
  })

  test('a command is never a shell: it is an instruction, whatever it says', () => {
    for (const key of ['command', 'commands', 'run']) {
      const { definition } = good(parsePlan(`plan_id: x\nnodes: [{id: a, ${key}: "rm -rf build"}]`))
      expect(definition.tasks[0]).toEqual({ id: 'a', action: { type: 'external' }, instruction: 'rm -rf build' })
    }
  })

  test('values that make no sense are refused by the schema at the place they were written', () => {
    expect(wrong('plan_id: x\nnodes:\n  - id: a\n    title: 5\n')).toEqual([
      `plan:4:12: error: 'title' must be text, not 5\n  hint: put it in quotes: "5"`,
    ])
    expect(wrong('plan_id: x\nnodes: [5]\n')[0]).toMatch(/^plan:2:9: error/)
    expect(wrong('plan_id: x\nnodes: []\n')[0]).toMatch(/at least one task/)
  })

  test('a key nobody knows is kept and told, with the word that was probably meant', () => {
    const parsed = good(parsePlan('plan_id: x\nnodes:\n  - id: a\n    depend_on: [b]\n  - id: b\n'))
    expect(parsed.warnings.map(one => printDiagnostic(one))).toEqual([
      "plan:4:5: warning: 'depend_on' is kept, but has no effect here\n  hint: did you mean 'depends_on'?",
    ])
    expect(parsed.definition.tasks[0]?.extra).toEqual({ depend_on: ['b'] })
  })

  test('a wildcard goes over the artifact of what it depends on, else over its items, else it is a sketch', () => {
    const lists = (text: string) =>
      good(parsePlan(text, { check: checkGraph })).definition.tasks.map(task => task.forEach?.in)
    expect(
      lists('plan_id: x\nnodes: [{id: find}, {id: dig-*, needs: find}]\nartifacts: [{name: spots, from: find}]'),
    ).toEqual([undefined, "tasks['find'].outputs.spots"])
    expect(lists('plan_id: x\nnodes: [{id: find}, {id: dig-*, needs: find}]')).toEqual([
      undefined,
      "tasks['find'].outputs.items",
    ])
    const { definition } = good(
      parsePlan('plan_id: x\nnodes: [{id: find}, {id: dig-*, needs: find, inputs: {depth: 2}}]', { check: checkGraph }),
    )
    expect(definition.tasks[1]?.inputs).toEqual({ item: '${{ item }}', depth: 2 })
    expect(dialectNamed('plan-nodes')!.print!(definition, () => 'pending').text).not.toContain('item:')
    expect(good(parsePlan('plan_id: x\nnodes: [{id: dig-*}]')).sketch).toEqual(["nothing says what 'dig-*' goes over"])
  })

  test('names of JavaScript are only names', () => {
    const text =
      'plan_id: x\nnodes:\n  - {id: constructor, next: [{on: constructor, to: constructor}], artifacts: [{name: __proto__}]}\n'
    parsePlan(text, { check: checkGraph })
    parsePlan('id: a\ncommand: x\nnext: [{on: __proto__, to: a}]')
    expect(({} as { [key: string]: unknown }).polluted).toBe(undefined)
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  test('what ended since is printed with its word; the plan then says so too', () => {
    const { definition } = good(parsePlan('plan_id: x\nstate: pending\nnodes: [{id: a, status: done}, {id: b}]'))
    const printed = dialectNamed('plan-nodes')!.print!(definition, task => (task === 'a' ? 'completed' : 'running'))
    expect(printed.text).toBe(
      'plan_id: x\nstate: running\nnodes:\n  - id: a\n    status: done\n\n  - id: b\n    status: running\n',
    )
  })
})

describe('the text format', () => {
  test.each([
    ['task a\n  neds: b\n', "plan:2:3: error: 'neds: b' is not a part of a task\n  hint: did you mean 'needs:'?"],
    [
      'task a\n  on failure: b\n',
      "plan:2:3: error: 'on failure: b' is not a part of a task\n  hint: write: on failure -> <id>",
    ],
    [
      'task a "open\n',
      'plan:1:8: error: "open is not text in quotes\n  hint: close it with ", and write \\" for a quote inside',
    ],
    ['task a b\n', `plan:1:8: error: 'b' cannot stand here`],
    ['task "Title only"\n', 'plan:1:1: error: the task has no id\n  hint: write: task <id> "Title"'],
    ['task a\nneeds: b\n', "plan:2:1: error: 'needs: b' is neither a task nor a part of one"],
    ['task a\n  run: |\n', "plan:2:3: error: 'run' is empty\n  hint: write the command below it, indented"],
    ['task a\n  run: |\n      x\n    y\n', 'plan:4:5: error: the line is indented less than the block it stands in'],
    [
      'task a\n  input:\n    - x\n',
      "plan:2:3: error: 'input' must be a mapping (key: value)\n  hint: write a line for each: key: value",
    ],
    ['task a\n  input:\n    x: [1\n', 'plan:4:5: error: this is not valid YAML'],
    ['task a\n  needs: b\n  needs: c\n', "plan:3:3: error: 'needs' is there twice\n  hint: remove one of the two"],
    ['task a\n  needs: b\n', "plan:2:3: error: task 'a' needs 'b'"],
  ])('%j is refused in place', (text, told) => {
    expect(wrong(text)[0]).toContain(told)
  })
})

test('a broken text is refused or read, never thrown at anybody', () => {
  const texts = ['task.yaml', 'plan.yaml', 'sketch.json', 'plan.txt'].map(fixture)
  const put = fc.oneof(
    fc.constantFrom(
      '',
      '*',
      '<x>',
      'a|b',
      '[',
      '{',
      ':',
      '"',
      '- ',
      '\n',
      '\n  ',
      'task ',
      '__proto__',
      '->',
      '\0',
      '7',
      'null',
      '|',
      '#',
      '\u2028',
    ),
    fc.string({ unit: 'binary', maxLength: 4 }),
  )
  fc.assert(
    fc.property(fc.constantFrom(...texts), fc.nat(2_000), fc.nat(40), put, (text, at, cut, word) => {
      const parsed = parsePlan(text.slice(0, at) + word + text.slice(at + cut), {
        fallbackName: 'x',
        check: checkGraph,
      })
      for (const { line, column, message, hint } of parsed.ok ? parsed.warnings : parsed.diagnostics) {
        expect(line).toBeGreaterThan(0)
        expect(column).toBeGreaterThan(0)
        expect(message.length).toBeGreaterThan(0)
        if (!parsed.ok) expect(hint ?? 'x').not.toBe('')
      }
      const dialect = parsed.ok && parsed.dialect !== null ? dialectNamed(parsed.dialect) : null
      if (parsed.ok) dialect?.print?.(parsed.definition, () => 'pending')
    }),
    { numRuns: 300 },
  )
})

function good(parsed: Parsed): Extract<Parsed, { ok: true }> & { readonly definition: PlanDefinition } {
  if (!parsed.ok) throw new Error(parsed.diagnostics.map(one => printDiagnostic(one)).join('\n'))
  return parsed
}

function wrong(text: string): readonly string[] {
  const parsed = parsePlan(text, { fallbackName: 'fixture', check: checkGraph })
  return parsed.ok ? [] : parsed.diagnostics.map(one => printDiagnostic(one))
}

function golden(name: string, text: string): void {
  const file = join(folder, name)
  if (process.env.PLANFOLD_GOLDEN === 'write') writeFileSync(file, text)
  expect(text).toBe(readFileSync(file, 'utf8'))
}
