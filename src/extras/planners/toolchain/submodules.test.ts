// Submodules whose folders are empty are known before the tests run.

import { expect, test } from 'vitest'
import { absentSubmodules } from './submodules.ts'

const MODULES = `[submodule "toml-test"]
	path = tests/toml-test
	url = https://github.com/a/toml-test.git
[submodule "docs"]
	path = docs
[submodule "odd"]
	path = ../odd
`
const view = (fetched: readonly string[], text: string | null = MODULES) => ({
  read: async () => [text],
  changedAt: async (paths: readonly string[]) => paths.map(path => (fetched.includes(path) ? 1 : null)),
})

test('those without content are told, and none where all are there', async () => {
  expect(await absentSubmodules(view(['docs/.git']))).toEqual(['tests/toml-test'])
  expect(await absentSubmodules(view([]))).toEqual(['tests/toml-test', 'docs'])
  expect(await absentSubmodules(view(['docs/.git', 'tests/toml-test/.git']))).toEqual([])
  expect(await absentSubmodules(view([], null))).toEqual([])
})
