// The simulator from the command line:
//
//   npm run sim -- --seed 0x2a            one seed, with its whole trace when it fails
//   npm run sim -- --seed 0x2a --twice    two runs, which must leave the same trace
//   npm run sim -- --seeds 500            many seeds, from --seed (default 0x1) on
//   --events N     steps of the safety phase        --trace   print every line
//   --mutant NAME  with a bug planted on purpose
//   --spenders     tasks that spend money under budgets

import { parseArgs } from 'node:util'
import { FAULTS, noneFired } from './faults.ts'
import { MUTANTS } from './mutants.ts'
import { failureText, run } from './run.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '0x1' },
    seeds: { type: 'string', default: '1' },
    events: { type: 'string' },
    twice: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    mutant: { type: 'string' },
    spenders: { type: 'boolean', default: false },
  },
})

const mutant = values.mutant === undefined ? null : MUTANTS.find(({ name }) => name.includes(values.mutant!))
if (mutant === undefined) {
  console.error(`no mutant is called '${values.mutant}'; there are: ${MUTANTS.map(({ name }) => name).join(', ')}`)
  process.exit(2)
}
const events = values.events === undefined ? {} : { events: Number(values.events) }
const spenders = values.spenders ? ({ spenders: 'honest' } as const) : {}
const first = BigInt(values.seed)
const count = Number(values.seeds)
const fired = noneFired()
const began = process.hrtime.bigint()
let [steps, commits, completed, vacuous, failures] = [0, 0, 0, 0, 0]
const ends: Record<string, number> = {}
for (let at = 0; at < count; at++) {
  const seed = `0x${(first + BigInt(at)).toString(16)}`
  const verdict = await run({ seed, mutant, keepAll: values.trace, ...events, ...spenders })
  if (values.trace) for (const line of verdict.trace) console.log(line)
  if (verdict.violation !== null) {
    failures++
    console.log(failureText(values.trace ? { ...verdict, trace: [] } : verdict))
  } else if (count === 1)
    console.log(
      `seed ${seed}: ${verdict.status}, ${verdict.steps} steps, ${verdict.entries} entries, trace ${verdict.hash}`,
    )
  if (values.twice) {
    const again = await run({ seed, mutant, ...events, ...spenders })
    if (again.hash !== verdict.hash) {
      failures++
      console.log(
        `seed ${seed} does not repeat: trace ${verdict.hash}, then ${again.hash}\n  again with: npm run sim -- --seed ${seed} --twice`,
      )
    }
  }
  for (const fault of FAULTS) fired[fault] += verdict.fired[fault]
  steps += verdict.steps
  commits += verdict.commits
  completed += verdict.completed
  vacuous += Number(verdict.completed === 0)
  ends[verdict.status] = (ends[verdict.status] ?? 0) + 1
}
if (count > 1) {
  const seconds = Number(process.hrtime.bigint() - began) / 1e9
  console.log(
    `${count} seeds in ${seconds.toFixed(1)} s: ${failures} failed, ${steps} steps, ${commits} commits, ${completed} tasks completed, ${vacuous} seeds without any`,
  )
  console.log(
    `plans ended: ${Object.entries(ends)
      .map(([status, times]) => `${status} ${times}`)
      .join(', ')}`,
  )
  console.log(`faults: ${FAULTS.map(fault => `${fault} ${fired[fault]}`).join(', ')}`)
}
process.exitCode = failures > 0 ? 1 : 0
