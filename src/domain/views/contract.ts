// The contract of a plan: every criterion of its tasks and of its end, with the last verdict: evidence, judge, time and entry. Open
// criteria are listed too.

import type { Event, PlanEntry } from '../event.ts'
import type { Millis, PlanId, Sha256, TaskName } from '../id.ts'
import type { Criterion, TaskDefinition } from '../plan.ts'
import { commandOf, criterionText, effectsText } from '../plan-rules/criterion-text.ts'
import { DONE_TASK } from '../plan-rules/graph-rules.ts'
import type { Stage, TestRun, Verdict } from '../result.ts'
import { evolve } from '../state/evolve.ts'
import { newState } from '../state/fold.ts'
import type { PlanState, TaskState } from '../state/state.ts'
import type { PlanStatus } from '../status.ts'
import { planStatus } from './summary.ts'

export type ContractPart = Stage | 'check' | 'done'

export interface Contract {
  readonly plan: PlanId
  readonly name: string
  readonly status: PlanStatus
  readonly revision: number
  readonly hash: Sha256
  readonly counts: { readonly holds: number; readonly broken: number; readonly open: number }
  readonly lines: readonly ContractLine[]
}

export interface ContractLine {
  readonly task: TaskName
  /** `check`: automatic, by a gate. `done`: the definition of done. */
  readonly part: ContractPart
  readonly criterion: string
  readonly words: string | null
  readonly by: 'command' | 'expression' | 'person' | 'files'
  /** Null when it is open or could not be judged. */
  readonly holds: boolean | null
  readonly judged: Judged | null
}

export interface Judged {
  readonly at: Millis
  readonly who: string
  readonly entry: number
  readonly hash: Sha256
  readonly visit: number
  /** The verdict is from the latest visit of the task. */
  readonly isCurrent: boolean
  readonly evidence: string | null
  /** The last lines of the output, and the complete output by hash and size. */
  readonly said: string | null
  readonly log: { readonly sha256: Sha256; readonly bytes: number } | null
  readonly tests: TestRun | null
}

const ENGINE = 'engine'

export function contractOf(entries: readonly PlanEntry[]): Contract {
  const state = newState()
  const ledger = new Ledger()
  for (const entry of entries) {
    for (const event of entry.events) {
      evolve(state, event, entry.now)
      ledger.read(state, event, entry)
    }
    state.version = entry.version
  }
  const lines = state.order.flatMap(task => linesOf(task.definition, task.visit, ledger))
  const count = (holds: boolean | null): number => lines.filter(line => line.holds === holds).length
  return {
    plan: state.id,
    name: state.definition.name,
    status: planStatus(state),
    revision: state.revision,
    hash: state.hash,
    counts: { holds: count(true), broken: count(false), open: count(null) },
    lines,
  }
}

/** The verdicts of a task's last attempt; for open ones, the answer of the person. */
export function judgedVerdicts({ status, result }: Pick<TaskState, 'status' | 'result'>): readonly Verdict[] {
  // It waited for that answer: completed means approved; failed after a successful attempt means rejected.
  const holds = status === 'completed' ? true : status === 'failed' && result?.status === 'succeeded' ? false : null
  const evidence = holds === true ? 'approved by a person' : 'rejected by a person'
  return (result?.verdicts ?? []).map(one => (one.holds === null && holds !== null ? { ...one, holds, evidence } : one))
}

type Found = { readonly verdict: Verdict; readonly judged: Omit<Judged, 'isCurrent'> }

class Ledger {
  readonly #found = new Map<string, Found>()

  of(task: TaskName, part: ContractPart, criterion: string): Found | undefined {
    return this.#found.get(keyOf(task, part, criterion))
  }

