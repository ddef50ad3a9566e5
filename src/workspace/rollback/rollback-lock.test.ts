// Two processes that want to roll back in one workspace at the same time: real ones, because that is what it is about.

import { type ChildProcess, spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { notesOf, placeName } from '../files/path-text.ts'
import { makeGround, must, open, shellHash, written } from '../snapshots/snapshots.fixture.ts'
import { file, tree } from '../tree.fixture.ts'
import type { Workspace } from '../workspace.ts'
import { writeIntent } from './rollback-intent.ts'
import { captureBetweenRollbacks, holdRollbacks } from './rollback-lock.ts'

const HOLD = resolve(import.meta.dirname, 'rollback-lock.ts')

function child(code: string, ...args: readonly string[]): ChildProcess {
  const script = `import { holdRollbacks } from ${JSON.stringify(HOLD)}; import * as fs from 'node:fs'; const args = process.argv.slice(1)\n${code}`
  const started = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script, ...args], {
    cwd: resolve(import.meta.dirname, '../../..'),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void started.kill('SIGKILL'))
  return started
}

async function said(from: ChildProcess): Promise<string> {
  let out = ''
  for await (const text of from.stdout!) out += text
  return out
}

test('while another process rolls back, a rollback is refused and says whose turn it is; its death ends that', async () => {
  const ground = makeGround(tree({ a: file('1') }))
  const { snapshot, diff, snapshots } = open(ground)
  const { manifest } = await snapshot()
  const before = shellHash(ground.root)
  fs.writeFileSync(join(ground.root, 'a'), '2')
  const { changes } = await diff(manifest, 'now')
  const stands = shellHash(ground.root)

  const other = child(
    `await holdRollbacks({ root: args[0], stateDir: args[1] }); console.log('held'); setInterval(() => {}, 1000)`,
    ground.root,
    ground.stateDir,
  )
  await new Promise(held => other.stdout!.once('data', held))
  const refused = await snapshots.rollback(manifest, written(changes))
  expect(refused).toMatchObject({
    ok: false,
    failure: { class: 'transient', message: `process ${other.pid} is rolling back here`, retryable: true },
  })
  expect(shellHash(ground.root)).toBe(stands)
  // To look, to compare and to take a snapshot stays possible: nothing is half done.
  expect(must(await snapshots.preview(manifest, written(changes))).paths).toHaveLength(1)
  await snapshot()

  const gone = new Promise(exit => other.once('close', exit))
  other.kill('SIGKILL')
  await gone
  expect(must(await snapshots.rollback(manifest, written(changes))).left).toEqual([])
  expect(shellHash(ground.root)).toBe(before)
  expect(fs.readdirSync(join(ground.stateDir, placeName('rolling-back', ground)))).toEqual([])
})

test('a snapshot waits while another process finishes a rollback, and is taken then', async () => {
  const ground = makeGround(tree({ a: file('1') }))
  const { snapshot, snapshots, blobs } = open(ground)
  const { manifest } = await snapshot()
  writeIntent(notesOf(blobs, ground), {
    rollback: 1,
    aside: '.planfold-aside-1',
    about: null,
    target: manifest,
    saved: manifest,
    steps: [],
    modes: [],
    left: [],
    merged: [],
  })
  const other = child(
    `const hold = await holdRollbacks({ root: args[0], stateDir: args[1] }); console.log('held'); process.stdin.once('data', () => { hold.release(); process.exit() })`,
    ground.root,
    ground.stateDir,
  )
  await new Promise(held => other.stdout!.once('data', held))
  let isTaken = false
  const taking = snapshots.snapshot().then(taken => {
    isTaken = true
    return taken
  })
  // Longer than whoever only looks for others would wait.
  await setTimeout(500)
  expect(isTaken).toBe(false)
  other.stdin!.write('go\n')
  expect(must(await taking).files).toBe(1)
})

test('of two in one process one is refused, and the hold is free again after a failure', async () => {
  const ground = makeGround(tree({ a: file('1') }))
  const [one, two] = [open(ground), open(ground)]
  const { manifest } = await one.snapshot()
  fs.writeFileSync(join(ground.root, 'a'), '2')
  const { changes } = await one.diff(manifest, 'now')
  const answers = await Promise.all([one, two].map(({ snapshots }) => snapshots.rollback(manifest, written(changes))))
  const refused = answers.filter(answer => !answer.ok)
  for (const answer of refused)
    expect(answer).toMatchObject({ failure: { message: `process ${process.pid} is rolling back here` } })
  expect(answers.filter(answer => answer.ok && answer.changed.length === 1)).toHaveLength(1)
  expect(await one.snapshots.rollback('0'.repeat(64) as never, [])).toMatchObject({
    ok: false,
    failure: { class: 'logic' },
  })
  ;(await holdRollbacks(ground)).release()
})

test('many processes at once: never two inside, and all get their turn', async () => {
  const ground = makeGround()
  const inside = join(ground.base, 'inside')
  const rounds = 60
  const code = `
    let [held, refused] = [0, 0]
    console.log('ready')
    await new Promise(go => process.stdin.once('data', go))
    while (held < ${rounds}) {
      const hold = await holdRollbacks({ root: args[0], stateDir: args[1] }).catch(error => (error.name === 'Refused' ? null : Promise.reject(error)))
      if (hold === null) { refused++; await new Promise(done => setTimeout(done, Math.random() * 4)); continue }
      fs.closeSync(fs.openSync(args[2], 'wx'))
      if (held % 3 === 0) await new Promise(done => setTimeout(done, 2))
      fs.unlinkSync(args[2])
      hold.release()
      held++
    }
    console.log(JSON.stringify({ held, refused }))
    process.stdin.destroy()`
  const children = [1, 2, 3].map(() => child(code, ground.root, ground.stateDir, inside))
  // All of them begin at the same moment.
  await Promise.all(children.map(each => new Promise(ready => each.stdout!.once('data', ready))))
  for (const each of children) each.stdin!.write('go')
  const ended = await Promise.all(children.map(async each => JSON.parse(await said(each))))
  expect(ended.map(({ held }) => held)).toEqual([rounds, rounds, rounds])
  expect(ended.reduce((sum, { refused }) => sum + refused, 0)).toBeGreaterThan(0)
  expect(fs.existsSync(inside)).toBe(false)
})

test('a scope is captured when no rollback is under way, and again when one was meanwhile', async () => {
  const ground = makeGround(tree({ a: file('half') }))
  const { root } = ground
  const place = { root, stateDir: join(root, '.planfold') }
  const seen: string[] = []
  let during: (() => Promise<void>) | null = null
  const plain = {
    capture: async () => {
      seen.push(fs.readFileSync(join(root, 'a'), 'utf8'))
      await during?.()
      return { ok: true, manifest: '', files: 1, bytes: 1, left: [] }
    },
  } as unknown as Workspace
  const workspace = captureBetweenRollbacks(place, plain)
  const hold = await holdRollbacks(place)
  const captured = workspace.capture(['**'])
  await setTimeout(20)
  expect(seen).toEqual([])
  fs.writeFileSync(join(root, 'a'), 'whole')
  hold.release()
  await captured
  expect(seen).toEqual(['whole'])

  during = async () => {
    during = null
    const second = await holdRollbacks(place)
    fs.writeFileSync(join(root, 'a'), 'back')
    second.release()
  }
  await workspace.capture(['**'])
  expect(seen).toEqual(['whole', 'whole', 'back'])
})
