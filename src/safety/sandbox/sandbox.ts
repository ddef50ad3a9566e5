// Door of the sandbox: a wrapped command sees an allow list of the system, writes only where it may, has only the network it is given, and
// ends with the process that started it. The engine decides whether it is used.

import type { Failure } from '../../domain/result.ts'
import type { Answer } from '../safety-refusal.ts'
import type { Patterns } from '../scope.ts'

export interface Sandbox {
  /** Is a sandbox available here? Tested once and cached. */
  check(): Promise<SandboxCheck>
  wrap(request: SandboxRequest): Promise<Answer<Wrapped>>
}

export type SandboxCheck =
  | { readonly ok: true; readonly program: string; readonly version: string }
  /** `failure`: why not, and how to fix it. */
  | { readonly ok: false; readonly failure: Failure }

/** Paths are absolute. */
export interface SandboxRequest {
  /** The workspace: readable, except for Planfold's state. */
  readonly root: string
  readonly stateDir: string
  /** The working directory, below the root or the root itself. */
  readonly cwd: string
  /** Patterns below the root; null: everything, an empty list: nothing. */
  readonly write: Patterns
  /**
   * Names below `cwd` that the program itself creates: a new folder (`.name/**`) is in memory only, other new names are reported
   * separately.
   */
  readonly scratch?: readonly string[]
  /** Patterns below the root that are readable besides the writable ones; absent: everything. */
  readonly read?: readonly string[]
  /** Folders of elsewhere, shown read-only below the root, where there is an empty folder for each. */
  readonly borrowed?: readonly BorrowedFolder[]
  readonly network: SandboxNetwork
  /** Our own sockets on its loopback, with any network but that of this machine. */
  readonly doors?: readonly SandboxDoor[]
  /** For the user's own commands: shows their home without credentials, and caches. Absent: an empty home. */
  readonly own?: OwnView
  /** A persistent folder as its home; absent: a home in memory. */
  readonly home?: string
  /** An empty folder in memory instead of the workspace, for a copy that ends with the sandbox; `write` and `read` are ignored then. */
  readonly copy?: WorkspaceCopy
  /** Further readable folders, such as those of the program itself. */
  readonly readable?: readonly string[]
  readonly limits?: SandboxLimits
  readonly argv: readonly string[]
  /** The environment of the command, as without a sandbox. */
  readonly env: { readonly [name: string]: string }
}

export interface BorrowedFolder {
  readonly from: string
  readonly to: string
}

export interface WorkspaceCopy {
  /** Paths below the root that are shared read-only instead of copied. */
  readonly shared: readonly string[]
  readonly maxBytes: number
}

export interface OwnView {
  /** Absolute paths below the home that are shown with their credentials. */
  readonly show: readonly string[]
  /** The folder for the caches of package managers, kept per workspace. */
  readonly caches: string
  /** Only the scope itself is writable, as for commands of others, because a policy layer demands it. */
  readonly isLimited?: boolean
}

export interface SandboxLimits {
  readonly memoryBytes: number
  readonly processes: number
}

/** `host`: that of this machine. `none`: no address can be reached. */
export type SandboxNetwork = 'host' | 'none' | ProxiedNetwork

export interface ProxiedNetwork {
  readonly proxyFolder: string
  /** The port of the proxy on the sandbox's loopback. */
  readonly port: number
  /** Addresses on the same port of the sandbox's loopback, for programs without proxy support. The proxy judges them. */
  readonly tcp?: readonly { readonly host: string; readonly port: number }[]
}

/** A Unix socket outside, e.g. of the model gateway, and the port of the sandbox's loopback that forwards to it. */
export interface SandboxDoor {
  readonly folder: string
  readonly socket: string
  readonly port: number
}

/** Network access for the duration of one command. */
export interface OpenNetwork {
  readonly network: SandboxNetwork
  /** `hasFailed`: the command failed, possibly for lack of network access. */
  close(hasFailed?: boolean): Promise<void>
}

export interface Wrapped {
  readonly file: string
  readonly args: readonly string[]
  readonly env: { readonly [name: string]: string }
  /** Read by the launcher from its own descriptor, NUL-separated. */
  readonly mounts: readonly string[]
  /** Writable mounts, which are verified from outside before anything runs. */
  readonly writable: readonly string[]
  readonly inMemory: readonly string[]
  /** Those of `inMemory` in which a user would look for output of the command. */
  readonly temporary: readonly string[]
  readonly limits: SandboxLimits
  /** Unexpected changes after the command has ended; the caller decides about them. */
  lookAfter(): Promise<Beyond>
  /** Removes what was created for the sandbox and is no longer needed. */
  release(): void
}

/** Paths below the workspace. They may be by the command or by another process. */
export interface Beyond {
  /** New names outside the scope, and new protected ones. */
  readonly appeared: readonly string[]
  /** Read-only names and writable mounts that were changed or replaced. */
  readonly changed: readonly string[]
  /** New names that `scratch` expects; not in `appeared`. */
  readonly left?: readonly string[]
}

export const INSTALL_HINT =
  'install bubblewrap (Debian, Ubuntu: `apt-get install bubblewrap`; Fedora: `dnf install bubblewrap`)'
