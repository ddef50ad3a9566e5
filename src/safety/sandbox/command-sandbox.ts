// Wraps a command in its sandbox as the engine has decided, with its network open while it runs. For the runner of commands, and for hooks.

import { defined } from '../../domain/json.ts'
import type { Answer } from '../safety-refusal.ts'
import type {
  Beyond,
  BorrowedFolder,
  OpenNetwork,
  OwnView,
  Sandbox,
  SandboxLimits,
  SandboxNetwork,
  SandboxRequest,
  Wrapped,
} from './sandbox.ts'

export interface SandboxUse {
  readonly room: Sandbox
  /** The network, or how to open one for a command. */
  readonly network: SandboxNetwork | ((log: Log) => Promise<Answer<OpenNetwork>>)
  /** Without a sandbox nothing runs; otherwise the weaker protection is reported. */
  readonly isRequired: boolean
  readonly limits?: SandboxLimits
  readonly own?: OwnView
  readonly borrowed?: readonly BorrowedFolder[]
}

type Log = (stream: 'stdout' | 'stderr' | 'engine', chunk: Uint8Array) => void

export type SandboxedCommand = Wrapped & Pick<OpenNetwork, 'close'>

/** Null, with a note in the log, where there is no sandbox and none is required. */
export async function sandboxCommand(
  { room, network, isRequired, limits, own, borrowed }: SandboxUse,
  request: Omit<SandboxRequest, 'network' | 'limits' | 'own' | 'borrowed'>,
  log: Log,
): Promise<Answer<SandboxedCommand> | null> {
  if (!isRequired) {
    const available = await room.check()
    if (!available.ok) {
      log('engine', Buffer.from(`${available.failure.message}; this command runs with your permissions\n`))
      return null
    }
  }
  const open = typeof network === 'function' ? await network(log) : ({ ok: true, value: { network, close } } as const)
  if (!open.ok) return open
  const given = defined({ limits, own, borrowed })
  const wrapped = await room.wrap({ ...request, network: open.value.network, ...given })
  if (wrapped.ok) {
    const close: OpenNetwork['close'] = async hasFailed => {
      wrapped.value.release()
      await open.value.close(hasFailed)
    }
    return { ok: true, value: { ...wrapped.value, close } }
  }
  await open.value.close()
  return wrapped
}

export async function beyondOf(shut: Pick<Wrapped, 'lookAfter'> | undefined): Promise<{ readonly beyond?: Beyond }> {
  const beyond = await shut?.lookAfter()
  if (beyond === undefined) return {}
  return beyond.appeared.length + beyond.changed.length + (beyond.left ?? []).length === 0 ? {} : { beyond }
}

const close = async () => {}

const GIT_OPTIONS: ReadonlySet<string> = new Set([
  ...['-u', '--set-upstream', '--tags', '--follow-tags', '--force-with-lease', '--force-if-includes', '-f', '--force'],
  ...['--all', '--prune', '-p', '--atomic', '--delete', '-d', '-n', '--dry-run', '-q', '--quiet', '-v', '--verbose'],
])

/**
 * `git push` and `git fetch` need the user's credentials, and so cannot work in a sandbox. Only words that cannot make git start another
 * program are accepted; any other command runs inside, and fails there. The gate of the task has shown every word.
 */
export function runsOutside(argv: readonly string[]): boolean {
  const [program, command, ...words] = argv
  if (program !== 'git' || (command !== 'push' && command !== 'fetch')) return false
  return words.every(word => (word.startsWith('-') ? GIT_OPTIONS.has(word) : isPlain(word)))
}

/** A remote, a branch or a refspec; or an address without a helper program (`ext::…`). */
const isPlain = (word: string): boolean =>
  /^\+?[\w./@-]+(:[\w./@-]*)?$/.test(word) || /^(https|ssh|git):\/\/[\w.@:/~-]+$/.test(word)
