// What to do next, in the words of the service: refusals of the engine speak of commands, and whoever asked over HTTP has none.

import type { Refusal } from '../domain/refusal.ts'
import { RIGHTS, type Who } from './who.ts'

/** What is said with more words stands first. `PLAN` is the plan that the hint names, else the one it is about; `TASK` the task. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/planfold next(?: [^\s`]+)? --explain/, 'GET /plans/PLAN/next?explain=true'],
  [/planfold checkpoints list(?: [^\s`]+)?/, 'GET /plans/PLAN/checkpoints'],
  [/planfold halt --lift/, 'DELETE /halt'],
  [/planfold log(?: [^\s`]+)*? --output/, 'GET /plans/PLAN/logs'],
  [/planfold log(?: [^\s`]+)?/, 'GET /plans/PLAN/entries'],
  [/planfold proposals(?: [^\s`]+)?/, 'GET /plans/PLAN/proposals'],
  [/planfold status(?: [^\s`]+)?/, 'GET /plans/PLAN/status'],
  [/planfold show(?: [^\s`]+)?/, 'GET /plans/PLAN/board'],
  [/planfold list/, 'GET /plans'],
  [/`--keep-done`/, '{"unsafe": "keep"}'],
  [/`--repeat`/, '{"unsafe": "repeat"}'],
  [/planfold inbox/, 'GET /inbox'],
  [/planfold revise(?: [^`]+)?/, 'POST /plans/PLAN/revisions'],
  [/planfold retry [^`]*--repeat/, 'POST /plans/PLAN/tasks/TASK/retry with {"repeat": true}'],
  [/planfold (approve|answer|choose)(?: [^`]+)?/, 'POST /plans/PLAN/gates/TASK/$1'],
  [/planfold (retry|skip)(?: (?<plan>[\w.-]+) (?<task>[^\s`]+))?(?: [^`]+)?/, 'POST /plans/PLAN/tasks/TASK/$1'],
  [/planfold (resume|pause|cancel|rollback)(?: (?<plan>\w[\w.-]*))?(?: [^`]+)?/, 'POST /plans/PLAN/$1'],
  [/planfold run(?: [^`]+)?/, 'POST /plans/PLAN/execute'],
]

const ALLOWED: { readonly [word: string]: string } = {
  run: 'execute',
  'keep-done': 'keep',
  'prune --archive': 'delete',
  'cancel --force': 'cancel',
}

/** What whoever asks for work is told while everything is halted: to lift that is for people, and for those who may. */
export const STOP_AND_WAIT = 'stop working; somebody who may will lift it, and then you can go on'

/** A hint that only helps somebody who may lift a halt is not for anybody else. */
export function forTheirRole({ role }: Pick<Who, 'role'>, refusal: Refusal): Refusal {
  if (RIGHTS[role].has('administer') || refusal.hint?.includes('planfold halt --lift') !== true) return refusal
  return { ...refusal, hint: STOP_AND_WAIT }
}

export function inOurWords(refusal: Refusal, plan: string | null, task?: string): Refusal {
  const { hint, allowed } = refusal
  const words = allowed?.map(word => ALLOWED[word] ?? word)
  return {
    ...refusal,
    ...(hint === undefined ? {} : { hint: hintHere(hint, { plan: plan ?? '…', task: task ?? '…' }, allowed, words) }),
    ...(words === undefined ? {} : { allowed: words }),
  }
}

function hintHere(
  hint: string,
  about: { readonly plan: string; readonly task: string },
  allowed: readonly string[] | undefined,
  words: readonly string[] | undefined,
): string {
  // What is allowed is told as a list there, too.
  const [theirs, ours] = [allowed?.join(', '), words?.join(', ')]
  if (theirs !== undefined && ours !== undefined && theirs !== ours && hint.includes(theirs))
    return hint.replace(theirs, ours)
  // A hint may name several commands, also the same one twice. What was put in place of one is no command, so none is turned twice.
  return WORDS.reduce((text, [pattern, route]) => {
    const turn = (...found: unknown[]): string => {
      const groups = found.at(-1)
      const named = typeof groups === 'object' ? (groups as Partial<typeof about>) : {}
      const { plan, task } = { plan: named.plan ?? about.plan, task: named.task ?? about.task }
      const path = encodeURIComponent(task).replace('%E2%80%A6', '…')
      return route
        .replace('$1', String(found[1]))
        .replace('PLAN', () => plan)
        .replace('TASK', () => path)
    }
    return text.replace(new RegExp(pattern, 'g'), turn)
  }, hint)
}
