// Where the artifacts of a plan lie when they are handed on as files: one for each content, named after the task and output that left
// it first. Names are made of harmless letters, so no output can choose a place.

import type { Sha256 } from '../id.ts'
import type { Handoff } from './handoff.ts'

export interface ArtifactFile {
  readonly sha256: Sha256
  /** Relative to the folder of the documents. */
  readonly path: string
}

const NAME_MAX = 80

export function artifactFiles({ tasks }: Pick<Handoff, 'tasks'>): readonly ArtifactFile[] {
  const files = new Map<string, ArtifactFile>()
  for (const { task, artifacts } of tasks) {
    for (const { output, sha256 } of artifacts) {
      if (files.has(sha256) || !/^[0-9a-f]{64}$/.test(sha256)) continue
      const name = `${task}.${output}`
        .replace(/[^A-Za-z0-9._-]+/g, '-')
        .replace(/^\.+/, '')
        .slice(0, NAME_MAX)
      files.set(sha256, { sha256: sha256 as Sha256, path: `artifacts/${sha256.slice(0, 12)}-${name}` })
    }
  }
  return [...files.values()]
}
