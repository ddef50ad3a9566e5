// The outside world of an episode: an agent that claims and reports external tasks, and somebody who answers what the inbox
// asks. Both use the command line only. They judge an unknown outcome by the ledger, as a person would look at the account.

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../../../sim/random.ts'
import { type Call, type Cli, dataOf } from './cli.ts'
import { readJournal, readPlans } from './journal.ts'
import { readLedger } from './ledger.ts'
import type { LoopPlan } from './scenario.ts'

/** What somebody decided about files: from then on the paths it named may differ from what the person left. */
export interface Decision {
  readonly plan: string
  readonly task: string | null
  readonly type: string
  readonly answer: string
  /** The question as it was asked, with every path it named. */
  readonly asked: string
  readonly at: number
}

interface InboxItem {
  readonly id: string
  readonly key: string
  readonly name: string
  readonly task: string | null
  readonly asks: { readonly type: string; readonly options?: readonly { readonly id: string }[] }
  readonly answers: readonly { readonly answer: string; readonly command: string }[]
}

const KNOWN = ['approval', 'consent', 'verdict', 'question', 'decision', 'unknown-outcome', 'work']

export class People {
  readonly decisions: Decision[] = []
  /** Short commands of the people that were killed as well. */
  killed = 0
  readonly #cli: Cli
  readonly #workspace: string
  readonly #ledger: string
  readonly #random: Random
  readonly #sentBack = new Set<string>()

  constructor(cli: Cli, workspace: string, ledger: string, random: Random) {
    this.#cli = cli
    this.#workspace = workspace
    this.#ledger = ledger
    this.#random = random
  }

  /** Answers whatever waits in these plans. Returns how many things were waiting. */
  async answer(plans: readonly LoopPlan[]): Promise<number> {
    if (readPlans(this.#workspace).length === 0) return 0
    let waiting = 0
    for (const plan of plans) waiting += await this.#workAsAgent(plan)
    const inbox = dataOf(await this.#cli.say('inbox'))
    const items = ((inbox?.items ?? []) as readonly InboxItem[]).filter(({ name }) =>
      plans.some(plan => plan.name === name),
    )
    for (const item of items) await this.#answerItem(item)
    return waiting + items.length
  }

  async #answerItem(item: InboxItem): Promise<void> {
    const { name, task, asks } = item
    const of = [name, task ?? '']
    switch (asks.type) {
      case 'approval': {
        const isSentBack = item.answers.some(({ answer }) => answer === 'push-back') && !this.#sentBack.has(name)
        if (isSentBack && this.#random.chance(0.15)) {
          this.#sentBack.add(name)
          await this.#orKilled('answer', '--push-back', ...of, '-m', 'once more')
        } else await this.#orKilled('approve', ...of)
        return
      }
      case 'consent':
      case 'verdict':
        await this.#orKilled('approve', ...of)
        return
      case 'question':
        await this.#orKilled('answer', ...of, 'host=example')
        return
      case 'decision':
        await this.#orKilled('answer', ...of, this.#random.pick(asks.options ?? [])?.id ?? 'one')
        return
      case 'unknown-outcome': {
        const [plan, , visit] = item.key.split('/')
        const key = `${plan}/${task}/${visit}`
        const happened = readLedger(this.#ledger).some(line => line.what === 'effect' && line.key === key)
        await this.#orKilled(happened ? 'approve' : 'retry', ...of)
        return
      }
      case 'work':
        return
    }
    // A question about files: of a rollback, or before files of a task are set back.
    const words = item.answers.map(({ answer }) => answer).filter(answer => /merge|keep|take/.test(answer))
    const [first] = item.answers
    // Changes beside the scope of a claimed task: whose they are is a field of a form.
    const other =
      first?.answer === 'answer' ? `whose=${this.#random.pick(['other', 'task'])}` : (first?.answer ?? 'again')
    const answer = words.length === 0 ? other : this.#random.pick(words)
    this.decisions.push({ plan: name, task, type: asks.type, answer, asked: JSON.stringify(item), at: Date.now() })
    const said = await this.#cli.say('inbox', 'answer', item.id, answer, '-m', 'looked at it')
    // What cannot be answered by its id is answered by the command that was shown with it.
    const command = item.answers.find(each => each.answer === answer)?.command
    if (said.code === 2 && command !== undefined) await this.#cli.say(...wordsOf(command))
  }

  async #workAsAgent(plan: LoopPlan): Promise<number> {
    const task = plan.tasks.find(each => each.class === 'model')
    if (task?.file === undefined || task.file === null || !this.#isOpen(plan.name, task.id)) return 0
    const of = [plan.name, task.id, '--as', 'agent']
    const claim = await this.#orKilled('claim', ...of)
    // Refused because it is not ready, or because another plan holds the files; or killed: then the journal knows whether it is
    // ours. Whoever works without a claim is not seen at work.
    if (claim.code !== 0 && !this.#isClaimed(plan.name, task.id)) return claim.signal === null ? 0 : 1
    const file = join(this.#workspace, task.file)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `by the agent: ${task.id}\n`)
    await this.#orKilled('report', '--status', 'done', ...of)
    return 1
  }

  #isClaimed(name: string, task: string): boolean {
    let isClaimed = false
    for (const { events } of readJournal(this.#workspace).filter(entry => entry.name === name))
      for (const event of events)
        if (event.task === task && event.type.startsWith('attempt.')) isClaimed = event.type === 'attempt.started'
    return isClaimed
  }

  /** What it needs has been done since it was done itself. */
  #isOpen(name: string, task: string): boolean {
    const entries = readJournal(this.#workspace).filter(entry => entry.name === name)
    let isOpen = false
    for (const { events } of entries) {
      for (const event of events) {
        if (event.type === 'attempt.succeeded' && event.task === task) isOpen = false
        else if (event.type === 'attempt.succeeded' || event.type === 'gate.decided') isOpen = true
        else if (event.type === 'plan.finished') isOpen = false
      }
    }
    return isOpen
  }

  /** Some of their commands are killed, too. Such an answer was never acknowledged; they ask again later. */
  async #orKilled(...argv: readonly string[]): Promise<Call> {
    if (!this.#random.chance(0.08)) return await this.#cli.say(...argv)
    const running = this.#cli.start(...argv, '--json')
    await Promise.race([running.ended, pause(this.#random.between(50, 500))])
    if (!running.isOver()) this.killed++
    await running.kill('owner')
    return await running.ended
  }
}

/** As a shell splits it, without the name of the program. */
const wordsOf = (command: string): readonly string[] =>
  [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '').slice(1)

export const isAboutFiles = (type: string): boolean => !KNOWN.includes(type)
