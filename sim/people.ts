// People and agents around a plan: they answer gates (sometimes twice, sometimes both ways at once), claim and report external
// tasks (or die over them), and meddle. They look at what is durable and act a while later, when it may no longer be so.

import type { GateVerdict } from '../src/domain/event.ts'
import type { Actor, TaskName } from '../src/domain/id.ts'
import type { TaskState } from '../src/domain/state/state.ts'
import { isClaimable } from '../src/domain/state/task-index.ts'
import { PLAN_ENDED } from '../src/domain/status.ts'

import type { Order, Submitted } from '../src/engine/engine.ts'
import type { Faults } from './faults.ts'
import type { Invariants } from './invariants.ts'
import type { Machine } from './machine.ts'
import type { Random } from './random.ts'
import type { Scheduler } from './scheduler.ts'
import type { Workload } from './workload.ts'
import type { World } from './world.ts'

export interface Town {
  readonly scheduler: Scheduler
  readonly machine: Machine
  readonly world: World
  readonly truth: Invariants
  readonly faults: Faults
  readonly workload: Workload
  readonly luck: Random
  readonly trace: (line: string) => void
}

const ANA = 'ana' as Actor
const AGENT = 'agent:a' as Actor

export class People {
  readonly #town: Town
  readonly #luck: Random
  /** In the end everybody says yes, soon. */
  #willing = false
  #silent = false

  constructor(town: Town) {
    this.#town = town
    this.#luck = town.luck
  }

  begin(): void {
    this.#again(2_000, 20_000, () => this.#answer())
    this.#again(1_000, 15_000, () => this.#work())
    if (this.#town.workload.travels) this.#again(5_000, 40_000, () => this.#travel())
    if (this.#town.workload.meddlers) this.#again(5_000, 40_000, () => this.#meddle())
  }

  /** Nobody says anything, until somebody does. */
  fallSilent(): void {
    this.#silent = true
  }

  /** From now on they answer everything they are asked. */
  settleDown(): void {
    this.#silent = false
    this.#willing = true
    this.#again(0, 0, () => this.#answer())
    this.#again(0, 0, () => this.#work())
  }

  #again(least: number, most: number, act: () => void): void {
    const wait = this.#willing ? this.#luck.between(200, 2_000) : this.#luck.between(least, most)
    this.#town.scheduler.after(wait, 'people', () => {
      if (!this.#silent) act()
      this.#again(least, most, act)
    })
  }

  #say(actor: Actor, order: Order, then: (submitted: Submitted) => void = () => {}): void {
    const { machine, truth, trace } = this.#town
    const { engine } = machine.desk
    if (engine === null || this.#silent) return
    engine
      .as(actor)
      .submit(truth.mirror.id, order)
      .then(
        submitted => {
          if (!submitted.ok) trace(`${actor} ${order.type} was refused: ${submitted.refusal.code}`)
          then(submitted)
        },
        error => trace(`${actor} ${order.type} failed: ${error instanceof Error ? error.message : String(error)}`),
      )
  }

