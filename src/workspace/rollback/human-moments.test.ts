// A person who works in the same folders as a plan, at any moment: before the rollback, between its refusal and the choice,
// and while it goes on. Each of her texts is unique and written to a path once, so afterwards each must be found: on disk,
// or in the content store with its path named in a report.

import { spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeGround, open, written } from '../snapshots/snapshots.fixture.ts'
import { dir, file, link, makeTree, tree } from '../tree.fixture.ts'
import type { RolledBack } from '../workspace.ts'

const ROUNDS = Number(process.env.PLANFOLD_EDITS ?? 15)
const EDITS = 40
const CALLS_MAX = 200

const PERSON = `
const fs = require('node:fs'), path = require('node:path')
const [root, seed, count, delay] = [process.argv[1], ...process.argv.slice(2).map(Number)]
let state = (seed * 2654435761) >>> 0
const next = n => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) >>> 8) % n
const DIRS = ['', 'src', 'src/deep', 'made', 'made/in', 'gone', 'gone/in', 'turned', 'linked', 'mine']
const NAMES = ['a', 'b', 'c', 'd', 'e', 'turned', 'link', 'new-' + seed]
const told = [], touched = new Set()
process.stdout.write('ready\\n')
process.stdin.once('data', async () => {
  await new Promise(done => setTimeout(done, delay))
  for (let at = 0; at < count; at++) {
    const text = 'human ' + seed + ' ' + at + ' end', how = next(8)
    let name = path.join(DIRS[next(DIRS.length)], NAMES[next(NAMES.length)]), file = path.join(root, name)
    // By its real name: two names of one file must not make her write over herself.
    const isHers = real => { name = path.relative(root, real); if (touched.has(name)) return true; touched.add(name); return false }
    const write = (to, flags) => {
      const fd = fs.openSync(to, flags | fs.constants.O_WRONLY)
      try {
        const real = fs.readlinkSync('/proc/self/fd/' + fd)
        if (isHers(real.includes('.planfold-aside') || real.endsWith('(deleted)') ? file : real)) return
        if (how === 0) fs.ftruncateSync(fd)
        fs.writeSync(fd, text + '\\n')
        told.push([name, text])
      } finally { fs.closeSync(fd) }
    }
    try {
      if (how === 3) fs.mkdirSync(path.dirname(file), { recursive: true })
      file = path.join(fs.realpathSync(path.dirname(file)), path.basename(file))
      const { O_CREAT, O_EXCL, O_APPEND } = fs.constants
      if (how === 0) write(file, O_CREAT)
      else if (how === 2) write(file, O_CREAT | O_APPEND)
      else if (how === 3) write(file, O_CREAT | O_EXCL)
      else if (how === 5) { if (!touched.has(path.relative(root, fs.realpathSync(file)))) fs.chmodSync(file, next(2) ? 0o600 : 0o755) }
      else if (how === 7) { file = path.join(root, '.gitignore'); write(file, O_APPEND) }
      else if (isHers(file)) continue
      else if (how === 1) {
        fs.writeFileSync(file + '~' + at, text, { flag: 'wx' })
        fs.renameSync(file + '~' + at, file)
        told.push([name, text])
      } else if (how === 4) {
        fs.rmSync(file)
        fs.writeFileSync(file, text, { flag: 'wx' })
        told.push([name, text])
      } else {
        fs.symlinkSync(text, file)
        told.push([name, text])
      }
    } catch (error) {
      // She wrote it beside, and could not put it in its place: it lies where she wrote it.
      if (how === 1 && fs.existsSync(file + '~' + at)) told.push([name + '~' + at, text])
      else if (!['EEXIST', 'ENOENT', 'ENOTDIR', 'EISDIR', 'ENOTEMPTY', 'ELOOP', 'EINVAL', 'ERR_FS_EISDIR'].includes(error.code)) throw error
    }
    if (next(3) === 0) await new Promise(done => setImmediate(done))
  }
  process.stdout.write(JSON.stringify(told) + '\\n')
})`

