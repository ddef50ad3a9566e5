// One episode: a workspace, its plans, and everybody around them. Every plan is driven by a process of its own, or all of them
// by one service. These are killed at random moments and started again until every plan has come to rest.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, statfsSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Random } from '../../../sim/random.ts'
import { Cli, dataOf, type RunningCall, type Short } from './cli.ts'
import { readJournal, readPlans } from './journal.ts'
import { Ledger } from './ledger.ts'
import { People } from './people.ts'
import { Person } from './person.ts'
import { type LoopPlan, makeScenario, type Part, type Scenario } from './scenario.ts'

export interface Episode {
  readonly scenario: Scenario
  readonly base: string
  readonly workspace: string
  readonly ledger: string
  readonly cli: Cli
  readonly person: Person
  readonly people: People
  /** When owners were killed, and which plans they drove. */
  readonly deaths: readonly Death[]
  /** What went wrong on the way, in words. */
  readonly troubles: readonly string[]
  readonly kills: number
}

export interface Death {
  readonly plans: readonly string[]
  readonly at: number
}

const ROUNDS_MAX = 60
const RUN_MAX_MS = 180_000
/** Whoever is asked so often about files is asked the same again and again. */
const DECISIONS_MAX = 60
/** A person's edit counts as late when it comes so long after the kill. */
const LATE_MS = 3_050

export async function playEpisode(
  seed: number,
  killsMax: number,
  without: ReadonlySet<Part>,
  short?: Short,
): Promise<Episode> {
  const base = mkdtempSync(join(inMemory(), `planfold-kill-loop-${seed}-`))
  const workspace = join(base, 'work')
  const written = new Ledger(workspace)
  const { file: ledger } = written
  const scenario = makeScenario(seed, without)
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  for (const [path, text] of Object.entries(scenario.files)) put(join(workspace, path), text)
  for (const { name, document } of scenario.plans) put(join(base, 'plans', `${name}.yaml`), document)
  mkdirSync(join(workspace, '.planfold'), { recursive: true })
  const random = new Random(`kill-loop/${seed}/episode`)
  const cli = new Cli(workspace, short)
  const stage = new Stage({
    scenario,
    base,
    workspace,
    ledger,
    cli,
    person: new Person(workspace, base, random.fork('person')),
    people: new People(cli, workspace, ledger, random.fork('people')),
    random,
    kills: Math.min(scenario.kills, killsMax),
  })
  try {
    await stage.play()
  } finally {
    cli.endAll()
    await written.close()
  }
  return { scenario, base, workspace, ledger, cli, person: stage.person, people: stage.people, ...stage.outcome() }
}

interface Setting {
  readonly scenario: Scenario
  readonly base: string
  readonly workspace: string
  readonly ledger: string
  readonly cli: Cli
  readonly person: Person
  readonly people: People
  readonly random: Random
  readonly kills: number
}

class Stage {
  readonly person: Person
  readonly people: People
  readonly #setting: Setting
  readonly #deaths: Death[] = []
  readonly #troubles: string[] = []
  #left: number
  #isOver = false

  constructor(setting: Setting) {
    this.#setting = setting
    this.person = setting.person
    this.people = setting.people
    this.#left = setting.kills
  }