  all(task: TaskName, part: ContractPart): readonly Found[] {
    const prefix = keyOf(task, part, '')
    return [...this.#found].flatMap(([key, found]) => (key.startsWith(prefix) ? [found] : []))
  }

  read(state: PlanState, event: Event, entry: PlanEntry): void {
    switch (event.type) {
      case 'criterion.judged':
        if (event.stage !== 'precondition') return
        this.#note(state, event.task, 'precondition', event, entry)
        return
      case 'attempt.succeeded':
      case 'attempt.failed':
      case 'report.refused':
        for (const verdict of (event.type === 'report.refused' ? event.verdicts : event.result.verdicts) ?? []) {
          const part = verdict.stage ?? (isDone(state, event.task) ? 'done' : 'acceptance')
          this.#note(state, event.task, part, verdict, entry)
        }
        return
      case 'gate.opened':
        for (const verdict of event.evidence ?? []) this.#note(state, event.task, 'check', verdict, entry)
        if (event.asks.type !== 'verdict' || event.asks.before !== true) return
        for (const criterion of event.asks.criteria)
          this.#note(state, event.task, 'precondition', { criterion, holds: null }, entry)
        return
      case 'gate.decided': {
        if (event.verdict !== 'approved' && event.verdict !== 'rejected') return
        const by = event.by ?? entry.actor
        const answer = { holds: event.verdict === 'approved', evidence: event.rationale }
        // A person answers all open criteria.
        for (const [key, { verdict, judged }] of this.#found) {
          if (!key.startsWith(`${event.task}\0`) || verdict.holds !== null) continue
          const { stage, criterion } = verdict
          const answered = { criterion, ...answer, ...(stage === undefined ? {} : { stage }) }
          this.#found.set(key, {
            verdict: answered,
            judged: { ...judged, ...asked(entry), who: by, evidence: answer.evidence },
          })
        }
        return
      }
      case 'assessment.made':
        for (const verdict of event.verdicts) this.#note(state, DONE_TASK, 'done', verdict, entry)
        return
      default:
        return
    }
  }

  #note(state: PlanState, task: TaskName, part: ContractPart, verdict: Verdict, entry: PlanEntry): void {
    const { evidence = null, said = null, log = null, tests = null } = verdict
    const visit = state.tasks.get(task)?.visit ?? 1
    const before = this.of(task, part, verdict.criterion)
    // A person's verdict stays theirs when the engine continues with it.
    if (before?.verdict.holds === verdict.holds && before.judged.who !== ENGINE && before.judged.visit === visit) return
    const judged = { ...asked(entry), who: ENGINE, visit, evidence, said, log, tests }
    this.#found.set(keyOf(task, part, verdict.criterion), { verdict, judged })
  }
}

const asked = ({ now, version, hash }: PlanEntry): Pick<Judged, 'at' | 'entry' | 'hash'> => ({
  at: now,
  entry: version,
  hash,
})

const keyOf = (task: TaskName, part: ContractPart, criterion: string): string => `${task}\0${part}\0${criterion}`

const isDone = ({ tasks }: PlanState, task: TaskName): boolean => tasks.get(task)?.definition.action.type === 'verify'

function linesOf(definition: TaskDefinition, visit: number, ledger: Ledger): readonly ContractLine[] {
  const { id, action, preconditions = [], accept = [], postconditions = [], effects } = definition
  const declared = (part: ContractPart, criteria: readonly Criterion[]): readonly ContractLine[] =>
    criteria.map(criterion => {
      const text = criterionText(criterion)
      const words = criterion.type === 'prose' ? null : (criterion.text ?? null)
      const by = commandOf(criterion) !== null ? 'command' : criterion.type === 'expect' ? 'expression' : 'person'
      return line({ task: id, part, criterion: text, words, by }, ledger.of(id, part, text), visit)
    })
  // Declared scopes are checked without a criterion, as are some types of gates.
  const seen = (part: 'effects' | 'check', known: readonly string[]): readonly ContractLine[] =>
    ledger.all(id, part).flatMap(found => {
      const { criterion } = found.verdict
      return known.includes(criterion)
        ? []
        : [line({ task: id, part, criterion, words: null, by: 'files' }, found, visit)]
    })
  const checks = action.type === 'gate' ? (action.checks ?? []) : []
  const expected = effects === undefined ? [] : [effectsText(effects)]
  return [
    ...declared('precondition', preconditions),
    ...declared('check', checks),
    ...seen('check', checks.map(criterionText)),
    ...declared(action.type === 'verify' ? 'done' : 'acceptance', accept),
    ...declared('postcondition', postconditions),
    ...expected.map(criterion =>
      line(
        { task: id, part: 'effects', criterion, words: null, by: 'files' },
        ledger.of(id, 'effects', criterion),
        visit,
      ),
    ),
    ...seen('effects', expected),
  ]
}

function line(about: Omit<ContractLine, 'holds' | 'judged'>, found: Found | undefined, visit: number): ContractLine {
  if (found === undefined) return { ...about, holds: null, judged: null }
  const isCurrent = found.judged.visit === visit
  return { ...about, holds: found.verdict.holds, judged: { ...found.judged, isCurrent } }
}
