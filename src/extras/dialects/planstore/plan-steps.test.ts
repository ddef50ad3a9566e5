// The dialects of seeds 004, 001 and 000 and of agents' Markdown, by examples in our own words. Each has a golden file: the
// canonical plan it becomes, what is told about it, and how it is printed back. PLANFOLD_GOLDEN=write makes them anew.

import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { checkGraph } from '../../../domain/plan-rules/graph-rules.ts'
import type { TaskStatus } from '../../../domain/status.ts'
import { resolve as resolveTemplates } from '../../../format/expression/template.ts'
import type { Parsed } from '../../../format/plan/parse.ts'
import { printYaml } from '../../../format/plan/print.ts'
import { printDiagnostic } from '../../../format/text/print-diagnostic.fixture.ts'
import { dialectNamed, parsePlan } from '../dialects.fixture.ts'
import { markdownSteps } from '../markdown/markdown-steps.ts'
import { todoPlan } from '../markdown/todo-plan.ts'
import { planRecord } from './plan-record.ts'
import { planSteps } from './plan-steps.ts'
import { stepList } from './step-list.ts'

const folder = resolve(import.meta.dirname, '../../../../test/fixtures/dialects')
const fixture = (name: string): string => readFileSync(join(folder, name), 'utf8')

describe('values from another step', () => {
  const inputsOf = (text: object) => {
    const parsed = good(parsePlan(JSON.stringify(text), { fallbackName: 'fixture', check: checkGraph }))
    const { definition, dialect, warnings } = parsed
    const tasks = definition.tasks.map(({ id, inputs, needs = [] }) => ({ id, inputs, needs }))
    const printed = dialectNamed(dialect!)!.print!(definition, () => 'pending')
    const again = good(parsePlan(printed.text, { fallbackName: 'fixture', check: checkGraph }))
    expect(still(again.definition)).toEqual(still(definition))
    return { tasks, told: warnings.map(one => one.message), lost: printed.lost, printed: printed.text }
  }

  test('${step_output} and ${variable} of a task planner are expressions and values; a shell keeps its own', () => {
    const { tasks, told, lost, printed } = inputsOf({
      context: { variables: { depth: 3 } },
      steps: [
        { id: 'find-it', description: 'f', tool: 'search', params: { depth: '${depth}', say: 'cd ${HOME}' } },
        {
          id: 'mend',
          description: 'm',
          tool: 'edit',
          params: { hits: '${find-it_output}', who: '${USER}' },
          dependencies: [],
        },
      ],
    })
    const FIND_OUTPUT =
      "has(tasks['find-it'].outputs.output) ? tasks['find-it'].outputs.output : tasks['find-it'].outputs"
    expect(tasks).toEqual([
      { id: 'find-it', inputs: { depth: 3, say: 'cd ${HOME}' }, needs: [] },
      { id: 'mend', inputs: { hits: `\${{ ${FIND_OUTPUT} }}`, who: '${USER}' }, needs: ['find-it'] },
    ])
    expect(told).toEqual(["'${USER}' names no other step"])
    // What a plan was made in is kept, whether or not it is looked at.
    expect(JSON.parse(printed).context).toEqual({ variables: { depth: 3 } })
    expect(lost).toEqual([])
    expect(JSON.parse(printed).steps[1].params).toEqual({ hits: '${find-it_output}', who: '${USER}' })
  })

  test('{{step.key}} is an expression anywhere in a text, and the step is needed', () => {
    const { tasks, told, lost, printed } = inputsOf({
      plan_type: 'parallel',
      steps: [
        { step: 1, action: 'count' },
        { step: 2, action: 'weigh', depends_on: 1 },
        {
          step: 3,
          action: 'tell',
          inputs: { text: 'all {{count.total}} of {{ 2.kilos }}', odd: ['{{user.name}}', '{{tell.x}}'] },
        },
      ],
    })
    expect(tasks[2]).toEqual({
      id: 'tell',
      inputs: {
        text: 'all ${{ tasks.count.outputs.total }} of ${{ tasks.weigh.outputs.kilos }}',
        odd: ['{{user.name}}', '{{tell.x}}'],
      },
      needs: ['count', 'weigh'],
    })
    expect(told).toEqual(["'{{user.name}}' names no other step"])
    expect(lost).toEqual([])
    expect(JSON.parse(printed).steps[2].inputs.text).toBe('all {{count.total}} of {{weigh.kilos}}')
  })

  test('of a record, too; what comes before anyway is not needed twice, and a circle is refused', () => {
    const records = [
      { id: 'a', description: 'first', sequence_order: 1 },
      { id: 'b', description: 'second', sequence_order: 2 },
      { id: 'c', description: 'third', sequence_order: 3, input_data: { from: '{{a.result}}' } },
    ]
    expect(inputsOf({ tasks: records }).tasks[2]).toEqual({
      id: 'c',
      inputs: { from: '${{ tasks.a.outputs.result }}' },
      needs: ['b'],
    })
    const circle = [{ ...records[0], input_data: { from: '{{c.result}}' } }, ...records.slice(1)]
    const parsed = parsePlan(JSON.stringify({ tasks: circle }), { fallbackName: 'x', check: checkGraph })
    expect(parsed.ok ? null : parsed.diagnostics[0]!.message).toContain('a')
    expect(parsed.ok).toBe(false)
  })

  test('text that is an expression of ours as it stands is data, never evaluated', () => {
    const text = {
      steps: [{ id: 'a', description: 'x', tool: 't', params: { p: '${{ tasks.b.outputs.x }} {{a.b}}' } }],
    }
    const parsed = good(parsePlan(JSON.stringify(text), { fallbackName: 'x', check: checkGraph }))
    expect(parsed.definition.tasks[0]).toMatchObject({ inputs: { p: '$${{ tasks.b.outputs.x }} {{a.b}}' } })
  })
})

