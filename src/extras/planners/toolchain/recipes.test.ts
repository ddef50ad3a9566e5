// What a target of a Makefile or a justfile runs, with the variables of the file.

import { expect, test } from 'vitest'
import { recipeOf, targetOf } from './recipes.ts'

const MAKEFILE = `PY ?= python3
PYTEST := "$(PY)" -m pytest   # the runner
TESTS = "tests/**/*.py"
DOCKER = docker
FLAGS += -q
FLAGS += -x

.PHONY: test
test: deps
\t@$(PYTEST) $(FLAGS) \\
\t  "$(TESTS)" $(wildcard extra/*.py)
# a comment between two lines of a recipe

\t-$(DOCKER) ps $(shell git rev-parse HEAD) $$HOME
deps: ; pip install -e .
lint types: test
\ttrue
`

test('variables are filled in, also quoted ones; what make alone knows is left', () => {
  const lines = recipeOf(MAKEFILE, 'test').map(line => line.replace(/ +/g, ' '))
  expect(lines.filter(line => line !== '')).toEqual([
    '"python3" -m pytest -q -x ""tests/**/*.py"" extra/*.py',
    '# a comment between two lines of a recipe',
    'docker ps $(git rev-parse HEAD) $HOME',
    'make deps',
  ])
  expect(recipeOf(MAKEFILE, 'deps')[0]).toBe('pip install -e .')
  expect(recipeOf(MAKEFILE, 'lint')).toContain('make  test')
  expect(recipeOf(MAKEFILE, 'nothing')).toEqual([])
  expect(recipeOf('A = $(B)\nB = $(A)\nall:\n\t$(A)\n', 'all')[0]).toMatch(/^\$\([AB]\)$/)
  expect(recipeOf('runner := "docker compose"\ntest:\n  {{ runner }} run a\n', 'test')[0]).toBe('docker compose run a')
})

test('the target is neither an option nor its value nor a variable', () => {
  expect(targetOf(['make', '-C', 'web', 'V=1', '-j', '4', 'test'])).toBe('test')
  expect(targetOf(['make', "TESTS='a b'", '-s'])).toBe(undefined)
})

test('values that double are bounded', () => {
  const text = `${Array.from({ length: 30 }, (_, at) => `V${at} = $(V${at + 1})$(V${at + 1})`).join('\n')}\nV30 = x\nall:\n\t$(V0)\n`
  expect(recipeOf(text, 'all')[0]!.length).toBeLessThan(100_000)
})
