// Verifies a journal by deciding every entry again: the same state, command and time must lead to the same events. Turns of owners are also
// re-enacted: the real loop, given the recorded results, must ask for the same turns. Reads only. Stops at the first fault.

import { createHash } from 'node:crypto'
import type { Command, CommandType, Turn } from '../../domain/command.ts'
import { decide } from '../../domain/decide.ts'
import type { Event } from '../../domain/event.ts'
import { EVENTS } from '../../domain/events/event-table.ts'
import type { Millis, PlanId, Sha256 } from '../../domain/id.ts'
import type { Json } from '../../domain/json.ts'
import type { Programs } from '../../domain/result.ts'
import { newState } from '../../domain/state/fold.ts'
import type { PlanState } from '../../domain/state/state.ts'
import { canonicalJson } from '../../format/plan/hash.ts'
import { ChainBroken, type Entry, type Position, type Store } from '../../stores/store.ts'
import type { Difference, Replay, ReplayFault } from '../queries.ts'
import { readPage } from '../records/verify-chain.ts'
import type { Rooms } from '../rooms.ts'
import { firstDifference } from './first-difference.ts'
import { ReplayLoop } from './replay-loop.ts'

/**
 * The first command or event type that this version does not know, or null. Such an entry is reported as unknown, not as a divergence,
 * because its rules are not here. The compiler checks that the lists are complete.
 */
function unknownWord({ command, events }: Entry): string | null {
  if (!isWord(COMMANDS, command)) return `holds the command ${typeOf(command)}, ${NEWER}`
  const event = events.find(one => !isWord(EVENTS, one))
  return event === undefined ? null : `holds the event ${typeOf(event)}, ${NEWER}`
}

/** Why the entry is only decided again; null if a loop can re-enact it. */
function onlyRedecided({
  command,
  fence,
}: {
  readonly command: Command
  readonly fence: number | null
}): string | null {
  if (command.type !== 'turn' && command.type !== 'recover') return 'commands of people and agents'
  if (fence === null) return 'turns written without an owner'
  if (command.type === 'turn' && Object.keys(command).some(word => !Object.hasOwn(TURN_WORDS, word)))
    return 'turns that tell of something this program does not know'
  return null
}

const NEWER = 'which this program does not know; use the planfold that wrote it'

const isWord = (words: object, of: unknown): boolean =>
  typeof of === 'object' && of !== null && 'type' in of && typeof of.type === 'string' && Object.hasOwn(words, of.type)

const typeOf = (of: unknown): string =>
  typeof of === 'object' && of !== null && 'type' in of ? JSON.stringify(of.type) : 'without a type'

/** A new field of a turn must be added here and delivered by `ReplayLoop`. */
const TURN_WORDS: Readonly<Record<keyof Turn, true>> = {
  type: true,
  settled: true,
  prepared: true,
  restored: true,
  compensated: true,
  committed: true,
  rolledBack: true,
  expanded: true,
  gates: true,
  proposed: true,
  notices: true,
  shortage: true,
  held: true,
  start: true,
}

const COMMANDS: Readonly<Record<CommandType, true>> = {
  create: true,
  revise: true,
  start: true,
  pause: true,
  resume: true,
  cancel: true,
  archive: true,
  recover: true,
  turn: true,
  claim: true,
  report: true,
  upload: true,
  lapse: true,
  decide: true,
  retry: true,
  skip: true,
  note: true,
  restore: true,
  checkpoint: true,
  place: true,
  adopted: true,
  rollback: true,
  review: true,
  ask: true,
  answer: true,
  propose: true,
  judge: true,
  assess: true,
  add: true,
  annotate: true,
  evaluate: true,
  finish: true,
  network: true,
  reserve: true,
  settle: true,
  race: true,
  raise: true,
}

const PAGE = 200

export async function replay(
  store: Pick<Store, 'read'>,
  plan: PlanId,
  name: string,
  look?: Rooms['programs'],
): Promise<Replay> {
  const replaying = new Replaying(plan)
  let fault: ReplayFault | null = null
  try {
    for (let limit = PAGE; fault === null; ) {
      const page = await readPage(store, plan, { after: replaying.entries, limit, previous: replaying.head })
      if (page instanceof ChainBroken) {
        // Entries before it are judged first.
        const sound = page.version - 1 - replaying.entries
        if (sound > 0 && sound < limit) limit = sound
        else fault = chainFault(page)
        continue
      }
      for (const entry of page) {
        fault = await replaying.take(entry)
        if (fault !== null) break
      }
      if (page.length < limit) break
    }
  } finally {
    await replaying.close()
  }
  const { programs, ...report } = replaying.report()
  return { plan, name, ok: fault === null, ...report, fault, programs: await otherPrograms(programs, look) }
}

async function otherPrograms(recorded: Programs | null, look: Rooms['programs']): Promise<Replay['programs']> {
  const here = recorded === null ? undefined : await look?.({ asks: false })
  return Object.entries(recorded ?? {}).flatMap(([name, before]) => {
    const { [name]: now = before } = here ?? {}
    return now?.path === before?.path && now?.version === before?.version ? [] : { name, recorded: before, now }
  })
}

