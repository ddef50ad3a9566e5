// `planfold hook pre-tool-use`: which writes of an agent are denied, and that nothing else ever stops it.

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { claim } from '../../../cli/commands/people/claim.ts'
import { run } from '../../../cli/commands/plans/run.ts'
import { newPlace, type Place, type Said } from '../../../cli/place.fixture.ts'
import { preToolUse } from './hook.ts'

const SESSION = '01234567-89ab-cdef'
const QUIET = { exit: 0, stdout: '', stderr: '' }

let place: Place
beforeEach(async () => {
  place = await newPlace()
  mkdirSync(join(place.folder, 'src'))
})
afterEach(() => place.remove())

/** What the hook says when an agent is about to do this; without PLANFOLD_AS, unless it is given. */
const hook = async (input: unknown, environment: { readonly [name: string]: string } = {}): Promise<Said> =>
  await place.say(context => {
    const { PLANFOLD_AS: _, ...inherited } = context.environment
    const bytes = Buffer.from(typeof input === 'string' ? input : JSON.stringify(input))
    // In two pieces, as pipes may hand it over.
    const stdin = async function* () {
      yield bytes.subarray(0, 7)
      yield bytes.subarray(7)
    }
    return preToolUse({ ...context, environment: { ...inherited, ...environment }, stdin })
  })

const input = (tool_name: string, tool_input: object, more: object = {}) => ({
  hook_event_name: 'PreToolUse',
  session_id: SESSION,
  cwd: place.folder,
  tool_name,
  tool_input,
  ...more,
})
const writes = async (file_path: string): Promise<Said> => await hook(input('Write', { file_path, content: '' }))

/** The reason of a denial; null where there is no opinion. */
function reasonOf(said: Said): string | null {
  if (said.stdout === '') {
    expect(said).toEqual(QUIET)
    return null
  }
  const { hookSpecificOutput, ...rest } = JSON.parse(said.stdout)
  expect(rest).toEqual({})
  const { permissionDecisionReason, ...decision } = hookSpecificOutput
  expect(decision).toEqual({ hookEventName: 'PreToolUse', permissionDecision: 'deny' })
  return permissionDecisionReason
}

async function claimed(task: string, as = 'claude-code/01234567'): Promise<void> {
  await place.write('plan.yaml', `planfold: 1\nname: p\ntasks:\n  - { id: t${task} }\n`)
  await place.say(context => run(context, 'plan.yaml', { start: true }))
  const said = await place.say(context => claim(context, 'p', 't', {}), { environment: { PLANFOLD_AS: as } })
  expect(said.exit).toBe(0)
}