describe('examples', () => {
  test.each([
    ['004/sequential.json', 'plan-steps'],
    ['004/parallel.json', 'plan-steps'],
    ['004/marked-groups.yaml', 'plan-steps'],
    ['004/records.json', 'plan-record'],
    ['004/tasks.json', 'plan-record'],
    ['004/lone-task.json', 'plan-record'],
    ['001/planner.json', 'step-list'],
    ['000/todo.json', 'todo-plan'],
    ['000/todo.yaml', 'todo-plan'],
    ['000/inspect.md', 'markdown-inspect'],
    ['markdown/steps.md', 'markdown-steps'],
    ['markdown/phases.md', 'markdown-phases'],
    ['markdown/checklist.md', 'markdown-checklist'],
  ])('%s is read as %s, and printed back', (name, dialect) => {
    const parsed = good(parsePlan(fixture(name), { fallbackName: 'fixture', check: checkGraph }))
    expect(parsed.dialect).toBe(dialect)
    const printed = dialectNamed(dialect)!.print!(parsed.definition, statusIn(parsed))
    expect(printed.lost).toEqual([])
    const again = good(parsePlan(printed.text, { fallbackName: 'fixture', check: checkGraph }))
    expect(again.dialect).toBe(dialect)
    expect(still(again.definition)).toEqual(still(parsed.definition))
    expect(again.ended).toEqual(parsed.ended)
    golden(
      `${name}.golden`,
      [
        '# canonical',
        printYaml(parsed.definition),
        '# told',
        ...parsed.warnings.map(one => printDiagnostic(one, name)),
        ...[...parsed.ended].map(([task, ended]) => `${task} is ${ended}`),
        '',
        '# printed back',
        printed.text,
      ].join('\n'),
    )
  })

  test('nothing they say becomes a command', () => {
    for (const name of ['001/planner.json', '004/parallel.json', 'markdown/steps.md']) {
      const { definition } = good(parsePlan(fixture(name), { fallbackName: 'fixture' }))
      expect(definition.tasks.filter(({ action }) => action.type !== 'external' && action.type !== 'subplan')).toEqual(
        [],
      )
    }
  })
})

