// One run of the conformance suite: every scenario that a protocol version requires, and those it only reports, against one address.

import { mkdtemp, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { Tools } from './pinned-tools.ts'

export const VERSIONS = ['2025-11-25', '2026-07-28'] as const
export type Version = (typeof VERSIONS)[number]

export interface Outcome {
  readonly scenario: string
  /** Why the suite does not count it for this version (an extension, pending, …); null: it is required. */
  readonly unscored: string | null
  /** Null when the suite left no result. */
  readonly checks: readonly Check[] | null
}

export interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'INFO' | 'SKIPPED'
  readonly errorMessage?: string
}

interface Requirements {
  readonly server: readonly string[]
  readonly not_scored: readonly { readonly scenario: string; readonly leg: string; readonly reason: string }[]
}

export async function runSuite(tools: Tools, url: string, version: Version, home: string): Promise<readonly Outcome[]> {
  const results = await mkdtemp(join(home, 'results-'))
  await tools.conformance(['server', '--url', url, '--requirements', version, '--output-dir', results], home)
  const folders = await readdir(results)
  const { server, not_scored } = parse(
    await readFile(join(tools.requirements, `${version}.yaml`), 'utf8'),
  ) as Requirements
  const wanted = [
    ...server.map(scenario => ({ scenario, unscored: null })),
    ...not_scored.filter(({ leg }) => leg === 'server').map(({ scenario, reason }) => ({ scenario, unscored: reason })),
  ]
  return await Promise.all(
    wanted.map(async one => ({ ...one, checks: await checksOf(results, folders, one.scenario) })),
  )
}

/** A folder is called after its scenario and the time it began. */
async function checksOf(
  results: string,
  folders: readonly string[],
  scenario: string,
): Promise<readonly Check[] | null> {
  const folder = folders.find(name => name.replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '') === `server-${scenario}`)
  if (folder === undefined) return null
  try {
    return JSON.parse(await readFile(join(results, folder, 'checks.json'), 'utf8')) as Check[]
  } catch {
    return null
  }
}
