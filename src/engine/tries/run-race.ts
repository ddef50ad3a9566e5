// Runs the race of an attempt with `tries`. Everything that is decided is in the journal, so an interrupted race continues in the next
// attempt of the visit: tries that have ended do not run again.
//
//   files now ─► a folder for each try ─► run, check, compare, side by side ─► the best one ─► its changes, into the workspace
//                  ▲                                                             │
//                  └── the next round begins with its files ◄────────────────────┘

import { actionFacts } from '../../domain/actions/actions.ts'
import type { Interrupted, RaceStep } from '../../domain/command.ts'
import { advise, quoted } from '../../domain/hint.ts'
import type { Actor, Sha256 } from '../../domain/id.ts'
import { defined } from '../../domain/json.ts'
import { addCost, addUsage, type ModelUse } from '../../domain/model-use.ts'
import { scopeOf } from '../../domain/plan-rules/effect.ts'
import type { Failure, Result, Verdict } from '../../domain/result.ts'
import type { TaskState } from '../../domain/state/state.ts'
import {
  closestOf,
  isGood,
  openRace,
  placeOf,
  type Race,
  type Tried,
  triedAt,
  tryName,
} from '../../domain/tries/race.ts'
import { type Contender, contendersOf } from '../../domain/tries/tries.ts'
import { patchBetween } from '../../format/text/consent-contents.ts'
import type { Attempt, ModelReport, Outcome, RunnerTools } from '../../runners/runner.ts'
import { isClosed } from '../../safety/sandbox/workspace-mounts.ts'
import { inScope } from '../../safety/scope.ts'
import type { Change } from '../../workspace/workspace.ts'
import { type AttemptRun, runAttempt } from '../attempts/attempt-run.ts'
import { isFolder, isFolderFor } from '../attempts/expected-effects.ts'
import { stopFrom } from '../attempts/stop.ts'
import { untilWritten } from '../budget/attempt-budget.ts'
import { marked, redactFor } from '../judges/judged-work.ts'
import { throwIfShort } from '../loop/shortage.ts'
import { declaredScopes, keepChanges, readChanges } from '../rollback/attempt-changes.ts'
import type { Rooms } from '../rooms.ts'
import { applyBest } from './best-changes.ts'
import { judgeTries } from './judge-tries.ts'
import { fitting } from './race-estimate.ts'
import { openTry, type RacePlace, removeRace, type TryFolder } from './try-folder.ts'

const ENGINE = 'engine' as Actor

/** Its outcome, with the changes of the best try in the workspace. */
export async function runRace(run: AttemptRun, attempt: Attempt, tools: RunnerTools): Promise<Outcome> {
  const racing = new Racing(run, attempt, tools)
  try {
    const outcome = await racing.run()
    // An interrupted race continues in its folders. What cannot be removed now is removed when the plan rests.
    if (outcome.type !== 'interrupted') await removeRace(run.rooms, racing.place).catch(() => {})
    return outcome
  } catch (error) {
    if (!(error instanceof AttemptOver)) throw error
    return { type: 'interrupted', reason: error.message }
  }
}

/** The store refused a step: the attempt is no longer ours. */
class AttemptOver extends Error {}

class Racing {
  readonly #run: AttemptRun
  readonly #attempt: Attempt
  readonly #tools: RunnerTools
  readonly #contenders: readonly Contender[]
  readonly place: RacePlace
  #race: Race | null

  constructor(run: AttemptRun, attempt: Attempt, tools: RunnerTools) {
    this.#run = run
    this.#attempt = attempt
    this.#tools = tools
    this.#contenders = contendersOf(run.task.definition)
    this.place = { plan: attempt.plan, task: attempt.task, visit: attempt.visit }
    this.#race = openRace(run.task)
  }

