// The list of runners by kind of action. Kinds without one have no work of their own, or are claimed.

import type { ActionType } from '../domain/plan.ts'
import type { Models } from '../extras/models/model.ts'
import { modelRunner } from '../extras/models/model-runner.ts'
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
  readonly models: Models
  readonly tree?: ProcessTree
  /** Registered by the embedding program, for `runner: { use: NAME }`. */
  readonly own?: readonly CustomRunner[]
  /** Loaded lazily; absent where there are no agents. */
  readonly agent?: () => Promise<Runner>
}

export function openRunners(parts: RunnerParts): ReadonlyMap<ActionType, Runner> {
  const { models, tree = processTree(), own = [], agent } = parts
  const runners: readonly Runner[] = [
    runRunner({ tree }),
    editRunner(),
    gitRunner(),
    httpRunner(),
    waitRunner(),
    dbRunner(),
    modelRunner({ models }),
    agentRunner(agent),
    decideRunner(),
    customRunner(own),
  ]
  return new Map(runners.map(runner => [runner.action, runner]))
}

/** Loaded with its first attempt: few plans start agents. */
function agentRunner(open?: () => Promise<Runner>): Runner {
  let opened: Promise<Runner> | null = null
  const runner = (): Promise<Runner> => {
    if (open === undefined) throw new Error('no coding agent is started here')
    opened ??= open()
    return opened
  }
  return {
    action: 'agent',
    about: ABOUT_AGENTS,
    needs: ['agent'],
    preview: async (...asked) => (await (await runner()).preview?.(...asked)) ?? { text: '' },
    attempt: async (...asked) => await (await runner()).attempt(...asked),
  }
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
