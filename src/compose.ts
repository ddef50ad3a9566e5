// With which choice: reads environment and configuration, opens the rooms, hands out an Engine. (Being written by the lead.)
import type { Actor } from './domain/id.ts'
import type { Engine, Worker } from './engine/engine.ts'

export interface ComposeOptions {
  /** Where the person stands; the workspace root is found upwards from here. */
  readonly cwd: string
  readonly environment: { readonly [name: string]: string | undefined }
  /** `--dir`: the state folder, instead of the nearest `.planfold`. */
  readonly dir?: string
  /** `--as`: who acts. */
  readonly as?: string
  /** False: do not create `.planfold` when there is none; throws NoState instead. */
  readonly create?: boolean
  /** True: the store lives in memory and nothing is written, not even `.planfold`; for `run --dry-run`. */
  readonly memory?: boolean
}

export interface Composed {
  readonly engine: Engine
  readonly worker: Worker
  /** The workspace. */
  readonly root: string
  readonly stateDir: string
  readonly actor: Actor
  readonly now: () => number
  close(): Promise<void>
}

/** There is no `.planfold` folder from here upwards, and none was to be made. */
export class NoState extends Error {
  override readonly name = 'NoState'
}

export declare function compose(options: ComposeOptions): Promise<Composed>
