// The types of `planfold/client` as a program in a browser sees them: the guide and plain values compile against the built package,
// every declaration file it reaches included, without the types of Node.

import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MAIN } from './planfold.fixture.ts'

const root = resolve(import.meta.dirname, '../..')
const guide = readFileSync(join(root, 'docs/guide/client.md'), 'utf8')
const blocks = [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(match => match[1]!)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'planfold-types-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What the compiler complains of. */
async function compile(programs: readonly string[]): Promise<string> {
  programs.forEach((text, at) => {
    writeFileSync(join(folder, `program-${at}.ts`), text)
  })
  const compilerOptions = {
    target: 'ES2023',
    module: 'ESNext',
    moduleResolution: 'bundler',
    lib: ['ES2023', 'DOM', 'DOM.Iterable'],
    types: [],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    skipLibCheck: false,
    paths: { 'planfold/client': [join(dirname(MAIN), '../client/client.d.ts')] },
  }
  const files = programs.map((_, at) => `program-${at}.ts`)
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  return await new Promise(done =>
    execFile(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], { cwd: folder }, (_, stdout, stderr) =>
      done(stdout + stderr),
    ),
  )
}

test('the guide compiles, and so does whatever is written plainly', async () => {
  const plain = `import { connect, subscribe } from 'planfold/client'
    const client = connect({ url: 'http://127.0.0.1:8011' })
    await client.plans.create({ name: 'x', tasks: [{ id: 'a', run: 'make', needs: ['b'] }, { id: 'b' }] })
    await client.submit(null, { type: 'create', definition: { name: 'x', tasks: [{ id: 'a', action: { type: 'external' } }] } })
    await client.submit('x', { type: 'skip', task: 'a', reason: 'x' }, { once: 'key' })
    for await (const { version } of client.watch({ after: 0 })) version.toFixed()
    for await (const heard of subscribe({ url: 'x' })) if (heard.type === 'event') heard.id?.length`
  expect(await compile([...blocks, plain])).toBe('')
})

test('they reach no package, nothing of the service, and of its schemas only what they come to', () => {
  const dist = resolve(dirname(MAIN), '..')
  const reached = new Set([join(dist, 'client/client.d.ts')])
  for (const file of reached)
    for (const [, from] of readFileSync(file, 'utf8').matchAll(/(?:from |import\()['"]([^'"]+)['"]/g)) {
      expect(from, `${file} imports a package`).toMatch(/^\./)
      reached.add(resolve(dirname(file), from!.replace(/\.[jt]s$/, '.d.ts')))
    }
  const told = /^format\/wire\/(?:answers\/[a-z-]+|declarations)\.d\.ts$/
  const files = [...reached].map(file => file.slice(dist.length + 1))
  expect(files.filter(file => /^(?:server|format)\//.test(file) && !told.test(file))).toEqual([])
})

test('what is misspelt does not', async () => {
  const wrong = (line: string) =>
    `import { connect } from 'planfold/client'\nconst client = connect({ url: '' })\nawait client.${line}`
  const lines = [
    `submit('x', { type: 'skip', task: 'a' })`,
    `submit('x', { type: 'jump' })`,
    `plans.create({ name: 'x' })`,
    `tasks.report('x', 'a', { status: 'well' })`,
  ]
  const complaints = await compile(lines.map(wrong))
  const files = new Set([...complaints.matchAll(/^program-(\d+)\.ts/gm)].map(match => Number(match[1])))
  expect([...files].sort()).toEqual([0, 1, 2, 3])
})
