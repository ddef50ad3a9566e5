// `npm run soak`: what takes hours and is too long for the tests. Parts run one after the other; each says in one line what
// it did and how long that took, or how to see its failure again. Ends with 1 when anything failed.
//
//   npm run soak                                   everything
//   npm run soak -- --only trees --only kills      these parts
//   npm run soak -- --scale 0.01                   a hundredth of it; below 1 kills are a sample
//   npm run soak -- --seed 7                       the same trees, seeds and documents again; else new ones each time

import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { type Command, NAMES, type Part, partsOf, written } from './parts.ts'

const TAIL_CHARACTERS = 20_000
const root = resolve(import.meta.dirname, '../..')

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [...NAMES] },
    scale: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Math.floor(Date.now() / 1_000) % 1_000_000_000) },
  },
})
const [scale, seed] = [Number(values.scale), Number(values.seed)]
const unknown = values.only.filter(name => !NAMES.some(each => each === name))
if (unknown.length > 0 || !(scale > 0) || !Number.isSafeInteger(seed) || seed < 0) {
  console.error(`Parts are ${NAMES.join(', ')}; --scale is a number above 0, --seed a whole number.`)
  process.exit(2)
}

console.log(`soak: scale ${scale}, seed ${seed}`)
for (const part of partsOf(root, scale, seed)) {
  if (values.only.includes(part.name) && !(await soak(part))) process.exitCode = 1
}

/** All commands run, also when one has failed: a night is long. */
async function soak(part: Part): Promise<boolean> {
  const began = performance.now()
  const failed: Command[] = []
  for (const command of part.commands) {
    const { code, tail } = await run(command)
    if (code === 0) continue
    failed.push(command)
    console.log(`${tail}\n${part.name}: failed; again: ${written(command)}`)
  }
  const took = duration(performance.now() - began)
  const ended = failed.length === 0 ? part.does : `${failed.length} of ${part.commands.length} commands FAILED`
  console.log(`${part.name}: ${ended}, ${took}`)
  return failed.length === 0
}

function run({ env, argv: [program, ...args] }: Command): Promise<{ readonly code: number; readonly tail: string }> {
  return new Promise(done => {
    const child = spawn(program, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let tail = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8')
      stream.on('data', (text: string) => {
        tail = (tail + text).slice(-TAIL_CHARACTERS)
      })
    }
    child.once('error', error => done({ code: 127, tail: `${tail}\n${error.message}` }))
    child.once('close', code => done({ code: code ?? 1, tail }))
  })
}

function duration(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}
