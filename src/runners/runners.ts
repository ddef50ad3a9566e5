// The list of runners: who carries out the tasks of each kind. Kinds that are not here do nothing by themselves, or are claimed.

import type { ActionType } from '../domain/plan.ts'
import { modelRunner } from '../extras/models/model-runner.ts'
import { type CustomRunner, customRunner } from './custom/custom-runner.ts'
import { dbRunner } from './db/db-runner.ts'
import { decideRunner } from './decide/decide-runner.ts'
import { editRunner } from './edit/edit-runner.ts'
import { gitRunner } from './git/git-runner.ts'
import { httpRunner } from './http/http-runner.ts'
import type { Models } from './models.ts'
import { processTree } from './run/process-tree.ts'
import { runRunner } from './run/run-runner.ts'
import type { ProcessTree, Runner, RunnerAbout } from './runner.ts'
import { waitRunner } from './wait-runner.ts'

/** What runners are made of. */
export interface RunnerParts {
  readonly models: Models
  readonly tree?: ProcessTree
  /** Those of this program, which tasks name: `runner: { use: NAME }`. */
  readonly own?: readonly CustomRunner[]
  /** Loaded when an agent is started; absent where none is. */
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
