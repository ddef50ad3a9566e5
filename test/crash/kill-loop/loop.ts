// The kill loop: episodes with seeds of their own, a few at a time, until so many owners have been killed. Says every
// violation with the one command that plays its episode again, and keeps the folder of that episode.

import { rmSync } from 'node:fs'
import type { Short } from './cli.ts'
import { playEpisode } from './episode.ts'
import { readJournal } from './journal.ts'
import { judge, type Violation } from './oracle.ts'
import type { Part, TaskClass } from './scenario.ts'

export interface LoopOptions {
  readonly until: { readonly kills: number } | { readonly episodes: number }
  /** The first episode has this seed, each further one the next number. */
  readonly seed: number
  readonly width: number
  readonly without: ReadonlySet<Part>
  /** No episode begins after so long. */
  readonly limitMs: number
  readonly say: (line: string) => void
  /** Each episode has at most so many kills. */
  readonly killsPerEpisode?: number
  readonly short?: Short
}

export interface LoopReport {
  readonly kills: number
  readonly episodes: number
  readonly edits: number
  readonly lateEdits: number
  readonly classes: ReadonlySet<TaskClass>
  /** How attempts ran, as the journals say: held, as the person. */
  readonly modes: ReadonlySet<string>
  readonly hosts: ReadonlySet<string>
  readonly violations: readonly (Violation & { readonly seed: number })[]
  readonly durationMs: number
}

export async function runKillLoop(options: LoopOptions): Promise<LoopReport> {
  const { until, seed, width, without, limitMs, say, killsPerEpisode = KILLS_PER_EPISODE_MAX, short } = options
  const kills = 'kills' in until ? until.kills : until.episodes * killsPerEpisode
  const began = performance.now()
  const violations: (Violation & { seed: number })[] = []
  const [classes, hosts, modes] = [new Set<TaskClass>(), new Set<string>(), new Set<string>()]
  const report = { kills: 0, episodes: 0, edits: 0, lateEdits: 0 }
  let [next, reserved] = [seed, 0]
  const playNext = async (): Promise<void> => {
    while (reserved < kills && performance.now() - began < limitMs) {
      const own = next++
      const share = Math.min(killsPerEpisode, kills - reserved)
      reserved += share
      const episode = await playEpisode(own, share, without, short)
      // What an episode did not use is left for another one; a number of episodes is a number of episodes.
      if ('kills' in until) reserved += episode.kills - share
      const found = await judge(episode)
      const versions = [...episode.person.left.values(), ...episode.person.missed]
      report.kills += episode.kills
      report.episodes++
      report.edits += versions.length
      report.lateEdits += versions.filter(({ late }) => late).length
      hosts.add(episode.scenario.host)
      for (const task of episode.scenario.plans.flatMap(({ tasks }) => tasks)) classes.add(task.class)
      for (const { runs } of readJournal(episode.workspace).flatMap(({ events }) => events))
        if (typeof runs === 'string') modes.add(runs)
      for (const violation of found) violations.push({ ...violation, seed: own })
      if (found.length === 0) rmSync(episode.base, { recursive: true, force: true })
      else say(told(own, episode.base, without, found))
    }
  }
  await Promise.all(Array.from({ length: width }, playNext))
  return { ...report, classes, hosts, modes, violations, durationMs: performance.now() - began }
}

const KILLS_PER_EPISODE_MAX = 12

function told(seed: number, base: string, without: ReadonlySet<Part>, found: readonly Violation[]): string {
  const options = [...without].map(part => ` --without ${part}`).join('')
  return [
    `seed ${seed} violates:`,
    ...found.map(({ rule, what }) => `  ${rule}: ${what}`),
    `  kept: ${base}`,
    `  again: npm run kill-loop -- --seed ${seed} --episodes 1${options}`,
  ].join('\n')
}
