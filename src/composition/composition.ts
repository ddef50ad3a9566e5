// What compose is asked for, and what it opens.

import type { Wording } from '../domain/hint.ts'
import type { ActionType } from '../domain/plan.ts'
import type { EngineInProcess, Feed, Worker } from '../engine/engine.ts'
import type { Caller } from '../engine/roles.ts'
import type { Rooms } from '../engine/rooms.ts'
import type { CustomRunner } from '../runners/custom/custom-runner.ts'
import type { Models } from '../runners/models.ts'
import type { Runner } from '../runners/runner.ts'
import type { Git } from '../workspace/git/git.ts'
import type { OnProgress } from '../workspace/workspace.ts'
import type { StatePlace } from './state-folder.ts'

export interface ComposeOptions extends StatePlace {
  /** In whose name the engine acts, and what they may do. */
  readonly caller: Caller | Promise<Caller>
  /** False: do not create `.planfold` when there is none; throws NoState instead. */
  readonly create?: boolean
  /** Only look: the state is opened so that nothing in it can change, and must be there. */
  readonly reading?: boolean
  /**
   * `postgres://…`, where plans are kept instead of in the folder's own database. Absent: PLANFOLD_DATABASE, or the person's setting for
   * this workspace. Null: the folder's own. The folder holds the first copy of the contents of files, and the only one of plans with confidential tasks.
   */
  readonly database?: string | null
  /** Labels of this worker, besides those of the machine (`linux`, `x64`): plans may want them, see `place`. */
  readonly labels?: readonly string[]
  /** Runners of this program, which tasks name: `runner: { use: NAME }`. */
  readonly runners?: readonly CustomRunner[]
  /** How steps are said in what people are handed; plain names when nobody says it. */
  readonly word?: Wording
  /** How long an agent waits for a person before it is parked. */
  readonly agentPatienceMs?: number
}

export interface Composed {
  readonly engine: EngineInProcess
  readonly worker: Worker
  /** What live streams are fed from. */
  readonly feed: Feed
  /** The workspace. */
  readonly root: string
  readonly stateDir: string
  /** Of this worker, see `place` in a plan. */
  readonly labels: readonly string[]
  readonly now: () => number
  /** The repository around the workspace, for what is no part of a plan. */
  readonly git: Git
  /** Who carries out tasks, by action; the program's own stand behind `runner`. */
  readonly runners: ReadonlyMap<ActionType, Runner>
  /** Language models, for what is no part of a plan: drafting one, listing and testing. */
  readonly models: Models
  /** Tells whether commands can be held here. */
  readonly sandbox: Pick<NonNullable<Rooms['sandbox']>, 'check'>
  /** What in the environment is not followed, though it was meant to be: a sentence each. */
  readonly warnings: readonly string[]
  /** Tells this listener, instead of the one before, while the files of the workspace are looked at. */
  onProgress(listener: OnProgress): void
  close(): Promise<void>
}