describe('steps of the plan store', () => {
  test('a command is an instruction: shown wherever the task is, never run, and printed back', () => {
    const steps = [{ step: 1, action: 'deploy', command: 'make ship TO=${{ x }}' }]
    const { definition } = good(parsePlan(JSON.stringify({ plan_type: 'sequential', steps }), NAMED))
    const instruction = 'make ship TO=$${{ x }}'
    expect(definition.tasks).toMatchObject([{ action: { type: 'external' }, kind: 'deploy', instruction }])
    expect(JSON.parse(planSteps.print!(definition, () => 'pending').text)).toMatchObject({ steps })
  })

  test('a later step waits for a whole parallel group', () => {
    const { definition } = good(parsePlan(fixture('004/parallel.json'), {}))
    expect(definition.tasks[1]?.needs).toEqual(['checks'].map(group => `group-${group}`))
    const { action } = definition.tasks[0]!
    expect(action.type === 'subplan' && action.tasks.map(({ id, needs, assignee }) => [id, needs, assignee])).toEqual([
      ['proofread', undefined, 'reader'],
      ['check-colours', undefined, 'lab'],
    ])
  })

  test('a step may depend on another by number, by text, by action or by id, also on a later one (regression 33)', () => {
    const steps = [
      { action: 'a', depends_on: 'c' },
      { action: 'b', depends_on: ['3', 'x'] },
      { action: 'c' },
      { id: 'x', depends_on: 3 },
    ]
    const { definition } = good(parsePlan(JSON.stringify({ plan_type: 'parallel', steps }), NAMED))
    expect(definition.tasks.map(({ id, needs }) => [id, needs])).toEqual([
      ['a', ['c']],
      ['b', ['c', 'x']],
      ['c', undefined],
      ['x', ['c']],
    ])
  })

  test('regression 20: a step that does not exist, and a circle, are refused where they are written', () => {
    const dangling = '{"steps": [\n  {"step": 1, "action": "a"},\n  {"step": 2, "action": "b", "depends_on": 7}\n]}'
    expect(wrong(dangling)[0]).toMatch(/^plan:3:\d+: error: .*7/)
    const circle =
      '{"steps": [\n  {"step": 1, "action": "a", "depends_on": 2},\n  {"step": 2, "action": "b", "depends_on": 1}\n]}'
    expect(wrong(circle)[0]).toMatch(/^plan:\d+:\d+: error: .*a → b|b → a/)
    expect(wrong('{"steps": [{"action": "a", "depends_on": {"x": 1}}]}')[0]).toMatch(/no step is called/)
  })

  test('regression 8: two steps of one number or one id are refused at the second', () => {
    expect(wrong('{"steps": [\n  {"step": 1, "action": "a"},\n  {"step": 1, "action": "b"}\n]}')).toEqual([
      'plan:3:12: error: there is another step 1\n  hint: give every step a number of its own; what runs side by side goes into a parallel_group',
    ])
    expect(wrong('{"steps": [\n  {"id": "a", "tool": "x"},\n  {"id": "a"}\n]}')[0]).toMatch(
      /^plan:3:10: error: there is another step "a"/,
    )
    expect(wrong('{"steps": [\n  {"id": "a", "status": "TODO"},\n  {"id": "a"}\n]}')[0]).toMatch(
      /^plan:3:10: error: there is another step "a"/,
    )
    expect(wrong('[{"id": 1, "plan_id": 2},\n {"id": 1, "plan_id": 2}]')[0]).toMatch(
      /^plan:2:9: error: there is another task 1/,
    )
  })

  test('regression 4: an unknown status is refused, for a step and for a plan', () => {
    expect(wrong('{"steps": [{"action": "a", "status": "complted"}]}')[0]).toMatch(
      /"complted" is not a status here\n {2}hint: did you mean 'completed'/,
    )
    expect(wrong('{"status": "marvellous", "steps": [{"action": "a"}]}')[0]).toMatch(
      /^plan:1:12: error: "marvellous" is not a status/,
    )
    expect(
      wrong('{"plan_name": "x", "steps": [{"id": "a", "status": "TODO"}, {"id": "b", "status": "DOING"}]}')[0],
    ).toMatch(/"DOING" is not a status/)
  })

  test('requirement 29: whatever else a step holds is kept and printed', () => {
    const step = {
      step: 1,
      action: 'a',
      deep: { list: [1, null, { x: 'ü' }] },
      command: 'rm -rf /',
      estimated_duration: 'soon',
    }
    const { definition } = good(parsePlan(JSON.stringify({ steps: [step], mood: [] }), NAMED))
    expect(definition.tasks[0]?.extra).toEqual({ deep: step.deep, estimated_duration: 'soon' })
    expect(definition.tasks[0]?.action).toEqual({ type: 'external' })
    expect(JSON.parse(planSteps.print!(definition, () => 'pending').text)).toMatchObject({ steps: [step], mood: [] })
  })

  test('tasks of one sequence number run side by side, and the next number waits for all of them', () => {
    const { definition } = good(parsePlan(fixture('004/records.json'), {}))
    expect(definition.tasks.map(({ id, needs }) => [id, needs])).toEqual([
      ['count-the-boxes', undefined],
      ['label-the-boxes', ['count-the-boxes']],
      ['rent-a-van', ['count-the-boxes']],
      ['carry-the-boxes-over', ['label-the-boxes', 'rent-a-van']],
    ])
  })

  test('what the plan has come to follows its tasks when it is printed', () => {
    const { definition } = good(parsePlan('{"status": "DRAFT", "steps": [{"action": "a"}, {"action": "b"}]}', NAMED))
    const shown = (status: (name: string) => TaskStatus) => JSON.parse(planSteps.print!(definition, status).text).status
    expect(shown(() => 'pending')).toBe('DRAFT')
    expect(shown(name => (name === 'a' ? 'completed' : 'pending'))).toBe('active')
    expect(shown(() => 'completed')).toBe('completed')
    expect(shown(() => 'failed')).toBe('failed')
  })

  test('an expression in foreign inputs is text, never evaluated', () => {
    const parsed = good(parsePlan('{"steps": [{"action": "a", "inputs": {"x": "${{ secrets.token }}"}}]}', NAMED))
    expect(parsed.definition.tasks[0]).toMatchObject({ inputs: { x: '$${{ secrets.token }}' } })
    expect(resolveTemplates(parsed.definition.tasks[0]!.inputs!, () => ({ ok: false, message: 'evaluated' }))).toEqual({
      ok: true,
      value: { x: '${{ secrets.token }}' },
    })
  })
})

