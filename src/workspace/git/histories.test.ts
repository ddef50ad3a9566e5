// Random histories: whatever a plan did, rolling it back leaves refs, .git and files as if it had never been, and undoing
// the rollback leaves them as if it had never been rolled back.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { GitOperation } from './git.ts'
import { ACTOR, AT, busySetup, commitOf, fingerprint, owner, task, text, value } from './repository.fixture.ts'

const step = fc.oneof(
  fc.record({
    do: fc.constant('commit' as const),
    on: fc.constantFrom('', 'one', 'two'),
    file: fc.constantFrom('a.txt', 'x', 'y/z'),
    content: fc.string({ maxLength: 5 }),
  }),
  fc.record({ do: fc.constant('merge' as const), from: fc.constantFrom('one', 'two') }),
  fc.record({ do: fc.constant('tag' as const), name: fc.constantFrom('t1', 't2') }),
)
const RUNS = process.env.PLANFOLD_CRASH === 'all' ? 200 : 8

test('any history of a plan is rolled back and brought back exactly', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async steps => {
      const { git, sh, root } = busySetup()
      const refs = () => sh('for-each-ref', 'refs/heads', 'refs/tags', 'refs/stash', 'refs/planfold/made')
      const [bare, before] = [refs(), fingerprint(root)]
      const operations: GitOperation[] = []
      const branch = async (on: string, base: string) => {
        const made = value(await git.ensureBranch({ ...owner, ...(on === '' ? {} : { task: task(on) }), base, at: AT }))
        // Also when it was made before: a journal may hold it twice after a crash.
        operations.push(made.operation)
      }
      await branch('', 'HEAD')
      for (const [index, each] of steps.entries()) {
        const at = AT + index * 1000
        if (each.do === 'commit') {
          await branch(each.on, 'plan/upgrade')
          const on = each.on === '' ? {} : { task: task(each.on) }
          const made = value(await git.commitPaths(commitOf({ [each.file]: text(each.content) }, { ...on, at })))
          if (made.status !== 'unchanged') operations.push(made.operation)
        } else if (each.do === 'merge') {
          await branch(each.from, 'plan/upgrade')
          const merged = value(await git.mergeBack({ ...owner, task: task(each.from), message: 'm', actor: ACTOR, at }))
          if (merged.status === 'merged') operations.push(merged.operation)
        } else {
          const tagged = await git.createTag({ plan: owner.plan, name: each.name, target: 'plan/upgrade', at })
          if (tagged.ok) operations.push(tagged.value)
        }
      }
      const after = refs()
      const request = { ...owner, actor: ACTOR, operations, at: AT + 60_000 }
      const gone = await git.rollback(request)
      expect(gone).toMatchObject({ ok: true })
      expect(refs()).toBe(bare)
      const tags = (map: ReadonlyMap<string, string>) =>
        [...map].filter(([path]) => !path.startsWith('/.git/refs/tags/'))
      expect(tags(fingerprint(root))).toEqual(tags(before))
      expect(await git.rollback({ ...request, operations: gone.done, at: AT + 61_000 })).toMatchObject({ ok: true })
      expect(refs()).toBe(after)
      expect(tags(fingerprint(root))).toEqual(tags(before))
    }),
    { numRuns: RUNS },
  )
}, 600_000)
