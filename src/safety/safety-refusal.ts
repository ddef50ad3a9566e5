// Refusals of this room: a Failure made where the reason is known, thrown as `Refused` through nested file work, and converted to a value
// at the door of every room. Only refusals and errors of the operating system are converted; bugs propagate.

import type { Hint } from '../domain/hint.ts'
import type { Failure, FailureClass } from '../domain/result.ts'
import { shortageKindOf } from '../domain/shortage.ts'

export type Answer<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: Failure }

export class Refused extends Error {
  override readonly name = 'Refused'
  readonly failure: Failure
  constructor(failure: Failure) {
    super(failure.message)
    this.failure = failure
  }
}

export function failure(kind: FailureClass, message: string, hint?: Hint): Failure {
  const retryable = kind === 'transient' || kind === 'resource'
  return hint === undefined ? { class: kind, message, retryable } : { class: kind, message, hint, retryable }
}

export function refuse(kind: FailureClass, message: string, hint?: Hint): never {
  throw new Refused(failure(kind, message, hint))
}

/** Runs file work and returns a value; `doing` begins the sentence when the operating system refused. */
export async function answering<T>(doing: string, work: () => Promise<T>): Promise<Answer<T>> {
  try {
    return { ok: true, value: await work() }
  } catch (error) {
    const found = failureOf(doing, error)
    if (found === null) throw error
    return { ok: false, failure: found }
  }
}

/** The failure of a refusal or a file system error; null for a bug. */
export function failureOf(doing: string, error: unknown): Failure | null {
  if (error instanceof Refused) return error.failure
  const code = codeOf(error)
  if (code === null || code.startsWith('ERR_')) return null
  const [kind, what, hint] = MEANINGS[code] ?? [
    'logic',
    `the operating system said ${code}`,
    'look at the file and try again',
  ]
  const shortage = shortageKindOf(code)
  return {
    ...failure(kind, `${doing}: ${what}`, hint),
    code: `errno:${code}`,
    ...(shortage === null ? {} : { shortage }),
  }
}

/** Such as ENOENT; null for any other error. */
export function codeOf(error: unknown): string | null {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return null
  return error.code
}

export const isSystemError = (error: unknown): boolean => codeOf(error) !== null

export const hasCode =
  (...codes: readonly string[]) =>
  (error: unknown): boolean =>
    codes.includes(codeOf(error) ?? '')

export async function orElseAsync<T, F>(
  look: () => Promise<T>,
  otherwise: F,
  isExpected: (error: unknown) => boolean,
): Promise<T | F> {
  try {
    return await look()
  } catch (error) {
    if (isExpected(error)) return otherwise
    throw error
  }
}

export const ignoring = <T>(codes: readonly string[], work: () => Promise<T>): Promise<T | null> =>
  orElseAsync(work, null, hasCode(...codes))

const FREE = 'free some, then try again'
const BACK = 'mount it again'
const MEANINGS: { readonly [code: string]: readonly [FailureClass, string, string] } = {
  ENOSPC: ['resource', 'the disk is full', FREE],
  EDQUOT: ['resource', 'the disk quota is used up', FREE],
  EMFILE: ['resource', 'this process has too many open files', 'raise `ulimit -n` or lower the concurrency'],
  ENFILE: ['resource', 'the system has too many open files', FREE],
  ENOMEM: ['resource', 'there is not enough memory', FREE],
  EAGAIN: ['resource', 'the system is short of processes or memory', FREE],
  EBUSY: ['transient', 'it is in use', 'try again when nothing uses it'],
  ETXTBSY: ['transient', 'it is a program that runs right now', 'try again when it has ended'],
  EIO: ['resource', 'the disk did not answer properly', 'check the disk'],
  ESTALE: ['resource', 'the file system under it is gone', BACK],
  ENOTCONN: ['resource', 'the file system under it is gone', BACK],
  ENODEV: ['resource', 'the device under it is gone', BACK],
  EROFS: ['logic', 'the file system is read-only', 'choose a writable place'],
  EACCES: ['policy', 'permission denied', 'check owner and mode'],
  EPERM: ['policy', 'not permitted', 'check owner, mode and attributes'],
  ENOENT: ['logic', 'there is no such file or directory', 'check the path'],
  EISDIR: ['logic', 'it is a directory', 'name a file'],
  ENOTEMPTY: ['logic', 'the directory is not empty', 'look at what is left in it'],
  ENOTDIR: ['policy', 'part of the path is not a directory', 'symbolic links are not followed; use the real path'],
  ELOOP: ['policy', 'it is a symbolic link', 'symbolic links are not followed; use the real path'],
}
