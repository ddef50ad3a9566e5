// For tests of the core that need an extra: `test.skipIf(lacks('pictures'))`. Nothing is lacking but in a copy that `npm run without` made.

import { type ExtraName, hasExtra, withoutExtra } from '../extras.ts'

export function lacks(...names: readonly ExtraName[]): boolean {
  const missing = names.filter(name => !hasExtra(name))
  for (const name of missing) console.log(`skipped: ${withoutExtra(name)}`)
  return missing.length > 0
}