  async run(): Promise<Outcome> {
    const { snapshots } = this.#run.rooms
    if (snapshots === undefined) return failed(NO_SNAPSHOTS)
    if (this.#race === null) {
      const taken = throwIfShort(await snapshots.snapshot({ scopes: this.#scopes() }))
      if (!taken.ok) return failed(taken.failure)
      await this.#begin({ round: 1, start: taken.manifest })
    }
    for (;;) {
      const parked = await this.#runTries()
      if (parked !== null) return { type: 'interrupted', reason: parked }
      if (this.race.judged?.round !== this.race.round) {
        const judged = await judgeTries(this.#run, this.#attempt, this.race)
        if ('interrupted' in judged) return { type: 'interrupted', reason: judged.interrupted }
        await this.#step({ is: 'judged', ...judged })
      }
      const next = await this.#nextRound()
      if (next === null) return await this.#finish()
      await this.#begin(next)
    }
  }

  get race(): Race {
    if (this.#race === null) throw new Error('bug: the race has not begun')
    return this.#race
  }

  async #begin(round: Pick<Race, 'round' | 'start' | 'from' | 'findings'>): Promise<void> {
    const { rooms, state, task } = this.#run
    await this.#step({ is: 'began', ...round, ...(await fitting(rooms, state, task.definition)) })
  }

  async #step(step: RaceStep): Promise<void> {
    const { rooms } = this.#run
    const { plan, task, visit, attempt } = this.#attempt
    const command = { type: 'race', task, visit, attempt, step } as const
    const updated = await untilWritten(() => rooms.store.update(plan, command, { actor: ENGINE }))
    if (!updated.ok) throw new AttemptOver(updated.refusal.message)
    this.#race = openRace(updated.state.tasks.get(task) as TaskState)
  }

  /** Null when all tries of this round have ended; else why one of them waits. */
  async #runTries(): Promise<string | null> {
    const { race } = this
    const { stop } = this.#run.options
    const open = this.#isOutrun() ? [] : race.of.flatMap((_, at) => (this.#isOpen(at + 1) ? [at + 1] : []))
    const others = new AbortController()
    const signal = AbortSignal.any([stop.signal, others.signal])
    const folders: (TryFolder | Failure)[] = []
    for (const number of open) folders.push(await this.#open(number))
    const trying = folders.map(async (folder, at) => {
      try {
        const waits = await this.#try(open[at]!, folder, signal)
        if (this.#isOutrun()) others.abort()
        return waits
      } catch (error) {
        others.abort()
        throw error
      }
    })
    const ended = await Promise.allSettled(trying)
    for (const one of ended) if (one.status === 'rejected') throw one.reason
    // One that waits for a person is not waited for when another one has passed.
    if (!this.#isOutrun())
      return ended.map(one => ('value' in one ? one.value : null)).find(why => why !== null) ?? null
    for (const [at, by] of race.of.entries())
      if (this.#isOpen(at + 1))
        await this.#step({ is: 'tried', round: race.round, number: at + 1, by, ended: 'stopped', ...NO_CHANGES })
    return null
  }

  #isOpen(number: number): boolean {
    return triedAt(this.race, { round: this.race.round, number }) === undefined
  }

  /** With `first`, one that passes ends the others; one that breaks `effects` does not. */
  #isOutrun(): boolean {
    const { first } = this.#run.task.definition.tries ?? {}
    return first === true && this.race.tried.some(one => one.round === this.race.round && isGood(one))
  }

  async #open(number: number): Promise<TryFolder | Failure> {
    const { rooms, task } = this.#run
    const { race } = this
    const { definition } = this.#contenders[number - 1]!
    const from = triedAt(race, race.from ?? null)
    const isHeld = this.#tools.sandbox !== undefined && (await this.#tools.sandbox.room.check()).ok
    const opened = await openTry({
      rooms,
      of: this.place,
      name: tryName({ round: race.round, number }),
      start: race.start,
      since: await this.#changesOf(from),
      keep: actionFacts(definition.action).continuesWork === true,
      ignored: task.definition.tries?.prepare !== undefined ? 'leave' : isHeld ? 'share' : 'copy',
    })
    return opened.ok ? opened.value : throwIfShort(opened).failure
  }

  /** Null when it has ended; else why it waits. */
  async #try(number: number, folder: TryFolder | Failure, signal: AbortSignal): Promise<string | null> {
    const { rooms, state, task, options } = this.#run
    const { round, of, findings } = this.race
    const end = async (ended: Omit<Tried, 'round' | 'number' | 'by'>): Promise<null> => {
      await this.#step({ is: 'tried', round, number, by: of[number - 1]!, ...ended })
      return null
    }
    const not = (reason: string): Promise<null> => end({ ended: 'failed', reason, ...NO_CHANGES })
    if (!('rooms' in folder)) return await not(folder.message)
    const began = rooms.clock.monotonic()
    let seen: Outcome | null = null
    const tried = {
      name: tryName({ round, number }),
      borrowed: folder.borrowed,
      ...(findings === undefined ? {} : { findings }),
      seen: (outcome: Outcome) => {
        seen = outcome
      },
    }
    const within = { ...options, stop: stopFrom(signal), tried }
    const logbook = new TryLog(this.#run.logbook, number)
    const run = (definition: TaskState['definition']): Promise<Result | Interrupted> =>
      runAttempt({ rooms: folder.rooms, state, task: { ...task, definition }, options: within, logbook })
    const { definition } = this.#contenders[number - 1]!
    const { prepare } = task.definition.tries ?? {}
    if (prepare !== undefined && folder.begun === null) {
      const { id, env, cwd, timeoutMs } = definition
      const first = await run({ id, action: { type: 'run', command: prepare }, ...defined({ env, cwd, timeoutMs }) })
      if (first.status === 'interrupted') return first.reason
      if (first.status === 'failed') return await not(`its preparation failed: ${first.failure.message}`)
    }
    let before = folder.begun
    if (before === null) {
      const taken = throwIfShort(await folder.rooms.snapshots!.snapshot({ scopes: this.#scopes() }))
      if (!taken.ok) return await not(taken.failure.message)
      before = taken.manifest
      await folder.begin(before)
    }
    const result = await run(definition)
    if (result.status === 'interrupted' && !this.#isOutrun()) return result.reason
    const found = await this.#compare(folder.rooms, before)
    if (!found.ok) return await not(found.failure.message)
    const { size, outside, strays } = found
    if (result.status === 'interrupted') return await end({ ended: 'stopped', ...size })
    const durationMs = Math.round(rooms.clock.monotonic() - began)
    const { verdicts, model } = result
    const unmet = verdicts?.filter(({ holds }) => holds === false).map(unmetText)
    const facts = { ...size, durationMs, ...defined({ unmet, model }) }
    if (outside.length > 0)
      return await end({ ended: 'outside', reason: `it changed ${named(outside)}, outside its write scope`, ...facts })
    if (result.status === 'failed') return await end({ ended: 'failed', reason: result.failure.message, ...facts })
    const outcome = await rooms.store.blobs.put(Buffer.from(JSON.stringify(bare(seen))))
    const reason = strays.length === 0 ? {} : { reason: `it changed ${named(strays)}, which \`effects\` does not name` }
    return await end({ ended: 'passed', ...reason, ...facts, outcome })
  }

  /** What the try changed since the start of the race. It was alone in its folder. */
  async #compare(at: Rooms, before: Sha256) {
    const { rooms, state, task } = this.#run
    const { definition } = task
    const after = throwIfShort(await at.snapshots!.snapshot({ scopes: this.#scopes() }))
    if (!after.ok) return after
    const found = await at.snapshots!.diff(before, after.manifest)
    if (!found.ok) return found
    const since = await this.#changesOf(triedAt(this.race, this.race.from ?? null))
    const changes = joined(since, found.changes)
    const files = changes.filter(change => !isFolder(change))
    const write = scopeOf(state.definition, definition)
    const own = (change: Change): boolean =>
      (inScope(write, change.path) && !isClosed(write, change.path)) || (write !== null && isFolderFor(write, change))
    const pathsOf = (all: readonly Change[]) => all.map(({ path }) => path)
    const { effects = null } = definition
    const strays = pathsOf(files.filter(({ path }) => !inScope(effects, path)))
    return {
      ok: true as const,
      outside: pathsOf(files.filter(change => !own(change))),
      strays,
      size: {
        changes: await keepChanges(rooms, changes.filter(own)),
        paths: files.length,
        lines: await linesOf(rooms, files),
        ...(effects === null ? {} : { beyond: strays.length }),
      },
    }
  }

  /** The next round, if one is due and something is to be improved. */
  async #nextRound(): Promise<Pick<Race, 'round' | 'start' | 'from' | 'findings'> | null> {
    const { race } = this
    const { rooms, state, task } = this.#run
    const { rounds = 1 } = task.definition.tries ?? {}
    const from = closestOf(race)
    if (race.round >= rounds || from === undefined || this.#isOutrun()) return null
    const next = { round: race.round + 1, start: race.start, from: placeOf(from) }
    const { improve } = race.judged?.judge ?? {}
    if (isGood(from)) return improve === undefined ? null : { ...next, findings: improve }
    const { unmet = [], reason = '' } = from
    const redact = await redactFor(rooms, state)
    const lacks = redact((unmet.length > 0 ? unmet : [reason]).join('\n'))
    const what = `what try ${tryName(from)} did not meet`
    return { ...next, findings: marked(task.definition.id, what, lacks, FINDINGS_MAX) }
  }

  async #finish(): Promise<Outcome> {
    const { rooms, state, task } = this.#run
    const { race } = this
    const model = await this.#model()
    const best = triedAt(race, race.judged?.best ?? null)
    if (best === undefined) return failed(nonePassed(race), model)
    const applied = await applyBest({
      rooms,
      state,
      task,
      race,
      number: best.number,
      changes: await this.#changesOf(best),
      onSaved: (saved, overwrote) =>
        this.#step({ is: 'applied', saved, ...(overwrote.length === 0 ? {} : { overwrote }) }),
    })
    if (!applied.ok && 'asked' in applied) return { type: 'interrupted', reason: applied.asked }
    if (!applied.ok) return failed(applied.failure, model)
    const stored = best.outcome === undefined ? null : await rooms.store.blobs.get(best.outcome)
    const outcome = stored === null ? { type: 'done' } : JSON.parse(Buffer.from(stored).toString())
    return { ...outcome, ...model } as Outcome
  }

  /** What all tries together used. */
  async #model(): Promise<{ readonly model?: ModelReport }> {
    const { tried, judges = [] } = this.race
    const uses = [...tried.flatMap(({ model }) => (model === undefined ? [] : [model])), ...judges]
    const [first, ...others] = uses
    if (first === undefined) return {}
    const use = others.reduce<Omit<ModelUse, 'recording'>>(
      (sum, one) => ({
        model: sum.model === one.model ? sum.model : `${sum.model}, ${one.model}`,
        calls: sum.calls + one.calls,
        usage: addUsage(sum.usage, one.usage),
        cost: addCost(sum.cost, one.cost),
        wireUsage: [...sum.wireUsage, ...one.wireUsage],
        providerMetadata: [...sum.providerMetadata, ...one.providerMetadata],
      }),
      first,
    )
    const { blobs } = this.#run.rooms.store
    const recordings = await Promise.all(
      uses.map(async ({ recording }) => JSON.parse(Buffer.from((await blobs.get(recording)) ?? 'null').toString())),
    )
    return { model: { use, recording: { recordings } } }
  }

  #changesOf = async (tried: Tried | undefined): Promise<readonly Change[]> =>
    tried?.changes == null ? [] : await readChanges(this.#run.rooms, tried.changes)

  #scopes(): readonly string[] {
    return declaredScopes(this.#run.state.definition)
  }
}

const failed = (failure: Failure, model: { readonly model?: ModelReport } = {}): Outcome => ({
  type: 'failed',
  failure,
  ...model,
})

const NO_SNAPSHOTS: Failure = {
  class: 'policy',
  message: 'tries need snapshots of the files, and this engine was opened without them',
  retryable: false,
}

function nonePassed({ tried, round }: Race): Failure {
  const reasons = tried
    .filter(one => one.round === round)
    .map(({ number, by, reason }) => `try ${number} (${by}): ${reason ?? 'it ended'}`)
  return {
    class: 'logic',
    code: 'tries:none',
    message: `no try passed; ${reasons.join('; ')}`,
    hint: advise`see ${quoted('log', { output: true })}`,
    retryable: true,
  }
}

const unmetText = ({ criterion, evidence, said }: Verdict): string =>
  [criterion, evidence, said].filter(one => one !== undefined).join(': ')

/** Without what only the try itself is judged by, and what is recorded for it. */
function bare(outcome: Outcome | null): Outcome {
  if (outcome === null) return { type: 'done' }
  const { beyond: _, model: __, ...rest } = { beyond: undefined, model: undefined, ...outcome }
  return rest as Outcome
}

/** What two changes after one another change together. */
function joined(first: readonly Change[], then: readonly Change[]): readonly Change[] {
  const all = new Map(first.map(change => [change.path, change]))
  for (const { path, before, after } of then) all.set(path, { path, before: all.get(path)?.before ?? before, after })
  return [...all.values()].filter(({ before, after }) => JSON.stringify(before) !== JSON.stringify(after))
}

/** Lines added and removed; a file that is no text, or another type of entry, counts as one. */
async function linesOf({ store }: Rooms, changes: readonly Change[]): Promise<number> {
  let lines = 0
  for (const { before, after } of changes) {
    const [was, now] = [before, after].map(one => (one?.type === 'file' ? one.sha256 : null))
    const patch = await patchBetween({ before: was!, now: now! }, sha256 => store.blobs.get(sha256))
    const changed = patch?.type === 'text' ? patch.lines.filter(line => /^[+-]/.test(line)).length : 0
    lines += Math.max(1, changed)
  }
  return lines
}

const NAMED_MAX = 5
const named = (paths: readonly string[]): string => paths.slice(0, NAMED_MAX).join(', ')
const FINDINGS_MAX = 8_000
const NO_CHANGES = { changes: null, paths: 0, lines: 0 }

/** The output of one try in the log of the attempt: each line says whose it is. */
class TryLog {
  readonly #log: AttemptRun['logbook']
  readonly #prefix: string
  #isStart = true

  constructor(log: AttemptRun['logbook'], number: number) {
    this.#log = log
    this.#prefix = `try ${number} | `
  }

  write(stream: Parameters<AttemptRun['logbook']['write']>[0], chunk: Uint8Array): void {
    // Byte for byte, because a chunk may end inside a character.
    const text = Buffer.from(chunk).toString('latin1')
    if (text === '') return
    const lines = text.replace(/\n(?!$)/g, `\n${this.#prefix}`)
    this.#log.write(stream, Buffer.from(`${this.#isStart ? this.#prefix : ''}${lines}`, 'latin1'))
    this.#isStart = text.endsWith('\n')
  }
}
