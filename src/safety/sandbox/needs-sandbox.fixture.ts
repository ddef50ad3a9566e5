// For tests of plans that somebody else made (a token, an agent, an import, a draft that nobody approved): where there is no sandbox, their
// commands do not run. `heldTest` is `test` where there is one; else it is skipped, and the reason is printed.

import { test } from 'vitest'
import { bubblewrap } from './bubblewrap.ts'

/** Whether commands can be held on this machine. */
export const standing = await bubblewrap({ environment: process.env, outside: [] }).check()
if (!standing.ok)
  console.log(`skipped: commands that somebody else wrote run in a sandbox only, and ${standing.failure.message}`)

export const heldTest = test.skipIf(!standing.ok)
