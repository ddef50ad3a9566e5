// A plan of 10,000 tasks, its owner killed half-way: how long from process start to the next task, beside a raw program that
// opens a database of the same size and reads where it stopped.

import { spawn, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const ROUNDS = 15
const PROGRAM = resolve(import.meta.dirname, 'resume-process.js')

/** By turns, from copies of the same half-done plan; the median over the pairs of neighbours counts. */
export async function resumeBench(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'planfold-resume-'))
  const ours: number[] = []
  const bare: number[] = []
  try {
    const half = join(folder, 'half')
    mkdirSync(half)
    await halfDone(half)
    spawnSync(process.execPath, [PROGRAM, 'raw-make', folder])
    for (let round = 0; round < ROUNDS; round++) {
      const copy = join(folder, `round-${round}`)
      cpSync(half, copy, { recursive: true })
      ours.push(await untilFirst([PROGRAM, 'planfold', copy]))
      bare.push(await untilFirst([PROGRAM, 'raw', folder]))
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const middle = (values: readonly number[]): number =>
    [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!
  const ratio = middle(ours.map((took, at) => took / bare[at]!))
  console.log(
    `resume in a chain of 10,000, owner killed at 5,000, ${ROUNDS} pairs: ${Math.round(middle(ours))} ms from process start to the next task; raw ${Math.round(middle(bare))} ms (${ratio.toFixed(2)}×)`,
  )
}

/** Drives to task 5,000 in a process that is then killed with SIGKILL. */
function halfDone(folder: string): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [PROGRAM, 'half', folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    child.stdout.on('data', chunk => {
      if (String(chunk).includes('half')) child.kill('SIGKILL')
    })
    child.on('exit', (_, signal) =>
      signal === 'SIGKILL' ? done() : fail(new Error('the owner ended before it was killed')),
    )
  })
}

function untilFirst(args: readonly string[]): Promise<number> {
  return new Promise(done => {
    const began = performance.now()
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    child.stdout.once('data', () => {
      done(performance.now() - began)
      child.kill('SIGKILL')
    })
  })
}
