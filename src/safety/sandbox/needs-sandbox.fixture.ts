// For tests of plans by other authors (a token, an agent, an import, an unapproved draft), whose commands do not run without a sandbox.
// `heldTest` is `test` with a sandbox; otherwise it is skipped, and the reason is printed.

import { test } from 'vitest'
import { bubblewrap } from './bubblewrap.ts'

export const standing = await bubblewrap({ environment: process.env, outside: [] }).check()
if (!standing.ok)
  console.log(`skipped: commands that somebody else wrote run in a sandbox only, and ${standing.failure.message}`)

export const heldTest = test.skipIf(!standing.ok)