describe('steps of the task planner', () => {
  const plan = () => good(parsePlan(fixture('001/planner.json'), NAMED))

  test('a tool is a capability and its parameters are inputs, even when it is called bash', () => {
    const task = plan().definition.tasks.find(({ id }) => id === 'test')!
    expect(task).toMatchObject({
      action: { type: 'external' },
      capabilities: ['bash'],
      inputs: { command: 'npm test' },
    })
  })

  test('regression 11: max_retries 0 is what an unset field looks like, not "never"', () => {
    const retries = plan().definition.tasks.map(({ id, retry }) => [id, retry?.attempts])
    expect(retries).toEqual([
      ['find', 4],
      ['edit', 1],
      ['test', undefined],
      ['tell', undefined],
    ])
  })

  test('regression 25 and 29: what counts is the status, in either vocabulary, not words in the output', () => {
    expect([...plan().ended]).toEqual([
      ['find', 'completed'],
      ['tell', 'completed'],
    ])
  })

  test('without any dependencies the list is the order', () => {
    const { definition } = good(
      parsePlan('{"steps": [{"id": "a", "tool": "x"}, {"id": "b", "dependencies": null}]}', NAMED),
    )
    expect(definition.tasks[1]?.needs).toEqual(['a'])
  })
})

test('steps that look like commands are told to be descriptions, at their place', () => {
  const told = (text: string) => good(parsePlan(text, NAMED)).warnings.map(one => printDiagnostic(one))
  expect(told('steps:\n  - read the code\n  - npm ci\n  - npm test\n')).toEqual([
    expect.stringMatching(/^plan:3:5: warning: steps are descriptions: .*\n.*run: "npm ci"/),
  ])
  expect(told('steps: [read the code, make the tests pass, git]\n')).toEqual([])
})

test('what a format cannot say is named', () => {
  const text =
    'planfold: 1\nname: x\ntasks:\n  - {id: a, run: [ls], retry: 3}\n  - {id: b, needs: [a]}\n  - {id: c, needs: [a]}\n'
  const { definition } = good(parsePlan(text))
  const lost = (dialect: typeof todoPlan, status: TaskStatus = 'pending') =>
    dialect.print!(definition, () => status).lost
  expect(lost(todoPlan)).toEqual(["task 'a': run", "task 'a': retry", "task 'c': needs"])
  expect(lost(todoPlan, 'failed')).toContain("task 'b': status failed")
  expect(lost(stepList)).toEqual(["task 'a': run"])
  expect(lost(planRecord)).toEqual(["task 'a': run", "task 'a': retry"])
  expect(lost(planSteps)).toEqual(["task 'a': run", "task 'a': retry"])
  expect(lost(markdownSteps, 'abandoned')).toEqual(["task 'a': run", "task 'a': retry"])
})

test('the canonical format is none of them', () => {
  expect(good(parsePlan('planfold: 1\nname: x\ntasks: [{id: a, description: "- [ ] box"}]\n')).dialect).toBe(null)
  expect(good(parsePlan('# Plan: x\n## Steps\n# 1. **no**\nplanfold: 1\nname: x\ntasks: [{id: a}]\n')).dialect).toBe(
    null,
  )
  expect(wrong('planfold: 1\nname: x\nsteps: [{id: a}]\n')[0]).toMatch(/unknown key 'steps'/)
})

const NAMED = { fallbackName: 'x' }

function good(parsed: Parsed): Extract<Parsed, { ok: true }> {
  if (!parsed.ok) throw new Error(parsed.diagnostics.map(one => printDiagnostic(one)).join('\n'))
  return parsed
}

function wrong(text: string): readonly string[] {
  const parsed = parsePlan(text, { ...NAMED, check: checkGraph })
  return parsed.ok ? [] : parsed.diagnostics.map(one => printDiagnostic(one))
}

function statusIn(parsed: Extract<Parsed, { ok: true }>): (task: string) => TaskStatus {
  return task => (parsed.ended.get(task as never) as TaskStatus | undefined) ?? 'pending'
}

/** A word for a status that is no longer true is not printed again. */
function still(definition: PlanDefinition): PlanDefinition {
  return JSON.parse(
    JSON.stringify(definition, (key, value) => (key === 'status' ? undefined : value)).replaceAll(',"extra":{}', ''),
  )
}

function golden(name: string, text: string): void {
  const path = join(folder, name)
  if (process.env.PLANFOLD_GOLDEN === 'write') writeFileSync(path, text)
  expect(text).toBe(readFileSync(path, 'utf8'))
}
