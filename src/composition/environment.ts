// What the environment of this process says about Planfold itself: how long a lease lasts, how large the content store may grow, and where
// a test ends the process.

import { VERSION } from '../cli/version.ts'
import { readSize } from '../format/text/units.ts'

export type Environment = { readonly [name: string]: string | undefined }

/** How long a silent owner keeps its plans; it renews three times as often. */
const LEASE_MS = 15_000
/** Snapshots may fill this much; then they say so, and go without. */
const QUOTA_BYTES = 20_000_000_000
/** A lease shorter than this would be lost to a slow disk. */
const LEASE_MIN_MS = 500

/** `PLANFOLD_FAILPOINT=store.commit:before:3` ends this process, without a word, the third time it passes that point. */
export function failpointOf(environment: Environment): ((name: string) => void) | undefined {
  const told = nonEmpty(environment.PLANFOLD_FAILPOINT)
  if (told === undefined) return undefined
  const at = told.lastIndexOf(':')
  const point = told.slice(0, at)
  let left = Number(told.slice(at + 1))
  return name => {
    if (name === point && --left === 0) process.kill(process.pid, 'SIGKILL')
  }
}

/** How large snapshots may make the content store. What cannot be read falls back to the default, and never to nothing. */
export function quotaOf(environment: Environment): number {
  const told = readSize(environment.PLANFOLD_QUOTA ?? '')
  return told.ok ? told.value : QUOTA_BYTES
}

export function leaseMsOf(environment: Environment): number {
  const told = Number(environment.PLANFOLD_LEASE_MS)
  return Number.isFinite(told) && told >= LEASE_MIN_MS ? told : LEASE_MS
}

export const nonEmpty = (text: string | undefined): string | undefined =>
  text === undefined || text === '' ? undefined : text

/** This program and its machine, as the audit trail names them. */
export const ABOUT = `planfold ${VERSION}, node ${process.version}, ${process.platform} ${process.arch}`
