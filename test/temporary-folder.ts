// All temporary folders of a test run stand in one, which is removed when the run has ended.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export function setup(): (() => void) | undefined {
  if (process.env.PLANFOLD_TEST_FOLDER !== undefined) return
  const folder = mkdtempSync(join(tmpdir(), 'pf-'))
  process.env.PLANFOLD_TEST_FOLDER = folder
  process.env.TMPDIR = folder
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
