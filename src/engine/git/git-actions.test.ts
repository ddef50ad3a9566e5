// What the plan wrote and no commit holds yet: the last thing it left at each path, and nothing of anybody else.

import { describe, expect, test } from 'vitest'
import type { Event } from '../../domain/event.ts'
import type { Sha256 } from '../../domain/id.ts'
import type { Entry } from '../../stores/store.ts'
import type { Change, TreeEntry } from '../../workspace/workspace.ts'
import type { Rooms } from '../rooms.ts'
import { uncommittedPaths } from './git-actions.ts'

const file = (text: string): TreeEntry => ({ type: 'file', mode: 0o644, size: 1, sha256: text.repeat(64) as Sha256 })

/** Change sets are named by their content, as in the content store. */
function journal(...events: object[]) {
  const blobs = new Map<string, string>()
  const list = (changes: readonly Change[]): string => {
    const id = `blob-${blobs.size}`
    blobs.set(id, JSON.stringify(changes))
    return id
  }
  const made = events.map(event => {
    const { wrote, ...rest } = event as { wrote?: readonly Change[] }
    if (wrote === undefined) return rest
    if ('result' in rest) {
      const result = rest.result as object
      return { ...rest, result: { ...result, wrote: { changes: list(wrote), paths: wrote.length } } }
    }
    return { ...rest, changes: list(wrote) }
  })
  const store = { blobs: { get: async (id: string) => Buffer.from(blobs.get(id)!) } }
  const entries = made.map(event => ({ events: [event as Event] }) as unknown as Entry)
  return async (paths?: readonly string[]) =>
    Object.fromEntries(await uncommittedPaths({ store } as unknown as Rooms, entries, paths))
}

const change = (path: string, before: TreeEntry | null, after: TreeEntry | null): Change => ({ path, before, after })
const done = (task: string, visit: number, ...wrote: Change[]) => ({
  type: 'attempt.succeeded',
  task,
  visit,
  attempt: 1,
  result: { status: 'succeeded' },
  wrote,
})
const failed = (task: string, ...wrote: Change[]) => ({ ...done(task, 1, ...wrote), type: 'attempt.failed' })
const committed = (task: string, visit = 1, failure?: object) => ({
  type: 'git.committed',
  task,
  visit,
  operations: [],
  failure,
})
const byTask = (paths?: readonly string[]) => ({
  type: 'attempt.succeeded',
  task: 'git',
  visit: 1,
  attempt: 1,
  result: {
    status: 'succeeded',
    git: [{ type: 'commit.created' }],
    ...(paths === undefined ? {} : { outputs: { paths } }),
  },
})
const [A, B, C] = [file('a'), file('b'), file('c')]

describe('what is not committed yet', () => {
  test('is the last thing left at each path since the last commit of it', async () => {
    const all = journal(
      done('one', 1, change('x', null, A), change('y', B, null)),
      done('two', 1, change('x', A, B)),
      committed('one'),
      done('three', 1, change('z', null, C)),
    )
    expect(await all()).toEqual({ x: B, z: C })
    expect(await all(['z'])).toEqual({ z: C })
  })

  test('stays when the commit failed, and is settled by a git task for the paths it took', async () => {
    const some = [
      done('one', 1, change('x', null, A), change('src/y', null, B)),
      committed('one', 1, { message: 'no' }),
    ]
    expect(await journal(...some)()).toEqual({ x: A, 'src/y': B })
    expect(await journal(...some, byTask(['src/**']))()).toEqual({ x: A })
    expect(await journal(...some, byTask())()).toEqual({})
  })

  test('holds nothing of an attempt that was set back, and what one that failed for good has left', async () => {
    const before = failed('one', change('x', null, A))
    const again = { type: 'attempt.started', task: 'one', visit: 1, attempt: 2, preimage: 'p' }
    expect(await journal(before, again, done('one', 1, change('y', null, B)))()).toEqual({ y: B })
    expect(await journal(before)()).toEqual({ x: A })
  })

  test('after going back with git, nothing; without git, what was committed is to be taken back by a commit', async () => {
    const start = [done('one', 1, change('x', A, B)), committed('one')]
    const back = (more: object) => [
      { type: 'rollback.started', kind: 'rollback', ...more },
      { type: 'rollback.finished', wrote: [change('x', B, A)] },
    ]
    expect(await journal(...start, ...back({}))()).toEqual({})
    expect(await journal(...start, ...back({ keepGit: true }))()).toEqual({ x: A })
    // What stood there before the plan began was never committed by it, and is not now.
    expect(await journal(start[0]!, ...back({ keepGit: true }))()).toEqual({})
  })

  test('after a rollback was undone, all of it again', async () => {
    const events = [
      done('one', 1, change('x', A, B)),
      { type: 'rollback.started', kind: 'rollback' },
      { type: 'rollback.finished', wrote: [change('x', B, A)] },
      { type: 'rollback.started', kind: 'undo' },
      { type: 'rollback.finished', wrote: [change('x', A, B)] },
    ]
    expect(await journal(...events)()).toEqual({ x: B })
  })
})
