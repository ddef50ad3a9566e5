// What a draft runs before the work and between it and the review.

import { expect, test } from 'vitest'
import type { PlanDefinition } from '../../../domain/plan.ts'
import { heuristicPlanner } from '../heuristic-planner.ts'
import type { RepositoryView } from '../planner.ts'

const draft = async (
  files: { readonly [path: string]: string },
  { lacks = [], gone = [] }: { readonly lacks?: readonly string[]; readonly gone?: readonly string[] } = {},
): Promise<PlanDefinition> => {
  const repository: RepositoryView = {
    files: async () => Object.entries(files).map(([path, text]) => ({ path, bytes: text.length })),
    read: async paths => paths.map(path => files[path] ?? null),
    history: async () => [],
    findProgram: async name => (lacks.includes(name) ? null : name),
    pythonPackages: async () => null,
    changedAt: async paths => paths.map(path => (gone.includes(path) ? null : 0)),
    state: async () => null,
  }
  return (await heuristicPlanner().propose({ goal: 'total is wrong for an empty cart', repository })).definition
}
const outline = ({ tasks }: PlanDefinition) => tasks.map(({ id, needs = [] }) => [id, ...needs].join(' '))

const CART = 'export const total = (cart: number[]) => cart.length'

test('where the steps run the tests of a package, all tests are compared with before, once', async () => {
  const plan = await draft({
    'package.json': '{"workspaces":["packages/*"],"scripts":{"test":"vitest run"}}',
    'packages/a/package.json': '{"name":"a","scripts":{"test":"vitest run"}}',
    'packages/a/src/cart.ts': CART,
    'packages/a/test/cart.test.ts': "test('total', () => total([1]))",
  })
  const whole = plan.tasks.filter(({ id }) => id === 'all-tests')
  expect(whole).toMatchObject([
    {
      needs: ['fix'],
      accept: [{ type: 'tests', command: { script: 'npm test -- --reporter=verbose' }, baseline: 'all-tests-before' }],
    },
  ])
  expect(plan.tasks.find(({ id }) => id === 'review')!.needs).toContain('all-tests')
})

const GO = {
  'go.mod': 'module a\n',
  '.golangci.yml': 'run: {}\n',
  'cart.go': 'package a\nfunc total(cart []int) int { return len(cart) }\n',
  'cart_test.go': 'package a\nfunc TestTotal(t *testing.T) {}\n',
}

test('a check whose tool is missing is planned behind the set-up; the work does not wait for it', async () => {
  const all = await draft(GO, { lacks: ['go', 'golangci-lint'] })
  expect(outline(all).slice(0, 2)).toEqual(['set-up', 'baseline set-up'])
  expect(outline(all).slice(-3)).toEqual(['lint fix', 'build fix', 'review fix lint build'])
  expect(all.tasks[0]!.title).toBe('Install what the plan needs (go, golangci-lint)')
  const linter = await draft(GO, { lacks: ['golangci-lint'] })
  expect(outline(linter)).toEqual([
    'baseline',
    'safe-point baseline',
    'set-up',
    'reproduce safe-point',
    'fix reproduce',
    'lint fix set-up',
    'build fix',
    'review fix lint build',
  ])
})

test('a linter that only a convention names is not asked for', async () => {
  const shell = { Makefile: 'test:\n\tsh t.sh\n', 'cart.sh': 'total() { echo 1; }\n', 't.sh': 'exit 0\n' }
  expect(outline(await draft(shell, { lacks: ['shellcheck'] })).join(' ')).not.toMatch(/set-up|lint/)
})

test('a linter whose patterns match no file is no check', async () => {
  const files = (lint: string) => ({
    'package.json': JSON.stringify({ scripts: { test: 'mocha', lint } }),
    'index.ts': CART,
  })
  expect(outline(await draft(files('eslint lib/* bin/*')))).not.toContain('lint fix')
  expect(outline(await draft(files('eslint lib/* index.ts')))).toContain('lint fix')
})

test('submodules that were not fetched are fetched before the tests run', async () => {
  const files = { ...GO, '.gitmodules': '[submodule "data"]\n\tpath = testdata/all\n' }
  const plan = await draft(files, { gone: ['testdata/all/.git'] })
  expect(outline(plan).slice(0, 2)).toEqual(['submodules', 'baseline submodules'])
  expect(outline(await draft(files))[0]).toBe('baseline')
})
