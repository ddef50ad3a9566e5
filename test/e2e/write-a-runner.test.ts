// The runner in docs/guide/write-a-runner.md is compiled from the guide's own text, against the built package, and carries out the plan
// that stands beside it. And a runner whose process is killed in the middle of its work.

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, it } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const run = promisify(execFile)
let built: string
let work: string
beforeEach(async () => {
  // Below the package, so that `planfold` means this package.
  await mkdir(join(root, 'dist'), { recursive: true })
  built = await mkdtemp(join(root, 'dist', 'guide-'))
  work = await mkdtemp(join(tmpdir(), 'planfold-guide-'))
})
afterEach(async () => {
  await rm(built, { recursive: true, force: true })
  await rm(work, { recursive: true, force: true })
})

it('is under sixty lines, compiles, and counts words', async () => {
  const guide = await readFile(join(root, 'docs/guide/write-a-runner.md'), 'utf8')
  const [code] = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text]) => text!)
  const [plan] = [...guide.matchAll(/```yaml\n([\s\S]*?)```/g)].map(([, text]) => text!)
  expect(code!.trimEnd().split('\n').length).toBeLessThan(60)
  await writeFile(join(built, 'words.ts'), code!)
  const options = {
    module: 'nodenext',
    target: 'es2023',
    strict: true,
    types: ['node'],
    skipLibCheck: true,
    typeRoots: [join(root, 'node_modules/@types')],
  }
  await writeFile(join(built, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files: ['words.ts'] }))
  await run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', built])
  await writeFile(join(work, 'README.md'), 'one two three four five six seven eight nine ten eleven\n')
  const { stdout } = await run(process.execPath, [join(built, 'words.js'), work, plan!], { cwd: work })
  expect(JSON.parse(stdout)).toMatchObject([{ name: 'words', status: 'completed', outputs: { words: 11 } }])
  const wrong = plan!.replace('file: README.md', 'fil: README.md')
  const failed = await run(process.execPath, [
    join(built, 'words.js'),
    work,
    wrong.replace('name: count', 'name: other'),
  ])
  expect(JSON.parse(failed.stdout)).toMatchObject([
    { status: 'failed', reason: expect.stringContaining("'with' of words") },
  ])
}, 120_000)

const LOOP = `
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { compose, parsePlan, trusted } from 'planfold'

const [, , root, plan] = process.argv
const loop = {
  name: 'loop',
  about: { does: 'edits', effects: ['workspace'], risks: [], dryRun: 'nothing', schema: { type: 'object' } },
  async attempt() {
    appendFileSync(root + '/count.txt', 'once\\n')
    writeFileSync(root + '/sum.js', 'changed')
    const isFirst = !existsSync(root + '/.planfold/killed')
    if (isFirst) writeFileSync(root + '/.planfold/killed', '')
    if (isFirst) process.kill(process.pid, 'SIGKILL')
    return { type: 'done' }
  },
}
const { engine, worker, close } = await compose({ cwd: root, environment: process.env, caller: trusted('me'), runners: [loop] })
const found = await engine.ask({ type: 'find', reference: 'loop' })
const id = found?.plan ?? (await engine.submit(null, { type: 'create', definition: parsePlan(plan).definition })).plan
const drive = () => worker.drive(id, { stop: new AbortController().signal })
if (found === null) await engine.submit(id, { type: 'start' })
await drive()
const texts = ['sum.js', 'count.txt'].map(file => readFileSync(root + '/' + file, 'utf8'))
const { status, restored } = await engine.ask({ type: 'summary', plan: id })
await engine.submit(id, { type: 'rollback' })
await drive()
console.log(JSON.stringify({ status, restored, texts }))
await close()
`

it('a runner with the effect workspace is reverted after a kill, and by a rollback', async () => {
  await writeFile(join(built, 'loop.mjs'), LOOP)
  await writeFile(join(work, 'sum.js'), 'before')
  const plan = `planfold: 1
name: loop
tasks:
  - { id: edit, effect: workspace, write: [sum.js, count.txt], runner: { use: loop } }
`
  const again = () => run(process.execPath, [join(built, 'loop.mjs'), work, plan], { cwd: work })
  const texts = () =>
    Promise.all(['sum.js', 'count.txt'].map(file => readFile(join(work, file), 'utf8').catch(() => null)))
  await expect(again()).rejects.toMatchObject({ signal: 'SIGKILL' })
  expect(await texts()).toEqual(['changed', 'once\n'])
  expect(JSON.parse((await again()).stdout)).toMatchObject({
    status: 'completed',
    restored: [{ task: 'edit', paths: ['count.txt', 'sum.js'] }],
    texts: ['changed', 'once\n'],
  })
  expect(await texts()).toEqual(['before', null])
})
