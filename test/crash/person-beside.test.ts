// A person works beside the tasks, in the mode that a user gets by default. Each round has a seed of its own:
//
//   PLANFOLD_ROUNDS=500 PLANFOLD_SEED=1 npx vitest run --project crash test/crash/person-beside.test.ts

import { expect, test } from 'vitest'
import { bubblewrap } from '../../src/safety/sandbox/bubblewrap.ts'
import { personBeside, type Round } from './person-beside.ts'

const ROUNDS = Number(process.env.PLANFOLD_ROUNDS ?? 6)
const SEED = Number(process.env.PLANFOLD_SEED ?? 1)
/** After so long no further round begins. */
const MINUTES = Number(process.env.PLANFOLD_MINUTES ?? 60)
const AT_ONCE = Number(process.env.PLANFOLD_AT_ONCE ?? 3)

const standing = await bubblewrap({ environment: { PATH: process.env.PATH }, outside: [] }).check()
if (!standing.ok) console.log(`skipped: ${standing.failure.message}`)

test.skipIf(!standing.ok)(
  `${ROUNDS} rounds of a person beside tasks that run, fail, are killed and rolled back lose nothing`,
  { timeout: 120_000 + ROUNDS * 60_000 },
  async () => {
    const rounds: Round[] = []
    let next = SEED
    const until = performance.now() + MINUTES * 60_000
    const play = async (): Promise<void> => {
      while (next < SEED + ROUNDS && performance.now() < until) {
        const round = await personBeside(next++)
        rounds.push(round)
        if (round.lost.length > 0)
          console.log(`seed ${round.seed} lost ${round.lost.join('; ')}\n${round.story.join('\n')}`)
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, play))
    const sum = (count: (round: Round) => number): number => rounds.reduce((all, round) => all + count(round), 0)
    console.log(
      `${rounds.length} rounds from seed ${SEED}: ${sum(each => each.versions)} versions, ${sum(each => each.stored)} of them only in the store, ${sum(each => each.kills)} kills, ${sum(each => each.rollbacks)} rollbacks`,
    )
    const violations = rounds.filter(({ lost }) => lost.length > 0)
    expect(violations.map(({ seed, lost }) => ({ seed, lost }))).toEqual([])
    expect(rounds.length).toBeGreaterThan(0)
  },
)