function chainFault({ fault, version, position, message }: ChainBroken): ReplayFault {
  return fault === 'unknown-format'
    ? { type: 'unknown', version, position, message }
    : { type: 'chain', kind: fault, version, position, message }
}

class Replaying {
  readonly #plan: PlanId
  readonly #state: PlanState = newState()
  readonly #trace = createHash('sha256')
  readonly #only = new Map<string, { entries: number; first: number }>()
  readonly #sum = {
    entries: 0,
    owners: 0,
    attempts: 0,
    preparations: 0,
    compensations: 0,
    commits: 0,
    rollbacks: 0,
    proposals: 0,
  }
  #loop: ReplayLoop | null = null
  #last: { readonly position: Position; readonly now: Millis; readonly fence: number } = {
    position: 0,
    now: 0,
    fence: 0,
  }
  entries = 0
  head = ''

  constructor(plan: PlanId) {
    this.#plan = plan
  }

  async take(entry: Entry): Promise<ReplayFault | null> {
    const at = { version: entry.version, position: entry.position }
    const unknown = unknownWord(entry)
    if (unknown !== null) return { type: 'unknown', ...at, message: `entry ${entry.version} ${unknown}` }
    const unordered = this.#unordered(entry)
    if (unordered !== null) return { type: 'diverged', by: 'decision', ...at, ...unordered }

    let why = onlyRedecided(entry)
    const loop = why === null ? await this.#loopOf(entry) : this.#loop
    if (why !== null) await loop?.still(entry.now)
    const met = why === null ? await loop!.meet(entry) : 'elsewhere'
    const difference = this.#decide(entry)
    if (difference !== null) {
      const message = `entry ${entry.version} is not what its command leads to`
      return { type: 'diverged', by: 'decision', ...at, message, ...difference }
    }
    if (typeof met !== 'string') return { type: 'diverged', by: 'loop', ...at, ...met }

    loop?.happened(entry, met)
    if (met === 'asked') this.#sum.entries++
    else {
      why ??= 'turns that say again what a commit had left unsure'
      const count = this.#only.get(why) ?? { entries: 0, first: entry.version }
      count.entries++
      this.#only.set(why, count)
    }
    this.#last = { position: entry.position, now: entry.now, fence: entry.fence ?? this.#last.fence }
    this.entries = entry.version
    this.head = entry.hash
    return null
  }

  async close(): Promise<void> {
    if (this.#loop === null) return
    const { answered } = this.#loop
    for (const key of Object.keys(answered) as (keyof typeof answered)[]) this.#sum[key] += answered[key]
    await this.#loop.close()
    this.#loop = null
  }

  report(): Omit<Replay, 'plan' | 'name' | 'ok' | 'fault' | 'programs'> & { readonly programs: Programs | null } {
    return {
      programs: this.#state.programs,
      entries: this.entries,
      reenacted: { ...this.#sum },
      redecidedOnly: [...this.#only].map(([why, count]) => ({ why, ...count })),
      trace: this.#trace.copy().digest('hex') as Sha256,
      head: this.head,
    }
  }

  /** Every owner has its own loop: the previous one died or released the plan. */
  async #loopOf({ fence, now }: Entry): Promise<ReplayLoop> {
    if (this.#loop?.fence === fence) return this.#loop
    await this.close()
    this.#sum.owners++
    this.#loop = new ReplayLoop(this.#plan, this.#state, fence!, now)
    return this.#loop
  }

  /** Guaranteed by the store rather than the domain: positions, times and fences never decrease. */
  #unordered({ position, now, fence }: Entry): (Difference & { readonly message: string }) | null {
    const last = this.#last
    if (position <= last.position)
      return { path: '$.position', actual: position, message: `its position is not behind ${last.position}` }
    if (now < last.now)
      return { path: '$.now', actual: now, message: `its time is before that of the last, ${last.now}` }
    if (fence !== null && fence < last.fence)
      return { path: '$.fence', actual: fence, message: `its owner had been replaced: the fence was ${last.fence}` }
    return null
  }

  /** Also moves the state on by what was decided, which is the fold with this entry if there is no difference. */
  #decide({ version, command, now, events }: Entry): Difference | null {
    const decided = this.#ask(command, now)
    if (!Array.isArray(decided))
      return { path: '$.events', expected: decided as Json, actual: events as unknown as Json }
    this.#state.version = version
    this.#trace.update(`${version} ${canonicalJson(decided as unknown as Json)}\n`)
    return firstDifference(decided, events, '$.events')
  }

  #ask(command: Command, now: Millis): readonly Event[] | { readonly [word: string]: string } {
    try {
      const decision = decide(this.#state, command, now)
      return decision.ok ? decision.events : { refused: decision.refusal.message }
    } catch (bug) {
      return { threw: bug instanceof Error ? bug.message : String(bug) }
    }
  }
}
