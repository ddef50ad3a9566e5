// The list of runners by kind of action. Kinds without one have no work of their own, or are claimed.

import type { ActionType } from '../domain/plan.ts'
import type { Failure } from '../domain/result.ts'
import { type CustomRunner, customRunner } from './custom/custom-runner.ts'
import { dbRunner } from './db/db-runner.ts'
import { decideRunner } from './decide/decide-runner.ts'
import { editRunner } from './edit/edit-runner.ts'
import { gitRunner } from './git/git-runner.ts'
import { httpRunner } from './http/http-runner.ts'
import { processTree } from './run/process-tree.ts'
import { runRunner } from './run/run-runner.ts'
import type { ProcessTree, Runner, RunnerAbout } from './runner.ts'
import { waitRunner } from './wait-runner.ts'

export interface RunnerParts {
  readonly tree?: ProcessTree
  /** Registered by the embedding program, for `runner: { use: NAME }`. */
  readonly own?: readonly CustomRunner[]
  readonly model: ExtraRunner
  readonly agent: ExtraRunner
}

/** A runner of an extra, opened when it is first used; or why this build has none. */
export type ExtraRunner = { readonly open: () => Promise<Runner> } | { readonly lacks: string }

export function openRunners({
  tree = processTree(),
  own = [],
  model,
  agent,
}: RunnerParts): ReadonlyMap<ActionType, Runner> {
  const runners: readonly Runner[] = [
    runRunner({ tree }),
    editRunner(),
    gitRunner(),
    httpRunner(),
    waitRunner(),
    dbRunner(),
    extraRunner('model', ABOUT_MODELS, model),
    extraRunner('agent', ABOUT_AGENTS, agent),
    decideRunner(),
    customRunner(own),
  ]
  return new Map(runners.map(runner => [runner.action, runner]))
}

function extraRunner(action: 'model' | 'agent', about: RunnerAbout, extra: ExtraRunner): Runner {
  if ('lacks' in extra)
    return {
      action,
      about: { ...about, lacks: extra.lacks },
      attempt: async () => ({ type: 'failed', failure: lacking(extra.lacks), begun: false }),
    }
  let opened: Promise<Runner> | null = null
  const runner = (): Promise<Runner> => {
    opened ??= extra.open()
    return opened
  }
  return {
    action,
    about,
    ...(action === 'agent' ? { needs: ['agent'] } : {}),
    preview: async (...asked) => (await (await runner()).preview?.(...asked)) ?? { text: '' },
    attempt: async (...asked) => await (await runner()).attempt(...asked),
  }
}

const lacking = (message: string): Failure => ({
  class: 'logic',
  code: 'not-in-build',
  message,
  hint: 'use a build of Planfold that has it, or another kind of task',
  retryable: false,
})

const ABOUT_MODELS: RunnerAbout = {
  does: 'asks a language model',
  effects: ['model'],
  risks: ['the prompt leaves the machine, and the answer costs money'],
  dryRun: 'the prompt',
  uses: ['models'],
}

const ABOUT_AGENTS: RunnerAbout = {
  does: 'starts a coding agent, and checks its work with the acceptance checks of the task',
  effects: ['model', 'unsafe'],
  risks: [
    'its prompt leaves the machine, and its model costs money; a sandbox limits it to its write scope and network',
  ],
  dryRun: 'the agent and its prompt',
  uses: ['agents', 'sandbox', 'network'],
}