  outcome(): { readonly deaths: readonly Death[]; readonly troubles: readonly string[]; readonly kills: number } {
    return { deaths: this.#deaths, troubles: this.#troubles, kills: this.#deaths.length }
  }

  async play(): Promise<void> {
    const { scenario, random } = this.#setting
    const background = scenario.hasPerson ? this.#editMeanwhile(random.fork('editor')) : Promise.resolve()
    if (scenario.host === 'serve') await this.#serveAll(random.fork('serve'))
    else await Promise.all(scenario.plans.map(plan => this.#drive(plan, random.fork(`drive/${plan.name}`))))
    this.#isOver = true
    await background
  }

  async #drive(plan: LoopPlan, random: Random): Promise<void> {
    const { cli, base } = this.#setting
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const status = this.#statusOf(plan)
      if (isEnded(status) && (await this.people.answer([plan])) === 0) return
      if (isEnded(this.#statusOf(plan))) continue
      const document = join(base, 'plans', `${plan.name}.yaml`)
      const run = cli.start(...(status === null ? ['run', document] : ['resume', plan.name]), '--json')
      const isKilled = await this.#killAtRandom(run, [plan.name], random, 1_200)
      if (isKilled) await this.#gapAfter([plan.name], random)
      if (!isKilled || random.chance(0.25)) await this.people.answer([plan])
      // Another plan holds the files, or somebody has to decide something that only time brings.
      if (!isKilled && run.call.code === 3) await pause(100)
    }
    this.#troubles.push(
      `stuck: ${plan.name} did not come to rest in ${ROUNDS_MAX} rounds; it is ${this.#statusOf(plan)}`,
    )
  }

  async #serveAll(random: Random): Promise<void> {
    const { cli, scenario, base } = this.#setting
    const names = scenario.plans.map(({ name }) => name)
    const open = () => scenario.plans.filter(plan => !isEnded(this.#statusOf(plan)))
    for (let round = 0; round < ROUNDS_MAX && this.#troubles.length === 0; round++) {
      if (open().length === 0 && (await this.people.answer(scenario.plans)) === 0) return
      const service = cli.start('serve', '--no-auth', '--port', '0', '--log-level', 'warn', '--json')
      const inside = this.#whileServed(service, base, open)
      if (await this.#killAtRandom(service, names, random, 1_800, inside)) {
        await inside
        await this.#gapAfter(names, random)
        if (random.chance(0.25)) await this.people.answer(scenario.plans)
        continue
      }
      service.terminate()
      await this.#endOf(service)
    }
    if (this.#troubles.length > 0) return
    this.#troubles.push(`stuck: the service did not bring ${open().map(({ name }) => name)} to rest`)
  }

  /** Makes the plans that are missing, then answers what waits, until nothing is open or the service is gone. */
  async #whileServed(service: RunningCall, base: string, open: () => readonly LoopPlan[]): Promise<void> {
    const { scenario } = this.#setting
    while (!service.isOver() && dataOf(service.call) === null) await pause(20)
    const address = String(dataOf(service.call)?.address)
    for (const plan of scenario.plans) {
      // Killed before it was started, it is asked for again under the same key, as any client would.
      const status = this.#statusOf(plan)
      if (service.isOver() || (status !== null && status !== 'draft')) continue
      const body = readFileSync(join(base, 'plans', `${plan.name}.yaml`), 'utf8')
      const headers = { 'content-type': 'application/yaml', 'idempotency-key': `kill-loop-${plan.name}` }
      await fetch(`${address}/plans?start=true`, { method: 'POST', headers, body }).then(
        async answer => {
          if (!answer.ok) this.#troubles.push(`the service refused plan ${plan.name}: ${await answer.text()}`)
        },
        () => {},
      )
    }
    // It rests when nothing was written for so long, however slow the machine is.
    const begunAt = Date.now()
    let [seen, movedAt] = [-1, begunAt]
    const isInTime = () =>
      Date.now() - movedAt < RUN_MAX_MS &&
      Date.now() - begunAt < 10 * RUN_MAX_MS &&
      this.people.decisions.length < DECISIONS_MAX
    while (!service.isOver() && open().length > 0 && isInTime()) {
      await pause(250)
      const entries = readJournal(this.#setting.workspace).length
      if (entries === seen) await this.people.answer(scenario.plans)
      else movedAt = Date.now()
      seen = entries
    }
    if (!service.isOver() && open().length > 0)
      this.#troubles.push(
        `stuck: ${open().map(({ name }) => name)} is not at rest, after ${this.people.decisions.length} decisions about files`,
      )
  }

  /** True when it was killed; false when it came to its end, or `rest` did. */
  async #killAtRandom(
    run: RunningCall,
    plans: readonly string[],
    random: Random,
    withinMs: number,
    rest: Promise<unknown> = run.ended,
  ): Promise<boolean> {
    if (this.#left > 0) {
      this.#left--
      await Promise.race([rest, this.#momentToKill(run, random, withinMs)])
      if (!run.isOver()) {
        const whom = random.chance(0.3) ? 'family' : 'owner'
        await run.kill(whom)
        this.#deaths.push({ plans, at: Date.now() })
        return true
      }
      this.#left++
    }
    if (rest === run.ended) await this.#endOf(run)
    else await rest
    return false
  }

  /** Some moment of starting and recovering; or, more often, some moment after a task has begun or has done something. */
  async #momentToKill(run: RunningCall, random: Random, withinMs: number): Promise<void> {
    if (random.chance(0.35)) return await pause(random.between(0, withinMs))
    const before = sizeOf(this.#setting.ledger)
    const afterMs = random.between(0, 350)
    while (!run.isOver() && sizeOf(this.#setting.ledger) === before) await pause(10)
    await pause(afterMs)
  }

  async #endOf(run: RunningCall): Promise<void> {
    const timer = new AbortController()
    const late = pause(RUN_MAX_MS, 'late' as const, { signal: timer.signal }).catch(() => 'ended' as const)
    const ended = await Promise.race([run.ended, late])
    timer.abort()
    if (ended !== 'late') return
    this.#troubles.push(`stuck: ${run.call.argv.join(' ')} did not end in ${RUN_MAX_MS} ms`)
    await run.kill('family')
  }

  /** Between a kill and the next start: mostly nothing, sometimes edits, some of them late. */
  async #gapAfter(plans: readonly string[], random: Random): Promise<void> {
    const { scenario } = this.#setting
    const chance = this.#hasOpenScope(plans) ? 0.35 : 0.04
    if (scenario.hasPerson && random.chance(chance)) {
      await pause(LATE_MS)
      const area = random.pick(plans.length === scenario.plans.length ? scenario.areas : plans)
      for (let edit = 0; edit < random.between(1, 2); edit++) this.person.edit(area, true)
    } else await pause(random.between(0, 120))
  }

  async #editMeanwhile(random: Random): Promise<void> {
    for (let edits = random.between(3, 8); edits > 0 && !this.#isOver; edits--) {
      await pause(random.between(100, 1_500))
      if (!this.#isOver) this.person.edit(random.pick(this.#setting.scenario.areas), false)
    }
  }

  /** The kill cut off a task that has a write scope. */
  #hasOpenScope(plans: readonly string[]): boolean {
    const { scenario, workspace } = this.#setting
    const scoped = new Set(
      scenario.plans.flatMap(({ name, tasks }) =>
        tasks.filter(task => task.class === 'workspace').map(task => `${name}/${task.id}`),
      ),
    )
    const open = new Set<string>()
    for (const { name, events } of readJournal(workspace)) {
      for (const { type, task } of events) {
        if (type === 'attempt.started') open.add(`${name}/${task}`)
        else if (type.startsWith('attempt.')) open.delete(`${name}/${task}`)
      }
    }
    return [...open].some(each => scoped.has(each) && plans.includes(each.split('/')[0] ?? ''))
  }

  #statusOf(plan: LoopPlan): string | null {
    return readPlans(this.#setting.workspace).find(({ name }) => name === plan.name)?.status ?? null
  }
}

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

const isEnded = (status: string | null): boolean =>
  status === 'completed' || status === 'failed' || status === 'cancelled'

/** A kill loses nothing that the system has taken; syncing a disk would only cost time. */
function inMemory(): string {
  const memory = '/dev/shm'
  if (!existsSync(memory)) return tmpdir()
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize > 512 * 1024 * 1024 ? memory : tmpdir()
}
