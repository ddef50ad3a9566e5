// People go on working while a snapshot or a rollback is under way. Whatever they write is on disk afterwards, or in the
// content store and named in the result; and nothing torn is ever stored as good.

import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { makeGround, must, open, written } from '../snapshots/snapshots.fixture.ts'

const ROUNDS = Number(process.env.PLANFOLD_EDITS ?? 15)
const FILES = 40

/** Another process that edits, creates, deletes and renames over these files, and says on its way what it wrote where. */
const EDITOR = `
const fs = require('node:fs'), path = require('node:path')
const [root, seed, count] = [process.argv[1], Number(process.argv[2]), Number(process.argv[3])]
let state = seed >>> 0
const next = n => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) >>> 8) % n
const told = []
process.stdout.write('ready\\n')
process.stdin.once('data', () => {
  for (let at = 0; at < count; at++) {
    const name = 'f' + next(${FILES}), file = path.join(root, name), text = 'human ' + seed + ' ' + at + '\\n'
    try {
      const how = next(4)
      if (how === 0) fs.writeFileSync(file, text)
      else if (how === 1) { fs.writeFileSync(file + '~', text); fs.renameSync(file + '~', file) }
      else if (how === 2) fs.appendFileSync(file, text)
      else {
        fs.rmSync(file, { force: true })
        // What stood there she has deleted herself, also when the rollback takes the name before she does.
        told.push([name, null, how])
        fs.writeFileSync(file, text, { flag: 'wx' })
      }
      told.push([name, text, how])
    } catch (error) { if (!['EEXIST', 'ENOENT'].includes(error.code)) throw error }
  }
  process.stdout.write(JSON.stringify(told) + '\\n')
})`

