// `npm run kill-loop`: real kills of real processes at random moments, judged from outside. Needs a build.
//
//   npm run kill-loop -- --kills 3000 --seed 1       so many kills; episodes get the seeds 1, 2, 3 …
//   npm run kill-loop -- --seed 17 --episodes 1      one episode again. Its plans, edits and moments come from the seed; where
//                                                    exactly a kill falls is up to the machine, so repeat it: --repeat 10
//   --width 4      episodes at once         --minutes 45   begin no further episode after so long
//   --without person,serve                  leave out parts: person, shared, unscoped, rollback, external, gates, serve

import { parseArgs } from 'node:util'
import { type LoopReport, runKillLoop } from './loop.ts'
import { PARTS, type Part } from './scenario.ts'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '300' },
    episodes: { type: 'string' },
    repeat: { type: 'string', default: '1' },
    seed: { type: 'string', default: String(Math.floor(Date.now() / 1_000) % 1_000_000) },
    width: { type: 'string', default: '4' },
    minutes: { type: 'string', default: '60' },
    without: { type: 'string', multiple: true, default: [] },
  },
})
const without = values.without.flatMap(list => list.split(',')).map(partOf)
const [seed, width, minutes] = [
  whole('seed', values.seed),
  whole('width', values.width),
  whole('minutes', values.minutes),
]
const base = {
  seed,
  width,
  without: new Set(without),
  limitMs: minutes * 60_000,
  say: (line: string) => console.log(line),
}
let hasFailed = false
const until =
  values.episodes === undefined
    ? { kills: whole('kills', values.kills) }
    : { episodes: whole('episodes', values.episodes) }
for (let time = 0; time < whole('repeat', values.repeat); time++) tell(await runKillLoop({ ...base, until }))
process.exitCode = hasFailed ? 1 : 0

function tell(report: LoopReport): void {
  hasFailed ||= report.violations.length > 0
  const rules = new Map<string, number[]>()
  for (const { rule, seed: own } of report.violations) rules.set(rule, [...(rules.get(rule) ?? []), own])
  for (const [rule, seeds] of rules) console.log(`${rule}: ${seeds.length} (seeds ${[...new Set(seeds)].join(', ')})`)
  const { kills, episodes, edits, lateEdits, durationMs } = report
  const modes = [...report.modes].sort().join(' and ')
  console.log(
    `${kills} kills in ${episodes} episodes with commands that ran ${modes}, ${edits} edits by a person (${lateEdits} late), ${report.violations.length} violations, ${Math.round(durationMs / 1_000)} s`,
  )
}

function whole(name: string, text: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= 0) return number
  console.error(`--${name} is a whole number, not '${text}'`)
  process.exit(2)
}

function partOf(word: string): Part {
  const part = PARTS.find(each => each === word)
  if (part !== undefined) return part
  console.error(`--without takes ${PARTS.join(', ')}, not '${word}'`)
  process.exit(2)
}
