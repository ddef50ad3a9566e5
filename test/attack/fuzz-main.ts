// `npm run fuzz -- [--inputs 200000] [--seed 1]`: the long run. Ends with 1 when anything was found, and says how to see it again.
// Needs the extras: dialects

import { parseArgs } from 'node:util'
import { fuzz } from './fuzz.ts'

const { values } = parseArgs({ options: { inputs: { type: 'string' }, seed: { type: 'string' } } })
const seed = Number(values.seed ?? 1)
const inputs = Number(values.inputs ?? 200_000)
const began = performance.now()
const found = fuzz({ seed, inputs, limitMs: 3_000, now: () => performance.now() })
const seconds = ((performance.now() - began) / 1_000).toFixed(0)
console.log(
  `${found.inputs} inputs in ${seconds} s, seed ${seed}: ${found.accepted} accepted, ${found.refused} refused, slowest ${Math.round(found.slowestMs)} ms`,
)
for (const [dialect, count] of [...found.dialects].sort((a, b) => b[1] - a[1]))
  console.log(`  ${dialect}: ${count} accepted`)
for (const { at, what, text } of found.faults)
  console.log(
    `\ninput ${at}: ${what}\n${JSON.stringify(text.slice(0, 2_000))}\nagain: npm run fuzz -- --seed ${seed} --inputs ${at + 1}`,
  )
process.exitCode = found.faults.length > 0 ? 1 : 0
