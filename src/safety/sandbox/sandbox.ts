// The door of the sandbox: a command is wrapped so that it sees an allow list of the system, writes only where it may, has no
// network but what it is given, and ends with the process that started it. Who decides whether one is used is the engine.

import type { Failure } from '../../domain/result.ts'
import type { Answer } from '../safety-refusal.ts'
import type { Patterns } from '../scope.ts'

export interface Sandbox {
  /** Whether commands can be shut in here, tried once and remembered. */
  check(): Promise<SandboxStanding>
  wrap(request: SandboxRequest): Promise<Answer<Wrapped>>
}

export type SandboxStanding =
  | { readonly ok: true; readonly program: string; readonly version: string }
  /** `failure` says why, and how to repair it. */
  | { readonly ok: false; readonly failure: Failure }

/** What one command may touch. Paths are absolute. */
export interface SandboxRequest {
  /** The workspace: readable, but for Planfold's state. */
  readonly root: string
  readonly stateDir: string
  /** Where it begins, below the root or the root itself. */
  readonly cwd: string
  /** Patterns below the root that may be written; null: all of it, an empty list: nothing. */
  readonly write: Patterns
  /** Names below `cwd` that the program leaves there by itself: a new folder (`.name/**`) is in memory only, other new names are told apart. */
  readonly scratch?: readonly string[]
  /** Patterns below the root that may be read, besides what may be written; absent: all of it. */
  readonly read?: readonly string[]
  readonly network: SandboxNetwork
  /** Sockets of ours that are found on its loopback, whatever the network is; not with that of this machine. */
  readonly doors?: readonly SandboxDoor[]
  /** For commands the person wrote: shows their home without credentials, and caches. Absent: an empty home. */
  readonly own?: OwnView
  /** A folder that is its home, and stays; absent: a home in memory. */
  readonly home?: string
  /** At the place of the workspace it finds an empty folder in memory, for a copy that ends with the sandbox; `write` and `read` mean nothing then. */
  readonly copy?: WorkspaceCopy
  /** Folders it can read besides the system and the workspace: those of the program it is. */
  readonly readable?: readonly string[]
  readonly limits?: SandboxLimits
  readonly argv: readonly string[]
  /** The environment of the command, as it would be without a sandbox. */
  readonly env: { readonly [name: string]: string }
}

export interface WorkspaceCopy {
  /** Paths below the root that are not copied, and are seen as they are, read-only. */
  readonly shared: readonly string[]
  readonly maxBytes: number
}

export interface OwnView {
  /** Absolute paths below the home that are shown whole, credentials or not. */
  readonly show: readonly string[]
  /** Holds the caches of package managers, kept per workspace. */
  readonly caches: string
  /** Only the scope itself is writable, as for a command of others: somebody around the plan demands it. */
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
  /** Of the sandbox's loopback, where the proxy is found. */
  readonly port: number
  /** Addresses that are found at the same port of the sandbox's loopback: for programs that know no proxy. The proxy judges them. */
  readonly tcp?: readonly { readonly host: string; readonly port: number }[]
}

/** A Unix socket outside, for instance of the model gateway, and the port of the sandbox's loopback that leads to it. */
export interface SandboxDoor {
  readonly folder: string
  readonly socket: string
  readonly port: number
}

/** A way out that lasts as long as one command. */
export interface OpenNetwork {
  readonly network: SandboxNetwork
  /** `hasFailed`: the command ended badly, and may have wanted out in vain. */
  close(hasFailed?: boolean): Promise<void>
}

/** A command as it is to be started, and what is looked at when it has ended. */
export interface Wrapped {
  readonly file: string
  readonly args: readonly string[]
  readonly env: { readonly [name: string]: string }
  /** Read by the launcher from its own descriptor, NUL-separated. */
  readonly mounts: readonly string[]
  /** Folders that are mounted writable, to be looked at from outside before anything runs. */
  readonly writable: readonly string[]
  readonly inMemory: readonly string[]
  /** Those of them in which a person would look for what the command made. */
  readonly temporary: readonly string[]
  readonly limits: SandboxLimits
  /** Unexpected changes after the command has ended; the caller judges them. */
  lookAfter(): Promise<Beyond>
  /** Removes what was made for the sandbox and is not needed any more. */
  release(): void
}

/** Paths below the workspace. Whether the command or another process did it is unknown. */
export interface Beyond {
  /** New names that may not be there. */
  readonly appeared: readonly string[]
  /** Names that were closed and have changed. */
  readonly changed: readonly string[]
  /** New names that `scratch` means; not among `appeared`. */
  readonly left?: readonly string[]
}

export const INSTALL_HINT =
  'install bubblewrap (Debian, Ubuntu: `apt-get install bubblewrap`; Fedora: `dnf install bubblewrap`)'
