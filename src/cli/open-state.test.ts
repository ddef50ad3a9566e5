// Who acts, as it is told: a name that could pass for another's is refused before anything is opened.

import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { complaintOf, EXIT } from './exit.ts'
import { openState } from './open-state.ts'

it('refuses names that are empty, or hold what cannot be seen, wherever they come from', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'planfold-as-'))
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }))
  for (const name of ['', 'ana ', ' ana', 'a\u200bna', 'a\u202ena', 'a\nb']) {
    for (const told of [{ as: name, environment: {} }, { environment: { PLANFOLD_AS: name } }]) {
      const error = await openState({ cwd, create: true, ...told }).catch((thrown: unknown) => thrown)
      const complaint = complaintOf(error)
      expect(complaint).toMatchObject({
        exit: EXIT.usage,
        message: expect.stringContaining('as' in told ? '--as' : 'PLANFOLD_AS'),
      })
      expect(complaint?.hint).toContain('without spaces around it')
    }
  }
  expect(existsSync(join(cwd, '.planfold'))).toBe(false)
})