async function editor(root: string, seed: number, count: number) {
  const child = spawn(process.execPath, ['-e', EDITOR, root, String(seed), String(count)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let out = ''
  child.stdout.setEncoding('utf8')
  const ended = new Promise<void>(done => child.once('close', () => done()))
  await new Promise<void>(ready => {
    child.stdout.on('data', text => {
      out += text
      if (out.includes('ready')) ready()
    })
  })
  return {
    go: () => child.stdin.end('go'),
    async told(): Promise<readonly (readonly [name: string, text: string | null, how: number])[]> {
      await ended
      return JSON.parse(out.split('\n')[1]!)
    },
  }
}

test(
  'P32 what a person writes during a rollback is on disk, or stored and named',
  async () => {
    let met = 0
    for (let round = 0; round < ROUNDS; round++) {
      const ground = makeGround()
      const at = (name: string) => join(ground.root, name)
      for (let file = 0; file < FILES; file++) fs.writeFileSync(at(`f${file}`), `before ${file}\n`)
      const { snapshot, diff, snapshots, blobs } = open(ground)
      const before = await snapshot()
      for (let file = 0; file < FILES; file++) {
        if (file % 5 === 0) fs.rmSync(at(`f${file}`))
        else fs.writeFileSync(at(`f${file}`), `plan ${file}\n`)
      }
      const { changes } = await diff(before.manifest, (await snapshot()).manifest)
      const person = await editor(ground.root, round + 1, 60)
      const choices = changes.map(({ path }) => [path, 'take'] as const)
      person.go()
      // The first time she is done before it begins, so that there is something to store; then it begins a little earlier or later.
      if (round === 0) await person.told()
      for (let wait = round % 7; wait > 0; wait--) await new Promise(resolve => setImmediate(resolve))
      const back = must(await snapshots.rollback(before.manifest, written(changes), { choices }))
      const told = await person.told()

      // The last whole content of every file counts, and everything appended behind it.
      const named = new Set([...back.left, ...back.kept, ...back.changed].map(({ path }) => path))
      const stored = [...blobs.ids()].map(id => Buffer.from(blobs.getNow(id)!).toString('latin1'))
      const standing = (name: string) => (fs.existsSync(at(name)) ? fs.readFileSync(at(name), 'latin1') : '')
      const last = new Map<string, string[]>()
      for (const [name, text, how] of told) {
        const before = how === 2 ? (last.get(name) ?? []) : []
        last.set(name, text === null ? [] : [...before, text])
      }
      for (const [name, texts] of last) {
        for (const text of texts) {
          const onDisk = standing(name).includes(text)
          if (!onDisk) met++
          if (!onDisk)
            expect(stored.some(each => each.includes(text)) && named.has(name), `round ${round}: ${name} ${text}`).toBe(
              true,
            )
        }
      }
      for (const { path, after } of back.changed) {
        if (last.has(path)) continue
        const found = fs.existsSync(at(path))
          ? createHash('sha256')
              .update(fs.readFileSync(at(path)))
              .digest('hex')
          : null
        expect(found).toBe(after?.type === 'file' ? after.sha256 : null)
      }
      expect(fs.readdirSync(ground.root).filter(name => name.startsWith('.planfold'))).toEqual([])
    }
    expect(met).toBeGreaterThan(0)
  },
  600_000 + ROUNDS * 2_000,
)

for (const [how, closes] of [
  ['is closed a moment later', true],
  ['stays open', false],
] as const) {
  test(`P32 a file that a person's program opened before the rollback, and writes to afterwards, is kept; it ${how}`, async () => {
    const ground = makeGround()
    const path = join(ground.root, 'notes')
    fs.writeFileSync(path, 'before')
    const { snapshot, diff, snapshots, blobs } = open(ground)
    const before = await snapshot()
    fs.writeFileSync(path, 'plan')
    const { changes } = await diff(before.manifest, (await snapshot()).manifest)
    const program = fs.openSync(path, 'a')
    const writes = () => {
      fs.writeSync(program, ' and mine')
      fs.closeSync(program)
    }
    // Its moment: the rollback has put the new file into its place, and looks who still has the old one open.
    const isReplaced = () => fs.existsSync(path) && fs.readFileSync(path, 'utf8') === 'before'
    const closing = setInterval(() => {
      if (!closes || !isReplaced()) return
      clearInterval(closing)
      writes()
    }, 1)
    const back = must(await snapshots.rollback(before.manifest, written(changes)))
    clearInterval(closing)
    if (!closes) writes()

    expect(fs.readFileSync(path, 'utf8')).toBe('before')
    if (closes) {
      expect(back.kept.map(({ path, sha256 }) => [path, Buffer.from(blobs.getNow(sha256)!).toString()])).toEqual([
        ['notes', 'plan and mine'],
      ])
      expect(fs.readdirSync(ground.root)).not.toContain('.planfold-aside')
    } else {
      const reason = /^a program still writes to the previous file, which is now in (?<lies>.*)$/.exec(
        back.left[0]!.reason,
      )
      expect(fs.readFileSync(join(ground.root, reason!.groups!.lies!), 'utf8')).toBe('plan and mine')
    }
  })
}

test('P36 a file that changes while it is captured is stored whole, or named as unstable', async () => {
  const ground = makeGround()
  const path = join(ground.root, 'flip')
  const patterns = ['A', 'B'].map(letter => Buffer.alloc(1024 * 1024, letter))
  fs.writeFileSync(path, patterns[0]!)
  // Says 's' for each 20 ms that a single write took, less than the pause: nobody can tell a writer that stands still from one that is done.
  const writer = spawn(process.execPath, [
    '-e',
    `const fs = require('node:fs'), file = fs.openSync(process.argv[1], 'r+')
    const patterns = ['A', 'B'].map(letter => Buffer.alloc(1024 * 1024, letter))
    process.stdout.write('ready')
    let isOver = false
    process.stdin.once('data', () => { isOver = true })
    const write = at => {
      const began = performance.now()
      fs.writeSync(file, patterns[at % 2], 0, patterns[0].length, 0)
      fs.writeSync(1, 's'.repeat((performance.now() - began) / 20))
      if (isOver) process.exit()
      setImmediate(write, at + 1)
    }
    write(0)`,
    path,
  ])
  let [torn, stalls] = [0, 0]
  try {
    await new Promise(ready => writer.stdout.once('data', ready))
    writer.stdout.on('data', (said: Buffer) => {
      stalls += said.length
    })
    const whole = new Set(patterns.map(each => createHash('sha256').update(each).digest('hex')))
    for (let round = 0; round < 30; round++) {
      const { snapshot, snapshots } = open(ground, { pauseMs: 25 })
      const { manifest, left } = await snapshot()
      const { entries } = must(await snapshots.entries(manifest, ['flip']))
      const entry = entries[0]!.entry
      if (entry === null) expect(left).toEqual([{ path: 'flip', reason: 'unstable: it changes while it is read' }])
      else if (!(entry.type === 'file' && whole.has(entry.sha256))) torn++
    }
    // It ends after a whole write, and has then told of all that stood still.
    const ended = new Promise(resolve => writer.once('close', resolve))
    writer.stdin.write('over')
    await ended
    expect(torn).toBeLessThanOrEqual(stalls)
  } finally {
    writer.kill('SIGKILL')
  }
})
