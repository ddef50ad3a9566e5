// Artifacts from the command line: `planfold artifact list | get | put`, and the layout of .openagent out and in again.

import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { withState } from '../../cli/command.ts'
import { run } from '../../cli/commands/plans/run.ts'
import { handoff } from '../../cli/commands/records/handoff.ts'
import { eachPlace, type Place } from '../../cli/place.fixture.ts'
import type { TaskName } from '../../domain/id.ts'
import { getArtifact, listArtifacts, putArtifact } from './commands/artifact.ts'
import { exportFolder, importFolder } from './commands/openagent.ts'

const place = eachPlace()
const say = (body: Parameters<Place['say']>[0]) => place.say(body)

const PLAN = `planfold: 1
name: left
tasks:
  - { id: a, run: [printf, "one \\\\033[2J"], effect: pure, outputs: { said: { stdout: text } } }
  - { id: w, needs: [a], instruction: write, outputs: { notes: { report: true } } }
`

async function claimed(): Promise<string> {
  await place.write('plan.yaml', PLAN)
  await say(context => run(context, 'plan.yaml', { start: true }))
  let token = ''
  await say(context =>
    withState(context, { create: false }, async ({ engine }) => {
      const plan = (await engine.ask({ type: 'find', reference: 'left' }))!.plan
      const made = await engine.submit(plan, { type: 'claim', task: 'w' as TaskName })
      if (!made.ok || made.claim === undefined) throw new Error('not claimed')
      token = made.claim.token
      return 0
    }),
  )
  return token
}

test('a file is uploaded once, listed, read back byte for byte, and never written over another', async () => {
  const token = await claimed()
  await place.write('notes.md', 'line\n\u{1b}]0;title\u{7}')
  const put = (address: string, file: string) => say(context => putArtifact(context, address, file, { token }))
  expect((await put('left/w/notes', 'notes.md')).stdout).toMatch(/^left\/w\/notes@1: 15 bytes, [0-9a-f]{64}\n$/)
  expect((await put('left/w/notes', 'notes.md')).stdout).toContain('15 bytes, 0 of them sent now')
  expect(await put('left/w/notes@2', 'notes.md')).toMatchObject({ exit: 'usage' })
  expect((await put('left/w/notes', 'none.md')).stderr).toContain("'none.md' cannot be read: ENOENT")
  const { stdout } = await say(context => listArtifacts(context, 'left', {}))
  expect(stdout).toMatch(/left\/a\/said@1 .*\n.*left\/w\/notes@1 /)
  expect((await say(context => listArtifacts(context, 'left', { task: 'w' }))).stdout).not.toContain('said')
  const get = (address: string, options = {}) => say(context => getArtifact(context, address, options))
  expect((await get('left/w/notes', { out: 'copy.md' })).stdout).toBe('written: copy.md\n')
  expect(await place.read('copy.md')).toBe(await place.read('notes.md'))
  expect((await get('left/a/said', { out: 'copy.md' })).stderr).toContain('nothing is overwritten')
  expect((await get('left/a/said', { about: true })).stdout).toMatch(
    /^left\/a\/said@1\nhash {6}[0-9a-f]{64}, \d+ bytes, kept\n/,
  )
  expect((await get('left/w/notes@7')).stderr).toContain("there is no version '7' of it")
  expect((await get('left/w')).exit).toBe('usage')
})

test('a plan goes out in the layout of .openagent and comes in again, with its artifacts and without links', async () => {
  await claimed()
  expect((await say(context => exportFolder(context, 'left', { out: 'out' }))).stdout).toContain('written to out')
  const out = join(place.folder, 'out')
  const said = await readFile(join(out, '.openagent/artifacts/a/said'), 'utf8')
  expect(said).toContain('one')
  expect(await readFile(join(out, 'planning.md'), 'utf8')).toContain('left')
  expect(await say(context => exportFolder(context, 'left', { out: 'out' }))).toMatchObject({ exit: 'exists' })

  await mkdir(join(out, '.openagent/cache'), { recursive: true })
  await writeFile(join(out, '.openagent/cache/page.html'), '<html>')
  await symlink('/etc/passwd', join(out, '.openagent/cache/link'))
  const made = await say(context => importFolder(context, 'out', { name: 'again' }))
  expect(made.stderr).toContain('left out: .openagent/cache/link is not a plain file')
  expect(made.stdout).toContain('again is a draft with 3 tasks')
  const { stdout } = await say(context => listArtifacts(context, 'again', {}))
  expect(stdout).toContain('again/openagent-files/cache-page.html@1')
  const [, address] = /(again\/\S*said)@1/.exec(stdout)!
  await say(context => getArtifact(context, address!, { out: 'said' }))
  expect(await place.read('said')).toBe(said)
})

test('a handoff holds the plan and its journal, and replaces no plan or journal of others', async () => {
  await claimed()
  await say(context => handoff(context, 'left', { out: 'handed' }))
  const lines = (await place.read('handed/journal.jsonl'))
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))
  expect(lines.length).toBeGreaterThan(3)
  for (const line of lines) expect(line).toMatchObject({ hash: expect.stringMatching(/^[0-9a-f]{64}$/) })
  expect((await say(context => run(context, 'handed/plan.yaml', { start: false }))).exit).toBe(0)
  await mkdir(join(place.folder, 'theirs'))
  await place.write('theirs/plan.yaml', 'mine')
  expect(await say(context => handoff(context, 'left', { out: 'theirs' }))).toMatchObject({ exit: 'exists' })
  expect(await place.read('theirs/plan.yaml')).toBe('mine')
})