  #answer(): void {
    const { mirror } = this.#town.truth
    if (this.#willing && mirror.status === 'paused') this.#say(ANA, { type: 'resume' })
    this.#pay()
    const waiting = mirror.order.filter(task => task.gate !== null)
    if (waiting.length === 0) return
    const task = this.#luck.pick(waiting)
    const verdict = this.#verdict(task)
    const decide = (verdict: GateVerdict): Order => ({
      type: 'decide',
      task: task.definition.id,
      verdict,
      rationale: 'as it seemed right',
    })
    this.#say(ANA, decide(verdict), submitted => {
      // Approving would lead back once too often: they do as the hint says.
      if (!submitted.ok && submitted.refusal.code === 'limit') this.#say(ANA, decide('rejected'))
    })
    if (this.#willing) return
    // A double click; or two people who do not agree.
    if (this.#luck.chance(0.25)) this.#say(ANA, decide(verdict))
    const other: GateVerdict = verdict === 'approved' ? 'rejected' : 'approved'
    if (this.#luck.chance(0.15) && task.gate?.asks.type !== 'unknown-outcome') this.#say('ben' as Actor, decide(other))
  }

  /** Asked for more budget, they agree, add something of their own, or say no. */
  #pay(): void {
    const { mirror } = this.#town.truth
    const question = mirror.questions.find(({ budget }) => budget !== undefined)
    if (question?.budget === undefined) return
    const { reason } = question.budget
    const short = reason.type === 'caps' ? reason.short[0]! : null
    if (short !== null && this.#luck.chance(0.3)) {
      const level = short.task === undefined ? {} : { task: short.task }
      const add = {
        [short.key]: short.key === 'cost' ? this.#luck.between(1, 50) / 10 : this.#luck.between(1, 20) * 1_000,
      }
      return this.#say(ANA, { type: 'raise', ...level, add })
    }
    const more = this.#willing || this.#luck.chance(0.8) ? 'yes' : 'no'
    this.#say(ANA, { type: 'answer', id: question.id, answers: { more } })
  }

  #verdict(task: TaskState): GateVerdict {
    const asks = task.gate?.asks.type
    // Something failed for good: once more, without it, or not at all.
    if (asks === 'recovery' || asks === 'replan')
      return this.#luck.pick<GateVerdict>(this.#willing ? ['again', 'skipped'] : ['again', 'skipped', 'rejected'])
    if (asks !== 'unknown-outcome') return this.#willing || this.#luck.chance(0.8) ? 'approved' : 'rejected'
    // Somebody goes and looks.
    const { executions } = this.#town.world
    const happened = executions.some(
      ({ task: name, visit, attempt, kind, happened }) =>
        name === task.definition.id && visit === task.visit && attempt === task.attempt && kind === 'work' && happened,
    )
    if (task.definition.effect === undefined && happened) return 'done'
    return happened && task.definition.effect === 'unsafe'
      ? 'done'
      : this.#willing || this.#luck.chance(0.85)
        ? 'again'
        : 'rejected'
  }

  /** Claims an external task, works for a while, reports; sometimes dies, sometimes comes too late, sometimes says it twice. */
  #work(): void {
    const { mirror } = this.#town.truth
    const open = mirror.order.filter(task => isClaimable(mirror, task))
    const lapsing = mirror.order.some(task => task.claim !== null)
    if (open.length === 0 && !lapsing) return
    const named = open.length > 0 && this.#luck.chance(0.5) ? { task: this.#luck.pick(open).definition.id } : {}
    const leaseMs = this.#luck.pick([5_000, 60_000])
    this.#say(AGENT, { type: 'claim', leaseMs, ...named }, submitted => {
      if (!submitted.ok || submitted.claim === undefined) return
      const { task, token } = submitted.claim
      if (!this.#willing && this.#luck.chance(0.25)) return
      const takes = this.#luck.between(100, this.#willing ? 1_000 : 12_000)
      this.#town.scheduler.after(takes, 'agent reports', () => this.#report(task, token))
      if (!this.#willing && this.#luck.chance(0.2))
        this.#town.scheduler.after(takes + this.#luck.between(0, 2_000), 'agent reports twice', () =>
          this.#report(task, token),
        )
      if (this.#luck.chance(0.3))
        this.#town.scheduler.after(takes / 2, 'agent beats', () =>
          this.#say(AGENT, { type: 'heartbeat', task, token, leaseMs }),
        )
    })
  }

  #report(task: TaskName, token: string): void {
    const well = this.#willing || this.#luck.chance(0.85)
    const failure = { class: 'logic', message: 'the agent gave up', retryable: this.#luck.chance(0.5) } as const
    this.#say(AGENT, {
      type: 'report',
      task,
      token,
      result: well ? { status: 'succeeded' } : { status: 'failed', failure },
    })
  }

  /** Back to some entry, forth again, a few files or tasks only; and a name for where they are. */
  #travel(): void {
    const { mirror, entries } = this.#town.truth
    if (this.#willing || mirror.status === 'draft') return
    const force = this.#luck.chance(0.5) ? { force: true as const } : {}
    const to = String(this.#luck.between(2, entries.length))
    switch (this.#luck.between(1, 8)) {
      case 1:
        return this.#say(ANA, { type: 'checkpoint', name: `here-${entries.length}` })
      case 2:
      case 3:
        return this.#say(ANA, { type: 'undo', ...force })
      case 4:
        return this.#say(ANA, { type: 'rollback', to, filesOnly: true, ...force })
      case 5:
        return this.#say(ANA, { type: 'rollback', to, tasks: [this.#luck.pick(mirror.order).definition.id], ...force })
      default:
        this.#say(ANA, { type: 'rollback', to, ...force }, submitted => {
          // Somebody looks, and lets it go on.
          if (submitted.ok)
            this.#town.scheduler.after(this.#luck.between(500, 20_000), 'people', () =>
              this.#say(ANA, { type: 'resume' }),
            )
        })
    }
  }

  #meddle(): void {
    const { truth, machine, workload } = this.#town
    const { mirror } = truth
    if (this.#willing || (PLAN_ENDED.has(mirror.status) && this.#luck.chance(0.8))) return
    const any = (test: (task: TaskState) => boolean) => {
      const found = mirror.order.filter(test)
      return found.length === 0 ? null : this.#luck.pick(found).definition.id
    }
    switch (this.#luck.between(1, 9)) {
      case 1:
      case 2:
        return this.#say(ANA, { type: mirror.status === 'paused' ? 'resume' : 'pause' })
      case 3: {
        const task = any(({ status }) => status === 'failed' || status === 'completed' || status === 'skipped')
        return task === null ? undefined : this.#say(ANA, { type: 'retry', task, repeat: true })
      }
      case 4: {
        const task = any(({ status }) => status !== 'completed' && status !== 'running')
        return task === null ? undefined : this.#say(ANA, { type: 'skip', task, reason: 'not needed' })
      }
      case 5:
        return this.#say(ANA, { type: 'note', text: 'hm' })
      case 6:
        if (workload.cancels) this.#say(ANA, { type: 'cancel', force: this.#luck.chance(0.3) })
        return
      case 7:
        return this.#say(ANA, { type: 'resume' })
      default: {
        const up = machine.processes.filter(process => process.isUp && !process.isStopped)
        if (up.length > 0) this.#luck.pick(up).interrupt(this.#luck.chance(0.25))
      }
    }
  }
}
