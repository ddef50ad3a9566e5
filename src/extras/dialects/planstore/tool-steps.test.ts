import { describe, expect, test } from 'vitest'
import { printYaml } from '../../../format/plan/print.ts'
import { printDiagnostic } from '../../../format/text/print-diagnostic.fixture.ts'
import { parsePlan } from '../dialects.fixture.ts'
import { stepList } from './step-list.ts'

const NAMED = { fallbackName: 'x' }
const parse = (plan: object) => parsePlan(JSON.stringify(plan), NAMED)
const good = (plan: object) => {
  const parsed = parse(plan)
  if (!parsed.ok) throw new Error(parsed.diagnostics.map(one => printDiagnostic(one)).join('\n'))
  return parsed.definition
}
const wrong = (tool: string, params?: object) => {
  const parsed = parse({ tools: 'run', steps: [{ id: 'a', tool, params }] })
  return parsed.ok ? [] : parsed.diagnostics.map(one => printDiagnostic(one))
}
const bash = (id: string, more: object = {}) => ({ id, tool: 'bash', params: { command: 'true' }, ...more })

describe('a plan that says `tools: run`', () => {
  test('has one approval before all steps with a tool of ours; other tools stay external', () => {
    const { tasks } = good({ tools: 'run', steps: [bash('a'), { id: 'b', tool: 'telephone', params: { to: 'ana' } }] })
    expect(tasks.map(({ id, action, needs }) => [id, action.type, needs])).toEqual([
      ['allow-steps', 'gate', undefined],
      ['a', 'run', ['allow-steps']],
      ['b', 'external', ['a']],
    ])
    expect(tasks[0]?.action).toMatchObject({ gate: 'approval', show: ['steps'] })
  })

  test('the approval is called like no step', () => {
    const { tasks } = good({ tools: 'run', steps: [bash('allow-steps'), bash('b', { dependencies: ['allow-steps'] })] })
    expect(tasks.map(({ id }) => id)).toEqual(['allow-steps-2', 'allow-steps', 'b'])
  })

  test('`${step_output}` is the text of a step, also where an agent reports it', () => {
    const write = { tool: 'write_file', params: { path: 'x', content: '${a_output}' } }
    const contentAfter = (a: object) =>
      good({ tools: 'run', steps: [a, { id: 'b', ...write }] }).tasks.at(-1)?.inputs?.content
    expect(contentAfter(bash('a'))).toBe('${{ tasks.a.outputs.output }}')
    expect(contentAfter({ id: 'a', tool: 'telephone' })).toBe(
      '${{ has(tasks.a.outputs.output) ? tasks.a.outputs.output : tasks.a.outputs }}',
    )
  })

  test('what it looks at is an expression, and is needed', () => {
    const { tasks } = good({
      tools: 'run',
      steps: [
        bash('a', { dependencies: [] }),
        bash('b', { dependencies: [], params: { command: 'echo {{a.output}}' } }),
      ],
    })
    const before = tasks.find(({ id }) => id === 'b')
    expect(before?.needs).toEqual(expect.arrayContaining(['a', 'allow-steps']))
  })

  test('a step without its parameters, or with a path outside, is refused where it stands', () => {
    expect(wrong('bash', {})[0]).toMatch(/the tool bash needs 'command'/)
    expect(wrong('bash', { command: 7 })[0]).toMatch(/'command' is text/)
    expect(wrong('bash')[0]).toMatch(/the tool bash needs 'command'/)
    for (const path of ['/etc/passwd', '../x', 'a/../../x', '~/x'])
      expect(wrong('read_file', { path })[0]).toMatch(/leaves the workspace/)
    expect(wrong('edit_file', { path: 'a', old_string: 'x' })[0]).toMatch(/needs 'new_string'/)
    expect(wrong('write_file', { path: 'a' })[0]).toMatch(/needs 'content'/)
    expect(wrong('toString', {})).toEqual([])
  })

  test('what only reads says that links are refused; its own words are an ordinary command', () => {
    const definition = good({ tools: 'run', steps: [{ id: 'a', tool: 'read_file', params: { path: 'n.txt' } }] })
    expect(definition.tasks.at(-1)?.action).toEqual({
      type: 'run',
      command: { argv: ['cat', '--', 'n.txt'] },
      links: 'refuse',
    })
    const printed = parsePlan(printYaml(definition), NAMED)
    expect(printed).toMatchObject({ ok: true, definition: { tasks: definition.tasks } })
    const own = 'planfold: 1\nname: x\ntasks:\n  - id: a\n    links: refuse\n    run: cat n.txt\n'
    expect(parsePlan(own, NAMED)).toMatchObject({
      ok: false,
      diagnostics: [{ message: expect.stringContaining("this 'run' is a script") }],
    })
  })

  test('any other word is refused', () => {
    const parsed = parse({ tools: 'walk', steps: [bash('a')] })
    expect(parsed).toMatchObject({ ok: false, diagnostics: [{ message: "'walk' is not known here" }] })
  })

  test('is printed back as it was, without its approvals', () => {
    const telephone = { id: 'b', tool: 'telephone', params: { to: 'ana' } }
    const plan = { tools: 'run', steps: [bash('a'), telephone, bash('c', { params: { command: '${b_output}' } })] }
    const { text, lost } = stepList.print!(good(plan), () => 'pending')
    expect(JSON.parse(text)).toMatchObject(plan)
    expect((JSON.parse(text) as { steps: unknown[] }).steps.length).toBe(3)
    expect(lost).toEqual([])
  })
})
