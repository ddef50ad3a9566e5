// Texts that are nearly a plan: each is refused where it goes wrong, and none passes as something it is not. And texts that are
// printed: none holds a task that the plan has not.

import { describe, expect, test } from 'vitest'
import type { PlanDefinition } from '../../domain/plan.ts'
import type { StatusOf } from '../../format/plan/dialect.ts'
import type { Parsed } from '../../format/plan/parse.ts'
import { notesOf } from './commands/import-tables.ts'
import { dialectNamed, parsePlan } from './dialects.fixture.ts'

const parse = (text: string, fileName = 'p.json'): Parsed => parsePlan(text, { fileName, fallbackName: 'p' })

function wrong(text: string, fileName?: string) {
  const parsed = parse(text, fileName)
  if (parsed.ok) throw new Error(`read as ${parsed.dialect}: ${text}`)
  return parsed.diagnostics[0]!
}

function plan(text: string): PlanDefinition {
  const parsed = parse(text, 'p.yaml')
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics))
  return parsed.definition
}

function print(name: string, definition: PlanDefinition, status: StatusOf = () => 'pending') {
  return dialectNamed(name)!.print!(definition, status)
}

const warnings = (text: string) => {
  const parsed = parse(text, 'p.yaml')
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics))
  return parsed.warnings.map(({ line, message }) => `${line}: ${message}`)
}

describe('a misspelt or misshaped list of tasks is refused at its key', () => {
  test.each([
    ['{"plan_id":"x","title":"t",\n"node":[{"id":"a"}]}', 2, "did you mean 'nodes'?"],
    ['{"plan_id":"x",\n"nods":[{"id":"a"}]}', 2, "did you mean 'nodes'?"],
    ['{"plan_id":"x","description":"d","sequence_order":1,\n"node":{"a":{}}}', 2, "did you mean 'nodes'?"],
    ['{"goal_id":"x",\n"step":[{"action":"a"}]}', 2, "did you mean 'steps'?"],
    ['{"plan":{"id":"x"},\n"task":[{"sequence_order":1}]}', 2, "did you mean 'tasks'?"],
    ['id: x\ncommand: go\nnode:\n  - id: a\n', 3, "did you mean 'nodes'?"],
  ])('%s', (text, line, hint) => {
    expect(wrong(text)).toMatchObject({ line, hint })
  })

  test.each(['{"a":{}}', '"abc"', 'null', '7'])('nodes: %s', nodes => {
    const fault = wrong(`{"plan_id":"x",\n"nodes":${nodes}}`)
    expect(fault).toMatchObject({ line: 2, path: expect.stringMatching(/^nodes/) })
    expect(fault.hint).toContain('"nodes": [')
  })

  test('no steps at all', () => {
    expect(wrong('{"steps":[]}')).toMatchObject({ message: 'a plan needs at least one step', path: 'steps' })
  })

  test('a list of plans is no list of tasks', () => {
    expect(parse('[{"plan_id":"x","title":"t","nodes":[{"id":"a"}]}]').ok).toBe(false)
  })

  test('notes are no nodes, and one record is still read', () => {
    expect(parse('id: x\ncommand: go\nnotes:\n  - by: me\n')).toMatchObject({ ok: true, dialect: 'task-yaml' })
    expect(parse('{"plan_id":"x","description":"d","task_type":"analysis"}')).toMatchObject({
      ok: true,
      dialect: 'plan-record',
    })
    expect(parse('{"plan_id":"x","title":"t"}').ok).toBe(false)
  })

  test('a word for a number of the order', () => {
    const text = '{"tasks":[{"description":"a","sequence_order":1},\n{"description":"b","sequence_order":"two"}]}'
    expect(wrong(text)).toMatchObject({ line: 2, message: expect.stringContaining('"two"') })
  })
})

describe('the reason is the right one', () => {
  test.each([
    ['a README that shows a plan', '# A tool\n\nRun it: now.\n\n```yaml\nplanfold: 1\ntasks: [{id: a}]\n```\n'],
    ['Markdown that is no YAML', 'See below: this.\n\n- `x`: {y\n> so: [a\n'],
    ['Markdown that happens to be YAML', 'Note: nothing\n'],
  ])('%s is told with one error', (_, text) => {
    const parsed = parse(text, 'README.md')
    expect(parsed).toMatchObject({ ok: false, diagnostics: [{ message: 'no tasks were found in this Markdown' }] })
  })

  test('a workflow of GitHub Actions is called so, in one error', () => {
    const text = 'name: CI\non: [push]\njobs:\n  build: { runs-on: ubuntu-latest, steps: [{ run: npm test }] }\n'
    expect(parse(text, 'ci.yml')).toMatchObject({
      ok: false,
      diagnostics: [{ line: 3, message: 'this is a GitHub Actions workflow, not a plan' }],
    })
  })

  test('Markdown without tasks', () => {
    expect(wrong('Words.\n\n# A report\n\nMore words.\n', 'r.md')).toMatchObject({
      line: 3,
      message: expect.stringContaining('no tasks were found'),
      hint: expect.stringContaining('- [ ]'),
    })
    expect(wrong('# a comment\nname: [x\n', 'p.yaml').message).not.toContain('Markdown')
  })

  test('broken lines of JSON', () => {
    const issue = '{"id":"a-1","title":"A","status":"open"}'
    expect(wrong(`{"id":"a-0","title":}\n${issue}\n`, 'i.jsonl').line).toBe(1)
    expect(wrong(`{"id":"a-0"}\n{"id":\n${issue}\n`, 'i.jsonl').line).toBe(2)
  })
})