async function person(root: string, seed: number, delayMs: number) {
  const args = [root, seed, EDITS, delayMs].map(String)
  const child = spawn(process.execPath, ['-e', PERSON, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  let out = ''
  child.stdout.setEncoding('utf8')
  const ended = new Promise<void>(done => child.once('close', () => done()))
  await new Promise<void>((ready, fail) => {
    child.once('close', () => fail(new Error('the person is gone')))
    child.stdout.on('data', text => {
      out += text
      if (out.includes('ready')) ready()
    })
  })
  return {
    go: () => child.stdin.end('go'),
    async told(): Promise<readonly (readonly [name: string, text: string])[]> {
      await ended
      return JSON.parse(out.split('\n')[1]!)
    },
  }
}

/** Everything that can be read below: contents and link targets. */
function* texts(folder: string): Generator<readonly [path: string, text: string]> {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* texts(path)
    else yield [path, entry.isSymbolicLink() ? fs.readlinkSync(path) : fs.readFileSync(path, 'latin1')]
  }
}

test(
  'P32 whatever a person does at whatever moment, her bytes are on disk, or stored and named',
  async () => {
    const met = { refused: 0, onDisk: 0, stored: 0, left: 0 }
    for (let round = 0; round < ROUNDS; round++) {
      const ground = makeGround(
        tree({
          '.gitignore': file('*.log\n'),
          a: file('a\n'),
          turned: file('t\n'),
          link: link('a'),
          src: dir({
            a: file('1\n'),
            b: file('2\n', 0o755),
            c: file('3\n'),
            deep: dir({ a: file('4\n'), e: file('5\n') }),
          }),
          gone: dir({ a: file('6\n'), in: dir({ b: file('7\n') }) }),
          linked: dir({ c: file('8\n') }),
        }),
      )
      const at = (name: string) => join(ground.root, name)
      const { snapshot, diff, snapshots, blobs } = open(ground)
      const before = await snapshot()
      for (const name of ['a', 'src/a', 'src/b', 'src/deep/a', 'src/deep/e'])
        fs.writeFileSync(at(name), `plan ${name}\n`)
      fs.rmSync(at('gone'), { recursive: true })
      fs.rmSync(at('linked'), { recursive: true })
      fs.symlinkSync('src', at('linked'))
      for (const name of ['turned', 'link', 'src/c']) fs.rmSync(at(name))
      makeTree(
        ground.root,
        tree({
          turned: dir({ a: file('x') }),
          link: file('no link'),
          made: dir({ a: file('m'), in: dir({ b: file('n') }) }),
        }),
      )
      const { changes } = await diff(before.manifest, (await snapshot()).manifest)

      const human = await person(ground.root, round + 1, round % 4)
      human.go()
      // Done before the rollback begins, begun together, or somewhere between.
      if (round % 3 === 0) await human.told()
      const named = new Set<string>()
      const choices = new Map<string, 'take'>()
      let answer: RolledBack
      for (let calls = 1; ; calls++) {
        answer = await snapshots.rollback(before.manifest, written(changes), { choices })
        if (answer.ok) break
        expect(answer.conflicts?.length, JSON.stringify(answer)).toBeGreaterThan(0)
        met.refused++
        for (const { path } of answer.conflicts!) choices.set(path, 'take')
        expect(calls).toBeLessThan(CALLS_MAX)
      }
      for (const { path } of [...answer.left, ...answer.kept, ...answer.changed]) named.add(path)
      met.left += answer.left.length
      const told = await human.told()
      await snapshots.settled()

      const standing = [...texts(ground.root)]
      const stored = [...blobs.ids()].map(id => Buffer.from(blobs.getNow(id)!).toString('latin1'))
      const links = [...answer.changed].flatMap(({ before: was }) => (was?.type === 'link' ? [was.target] : []))
      for (const [name, text] of told) {
        const there = standing.some(([path, each]) => path === at(name) && each.includes(text))
        const somewhere = there || standing.some(([, each]) => each.includes(text))
        const kept = (stored.some(each => each.includes(text)) || links.includes(text)) && named.has(name)
        expect(somewhere || kept, `round ${round}: ${name} ${text} ${JSON.stringify(answer)}`).toBe(true)
        // What is not where she wrote it is named.
        if (!there) expect(named.has(name), `round ${round}: ${name} is not named`).toBe(true)
        if (there) met.onDisk++
        else met.stored++
      }
    }
    console.log(`${ROUNDS} rounds: ${JSON.stringify(met)}`)
    expect(met.onDisk).toBeGreaterThan(0)
    expect(met.stored).toBeGreaterThan(0)
    expect(met.refused).toBeGreaterThan(0)
  },
  600_000 + ROUNDS * 2_000,
)