describe('a task with a write scope', () => {
  beforeEach(async () => await claimed(', write: [src/**, été.md]'))

  test('what is inside may be written, also where the folder is not there yet', async () => {
    const inside = ['src/a.ts', 'src/new/deep/a.ts', join(place.folder, 'src/b.ts'), 'src/x/../c.ts', 'src', 'été.md']
    for (const path of inside) expect([path, reasonOf(await writes(path))]).toEqual([path, null])
  })

  test('what is outside is denied, with the task, its scope and what to do', async () => {
    expect(reasonOf(await writes('docs/a.md'))).toBe(
      "Planfold: docs/a.md is outside what 't' of plan 'p' may write (src/**, été.md). Write inside it, or ask the person to widen `write` of the task; report the task first if this is other work.",
    )
    const outside = [
      'src/../docs/a.md',
      '../elsewhere.md',
      '/etc/passwd',
      '~/notes.md',
      'e\u0301te\u0301.md',
      `${place.folder}-2/src/a.ts`,
    ]
    for (const path of outside) expect([path, reasonOf(await writes(path))]).toEqual([path, expect.any(String)])
  })

  test('a link is judged by where it leads, there or not, and `..` behind it in both ways', async () => {
    mkdirSync(join(place.folder, 'docs/deep'), { recursive: true })
    symlinkSync('../docs', join(place.folder, 'src/docs'))
    symlinkSync('/nowhere/new', join(place.folder, 'src/dangling'))
    symlinkSync('round', join(place.folder, 'src/round'))
    symlinkSync('../docs/deep', join(place.folder, 'src/deep'))
    symlinkSync('src', join(place.folder, 'alias'))
    for (const path of ['src/docs/a.md', 'src/dangling', 'src/round', 'src/deep/../a.md'])
      expect([path, reasonOf(await writes(path))]).toEqual([path, expect.any(String)])
    expect(reasonOf(await writes('alias/a.ts'))).toBeNull()
  })

  test('every tool that writes is judged, and no other', async () => {
    const [good, bad] = ['src/a', 'docs/a']
    const patch = (path: string, to = path) => ({
      command: `*** Begin Patch\n*** Update File: src/a\n*** Move to: ${to}\n-x\n+*** Add File: /etc/x\n*** Delete File: ${path}\n*** End Patch`,
    })
    const cases: readonly (readonly [string, object, boolean])[] = [
      ['Write', { file_path: good }, true],
      ['Edit', { file_path: bad }, false],
      ['MultiEdit', { file_path: bad, edits: [] }, false],
      ['NotebookEdit', { notebook_path: 'docs/a.ipynb' }, false],
      ['apply_patch', patch(good), true],
      ['apply_patch', patch(bad), false],
      ['apply_patch', patch(good, bad), false],
      ['Read', { file_path: '/etc/passwd' }, true],
      ['Bash', { command: 'rm -rf /' }, true],
      ['constructor', {}, true],
    ]
    for (const [tool, given, isAllowed] of cases) {
      const reason = reasonOf(await hook(input(tool, given)))
      expect([tool, given, reason === null]).toEqual([tool, given, isAllowed])
    }
    const gemini = await hook(input('write_file', { file_path: bad }, { hook_event_name: 'BeforeTool' }))
    expect(JSON.parse(gemini.stdout)).toEqual({
      decision: 'deny',
      reason: expect.stringContaining('docs/a is outside'),
    })
  })

  test('the session, the name in the environment and the folder of the project say whose claim it is, and where', async () => {
    const bad = { file_path: 'docs/a.md' }
    const other = { session_id: 'another-session' }
    expect(reasonOf(await hook(input('Write', bad, other)))).toBeNull()
    expect(reasonOf(await hook(input('Write', bad, { session_id: 7 })))).toBeNull()
    const named = { PLANFOLD_AS: 'claude-code/01234567' }
    expect(reasonOf(await hook(input('Write', bad, other), named))).not.toBeNull()
    // It went to another folder; its paths begin there, and its plans stay where they are.
    const project = { CLAUDE_PROJECT_DIR: place.folder }
    const moved = { cwd: '/' }
    expect(reasonOf(await hook(input('Write', bad, moved)))).toBeNull()
    expect(reasonOf(await hook(input('Write', bad, moved), project))).not.toBeNull()
    expect(reasonOf(await hook(input('Write', { file_path: `${place.folder}/src/a` }, moved), project))).toBeNull()
  })
})

test('without a scope only protected places are denied; files of elsewhere are nobody’s business', async () => {
  await claimed('')
  for (const path of ['docs/a.md', '/tmp/scratch.txt', '/home/somebody/.claude/plans/x.md'])
    expect([path, reasonOf(await writes(path))]).toEqual([path, null])
  expect(reasonOf(await writes('.github/workflows/ci.yml'))).toBe(
    'Planfold: .github/workflows/ci.yml is protected (.github/workflows): no task may write there. Leave it, or ask the person to change it.',
  )
  for (const path of ['.planfold/planfold.db', '.git/hooks/pre-commit', 'sub/.GIT/config', '.g\u200cit/config'])
    expect([path, reasonOf(await writes(path))]).toEqual([path, expect.stringContaining('is protected')])
})

test('a task that is meant for somebody else and was claimed all the same counts', async () => {
  await claimed(', assignee: ana, write: [src/**]')
  expect(reasonOf(await writes('docs/a.md'))).not.toBeNull()
})

test('nothing else ever stops the agent: no plan, no claim, broken input, a damaged store', async () => {
  expect(await writes('docs/a.md')).toEqual(QUIET)
  await claimed(', write: [src/**]', 'somebody-else')
  expect(await writes('docs/a.md')).toEqual(QUIET)
  const odd = { exit: 0, stdout: '', stderr: 'planfold hook: expected the JSON of a tool call on standard input\n' }
  const broken = [
    '',
    '{',
    '[]',
    'null',
    '{}',
    '"}"',
    `{"tool_name":7}`,
    input('Write', {}),
    input('Write', { file_path: '' }),
  ]
  for (const one of [...broken, input('Edit', { file_path: 'a\0b' }), input('apply_patch', { command: 'none' })])
    expect(await hook(one)).toEqual(odd)
  writeFileSync(
    join(place.folder, '.planfold/planfold.db'),
    'no database at all, and long enough to be one'.repeat(200),
  )
  const damaged = await writes('docs/a.md')
  expect(damaged).toMatchObject({ exit: 0, stdout: '' })
  expect(damaged.stderr).toMatch(/^planfold hook: .+\n$/)
})
