// A plan of 10,000 tasks, its owner killed half-way: how long from process start to the next task, beside a raw program that
// opens a database of the same size and reads where it stopped.

import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const ROUNDS = 5

export async function resumeBench(): Promise<void> {
  const ours: number[] = []
  const bare: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const folder = mkdtempSync(join(tmpdir(), 'planfold-resume-'))
    try {
      await halfDone(folder)
      ours.push(await untilFirst([resolve(import.meta.dirname, 'resume-process.js'), 'planfold', folder]))
      spawnSync(process.execPath, [resolve(import.meta.dirname, 'resume-process.js'), 'raw-make', folder])
      bare.push(await untilFirst([resolve(import.meta.dirname, 'resume-process.js'), 'raw', folder]))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  const middle = (values: number[]): number =>
    Math.round([...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!)
  console.log(
    `resume in a chain of 10,000, owner killed at 5,000: ${middle(ours)} ms from process start to the next task; raw ${middle(bare)} ms (${(middle(ours) / middle(bare)).toFixed(2)}×)`,
  )
}

/** Drives to task 5,000 in a process that is then killed with SIGKILL. */
function halfDone(folder: string): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, [resolve(import.meta.dirname, 'resume-process.js'), 'half', folder], {
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
