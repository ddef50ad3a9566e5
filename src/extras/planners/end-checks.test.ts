// What a goal asks for that a command can check.

import { expect, test } from 'vitest'
import { newFiles } from './end-checks.ts'
import { readGoal } from './goal.ts'

const made = (text: string) => newFiles({ goal: readGoal(text), paths: ['src/a.ts', 'lib/known.py'] })

test('a new file is a path of the goal, not a piece of code', () => {
  expect(made('Describe the format in docs/format.md and FORMAT.md')).toEqual(['docs/format.md', 'FORMAT.md'])
  expect(made('Add `limits.json` (and defaults.json).')).toEqual(['limits.json', 'defaults.json'])
  expect(made('Write "new.py" beside known.py')).toEqual(['new.py'])
  // Tables, properties and calls of other languages look like files.
  expect(made('Appending after a table that has gained a [a.c] child gives a.c.z (#543)')).toEqual([])
  expect(made('Support `x.c = 1`, "[[b.h]]", `load(a.js)`, {{ page.html }} and items[a.c]')).toEqual([])
  expect(made('Do not run "pytest tally.py" twice')).toEqual([])
})
