// The list of all kinds of actions. A new kind is a line here, one in `format/actions/actions.ts`, and one in `runners/runners.ts`.

import type { CommandLine } from '../plan-values.ts'
import type { ActionFacts } from './action-facts.ts'
import { AGENT } from './agent-action.ts'
import { CHECKPOINT } from './checkpoint-action.ts'
import { DB } from './db-action.ts'
import { DECIDE } from './decide-action.ts'
import { EDIT } from './edit-action.ts'
import { EXTERNAL } from './external-action.ts'
import { GATE } from './gate-action.ts'
import { GIT } from './git-action.ts'
import { HTTP } from './http-action.ts'
import { MODEL } from './model-action.ts'
import { RUN } from './run-action.ts'
import { RUNNER } from './runner-action.ts'
import { GROUP, ITEMS, RESEARCH, SUBPLAN, VERIFY } from './structure-actions.ts'
import { WAIT } from './wait-action.ts'

export const ACTIONS = {
  run: RUN,
  edit: EDIT,
  git: GIT,
  http: HTTP,
  wait: WAIT,
  db: DB,
  model: MODEL,
  agent: AGENT,
  runner: RUNNER,
  decide: DECIDE,
  gate: GATE,
  checkpoint: CHECKPOINT,
  external: EXTERNAL,
  subplan: SUBPLAN,
  group: GROUP,
  items: ITEMS,
  verify: VERIFY,
  research: RESEARCH,
}

export type Action = { readonly [K in keyof typeof ACTIONS]: ActionIn<(typeof ACTIONS)[K]> }[keyof typeof ACTIONS]
export type ActionType = Action['type']

type ActionIn<Facts> = Facts extends ActionFacts<infer A> ? A : never

export const actionFacts = ({ type }: Pick<Action, 'type'>): ActionFacts<Action> =>
  ACTIONS[type] as ActionFacts<never> as ActionFacts<Action>

/** The single command that it runs in the sandbox; null for `git`, whose command only stands for what the engine does, and all others. */
export function sandboxedCommand(action: Action): CommandLine | null {
  const { runsCommands, command } = actionFacts(action)
  return runsCommands === true ? (command?.(action) ?? null) : null
}

/** Does it run in a folder that must belong to this task alone? */
export function worksInFolder(action: Action): boolean {
  const { acts, changesFiles, runsCommands } = actionFacts(action)
  return acts === true && (changesFiles === true || runsCommands === true)
}
