// The planner that fills templates: real templates of the shelf, and one's own.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { PlanningFailure, type PlanProposal, type PlanRequest, type RepositoryView } from './planner.ts'
import { templatePlanner } from './template-planner.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'planfold-templates-'))
})
afterEach(async () => await rm(folder, { recursive: true, force: true }))

const FILES: { readonly [path: string]: string } = {
  'lib/export.py': 'def export_notes(notes):\n    return "\\n".join(notes)\n',
  'tests/test_export.py': 'from lib.export import export_notes\n',
}

test('fills what the goal and the repository say, and tells what came from where', async () => {
  const { definition, assumptions, analysis, planner } = await fill(
    'export_notes can write Markdown',
    'feature-with-tests',
  )
  expect(planner).toBe('template')
  expect(definition).toMatchObject({
    name: 'export-notes-can-write-markdown',
    title: 'export_notes can write Markdown',
    goal: 'export_notes can write Markdown',
  })
  expect(analysis.commands.test?.run).toEqual(['pytest'])
  expect(definition.done).toContainEqual(expect.objectContaining({ type: 'check', command: { argv: ['pytest'] } }))
  expect(assumptions).toEqual([
    expect.stringMatching(/^source is \["lib\/export\.py".*\(most likely by the goal\)$/),
    expect.stringMatching(/^tests is \["tests\/test_export\.py"\] \(most likely by the goal\)$/),
    expect.stringMatching(/^test_command is \["pytest"\] \(found in /),
    'feature is "export_notes can write Markdown" (the goal)',
  ])
  expect(definition.extra?.planning).toMatchObject({ planner: 'template', template: 'feature-with-tests' })
})

test('what nobody said is named, with how to say it', async () => {
  const failure = await failureOf(fill('Upgrade left-pad from 1.2.0 to 2.0.0', 'dependency-upgrade'))
  expect(failure.code).toBe('template:missing')
  expect(failure.message).toContain("'upgrade_command' is missing")
  expect(failure.message).not.toMatch(/'(package|from|to)' is missing/)
  expect(failure.hint).toContain('upgrade_command: ["npm"')
})

test('what the goal says on a line of its own is taken as the type wants it', async () => {
  const goal = [
    'Upgrade left-pad from 1.2.0 to 2.0.0',
    'upgrade_command: ["npm", "install", "left-pad@2.0.0"]',
    'breaking: no',
  ].join('\n')
  const { definition } = await fill(goal, 'dependency-upgrade')
  expect(definition.title).toBe('Upgrade left-pad from 1.2.0 to 2.0.0')
  expect(definition.extra?.planning).toMatchObject({
    values: { package: 'left-pad', from: '1.2.0', to: '2.0.0', breaking: false },
  })
})

test('a value of the wrong type is refused', async () => {
  const failure = await failureOf(fill('Notes export\ndocs: perhaps', 'feature-with-tests'))
  expect(failure).toMatchObject({ code: 'template:missing', message: expect.stringContaining("'docs'") })
})

test('whoever sits there is asked for what is missing', async () => {
  const asked: string[] = []
  const { definition } = await fill('Intermittent 500s', 'debug', {
    ask: async question => {
      asked.push(question)
      return 'the pool is exhausted, a race'
    },
  })
  expect(asked).toEqual([expect.stringMatching(/^hypotheses: falsifiable statements/)])
  expect(definition.extra?.planning).toMatchObject({ values: { hypotheses: ['the pool is exhausted', 'a race'] } })
})

test('a template of one’s own is found, and what in it pushes is told', async () => {
  await writeFile(
    join(folder, 'bring-out.yaml'),
    [
      'planfold-template: 2',
      'name: bring-out',
      'about: brings something out',
      'parameters:',
      '  topic: { about: what, required: true }',
      'plan:',
      '  title: ${{ params.topic }}',
      '  tasks:',
      '    - { id: out, run: [git, push] }',
      '',
    ].join('\n'),
  )
  const { definition, irreversible } = await fill('the new export', 'bring-out')
  expect(definition.title).toBe('the new export')
  expect(irreversible).toEqual([{ task: 'out', why: 'it pushes' }])
})

test('an unknown template, none at all, and one that is broken', async () => {
  expect(await failureOf(fill('x', 'feature-with-test'))).toMatchObject({
    code: 'template:unknown',
    hint: "did you mean 'feature-with-tests'?",
  })
  expect((await failureOf(fill('x', undefined))).hint).toContain('feature-with-tests')
  await writeFile(join(folder, 'broken.yaml'), 'planfold-template: 2\nname: broken\n')
  expect((await failureOf(fill('x', 'broken'))).code).toBe('template:unusable')
})

test('the checks of every plan hold for it', async () => {
  const failure = await failureOf(fill('export', 'feature-with-tests', { check: () => ['it goes in a circle'] }))
  expect(failure.message).toContain('it goes in a circle')
})

async function fill(
  goal: string,
  template: string | undefined,
  more: Partial<PlanRequest> = {},
): Promise<PlanProposal> {
  const request = { goal, repository: view(), ...(template === undefined ? {} : { template }), ...more }
  return await templatePlanner({ folder }).propose(request)
}

async function failureOf(planning: Promise<unknown>): Promise<PlanningFailure['failure']> {
  const error = await planning.then(
    () => new Error('there is a plan, and there should be none'),
    (thrown: unknown) => thrown,
  )
  if (error instanceof PlanningFailure) return error.failure
  throw error
}

const view = (): RepositoryView => ({
  files: async () => Object.entries(FILES).map(([path, text]) => ({ path, bytes: text.length })),
  read: async paths => paths.map(path => FILES[path] ?? null),
  history: async () => [],
  findProgram: async name => name,
  pythonPackages: async () => null,
  changedAt: async paths => paths.map(() => 0),
  state: async () => null,
})