describe('pipelines', () => {
  const node = (command: string) => `plan_id: p\nnodes:\n  - id: a\n    command: '${command}'\n`

  test('a result that is used before it is produced is told in its place', () => {
    expect(warnings(node('rank(docs) -> s; search("q") -> docs'))).toEqual([
      "4: rank() uses 'docs', which only search() produces, later",
    ])
    expect(warnings(node('search("q") -> docs; rank(docs) -> s'))).toEqual([])
  })

  test('what another task produces, too, may be used before', () => {
    const both = `plan_id: p\nnodes:\n  - {id: b, command: 'find("q") -> docs'}\n  - {id: a, command: 'cut(docs) -> s; join(s) -> docs', depends_on: [b]}\n`
    expect(warnings(both)).toEqual([])
  })

  test('a run over an empty list is told', () => {
    expect(warnings(node('run load(gen: [], n: [1, 2])'))).toEqual(["4: run load() has no values for 'gen'"])
  })

  test('a matrix without an axis is refused', () => {
    expect(wrong('planfold: 1\ntasks:\n  - id: a\n    matrix: {}\n', 'p.yaml')).toMatchObject({
      line: 4,
      message: "a 'matrix' has at least one axis",
      hint: expect.stringContaining('matrix: {'),
    })
  })
})

describe('what is printed', () => {
  const again = (text: string) => {
    const parsed = parse(text, 'tasks.md')
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics))
    return { dialect: parsed.dialect, ids: parsed.definition.tasks.map(({ id }) => id) }
  }

  test('tasks without a number of spec-kit are given one, and that is told', () => {
    const definition = plan(
      'planfold: 1\ntasks:\n  - id: build\n  - {id: T001, needs: [build]}\n  - {id: ship, needs: [T001]}\n',
    )
    const { text, lost, refused } = print('spec-kit', definition)
    expect(again(text)).toEqual({ dialect: 'spec-kit', ids: ['T002', 'T001', 'T003'] })
    expect(lost).toEqual(["task 'build': its id, it is written as T002", "task 'ship': its id, it is written as T003"])
    expect(refused).toBe(undefined)
  })

  test.each([
    'title: "x\\n- [ ] T009 forged"',
    'description: "x\\n- [x] T009 forged"',
    'title: "open <!-- comment"',
    'description: "```\\nnever closed"',
    'labels: ["x\\n- [ ] T009 forged"]',
    'milestone: "x\\n- [ ] T009 forged"',
  ])('no words of a task make or hide another one in spec-kit: %s', words => {
    const { tasks, ...rest } = plan('planfold: 1\ntasks:\n  - id: a\n  - {id: b, needs: [a]}\n')
    const [key, value] = [words.slice(0, words.indexOf(':')), JSON.parse(words.slice(words.indexOf(':') + 1))]
    const definition = { ...rest, tasks: tasks.map((task, at) => (at === 0 ? { ...task, [key]: value } : task)) }
    const { text, refused } = print('spec-kit', definition)
    expect(again(text)).toEqual({ dialect: 'spec-kit', ids: ['T001', 'T002'] })
    expect(refused).toBe(undefined)
  })

  test('task-yaml refuses more than one task', () => {
    expect(print('task-yaml', plan('planfold: 1\ntasks:\n  - id: a\n')).refused).toBe(undefined)
    expect(print('task-yaml', plan('planfold: 1\ntasks:\n  - id: a\n  - id: b\n')).refused).toMatchObject({
      message: 'task-yaml files have one task, and this plan has 2',
    })
  })

  test('nothing is told as lost that is not', () => {
    const nodes = plan('plan_id: p\nstate: pending\nnodes:\n  - id: a\n  - {id: b, depends_on: []}\n')
    expect(print('plan-nodes', nodes, id => (id === 'a' ? 'completed' : 'pending')).lost).toEqual([])
    const free = plan(
      'planfold: 1\ntitle: P\nname: p\ntasks:\n  - {id: a, title: A}\n  - {id: b, title: B, needs: []}\n',
    )
    expect(print('markdown-steps', free).lost).toEqual([])
  })

  test.each(['spec-kit', 'backlog-md'])('%s keeps the byte order mark of what did not change', name => {
    const text =
      name === 'spec-kit'
        ? '\uFEFF# Tasks: Shop\n\n## Phase 1: Setup\n\n- [ ] T001 Begin\n'
        : '\uFEFF---\nid: task-1\ntitle: Begin\nstatus: To Do\n---\n\n## Description\n\nWords.\n'
    const parsed = parse(text, 'tasks.md')
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.diagnostics))
    expect(parsed.dialect).toBe(name)
    if (name === 'spec-kit') expect(parsed.definition.title).toBe('Shop')
    expect(print(name, parsed.definition).text).toBe(text)
  })
})

test('the error of an execution is told under either name', () => {
  const row = { id: 1, step_id: 's', status: 'failed' }
  const notes = (execution: { readonly [key: string]: string }) =>
    notesOf({ task_plans: [{ id: 'p' }], task_executions: [{ ...row, ...execution }] })[1]?.text
  expect(notes({ error: 'no disk' })).toBe('execution 1: failed: no disk')
  expect(notes({ error_message: 'no net', error: 'x' })).toBe('execution 1: failed: no net')
})
