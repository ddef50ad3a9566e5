// What a journal says was done to the repository, and what of it going back takes back.

import { expect, test } from 'vitest'
import type { Event } from '../event.ts'
import type { TaskName } from '../id.ts'
import type { GitOperation } from '../plan-rules/git-operation.ts'
import { gitOperationsOf, gitOperationsSince, isRefRecorded } from './git-operations.ts'

const REF = 'refs/heads/plan/x'
const operation = (type: string, before: string | null, after: string | null, ref = REF) =>
  ({ type, ref, before, after }) as GitOperation
const told = (...events: object[]) => ({ events: events as Event[] })
const task = (name: string) => name as TaskName

const created = operation('branch.created', null, 'a')
const one = operation('commit.created', 'a', 'b')
const two = operation('commit.created', 'b', 'c')
const tag = operation('tag.created', null, 'c', 'refs/tags/v1')
const moved = operation('branch.moved', 'c', 'b')
const JOURNAL = [
  told({ type: 'attempt.succeeded', task: task('one'), visit: 1, result: { status: 'succeeded' } }),
  told({ type: 'attempt.succeeded', task: task('two'), visit: 1, result: { status: 'succeeded' } }),
  told({ type: 'git.committed', task: task('one'), visit: 1, operations: [created, one] }),
  told({ type: 'git.committed', task: task('two'), visit: 1, operations: [two] }),
  told({ type: 'attempt.failed', task: task('tag'), visit: 1, result: { status: 'failed', git: [tag] } }),
  told({ type: 'rollback.finished', changes: null, paths: 0, git: [moved] }),
]

test('everything is listed in the order in which it happened, wherever the journal keeps it', () => {
  expect(gitOperationsOf(JOURNAL)).toEqual([created, one, two, tag, moved])
  expect(gitOperationsOf([told({ type: 'place.made', operations: [created] })])).toEqual([])
})

test('a commit of a task that was done by then is not taken back', () => {
  expect(gitOperationsSince(JOURNAL)).toEqual([created, one, two, tag, moved])
  expect(gitOperationsSince(JOURNAL.slice(1))).toEqual([two, tag, moved])
  expect(gitOperationsSince(JOURNAL.slice(2))).toEqual([tag, moved])
  const decided = told({ type: 'gate.decided', task: task('one'), verdict: 'approved', rationale: '' })
  expect(gitOperationsSince([decided, ...JOURNAL.slice(2)])).toEqual([created, one, tag, moved])
})

test('a ref is recorded from its making, in a place too, until its deletion', () => {
  expect(isRefRecorded(JOURNAL.slice(0, 2), REF)).toBe(false)
  expect(isRefRecorded(JOURNAL, REF)).toBe(true)
  expect(isRefRecorded([told({ type: 'place.made', operations: [created] })], REF)).toBe(true)
  const gone = told({ type: 'rollback.finished', git: [operation('branch.deleted', 'c', null)] })
  expect(isRefRecorded([...JOURNAL, gone], REF)).toBe(false)
})

test('what was found again after a crash is put in the order in which it happened; where a task works is no part of it', () => {
  const merged = (before: string, after: string) => operation('branch.merged', before, after)
  const own = operation('branch.created', null, 'a', `${REF}+one`)
  const worktree = { type: 'worktree.added', path: '/w', ref: `${REF}+one`, commit: 'a' } as GitOperation
  const ended = (name: string, ...git: GitOperation[]) =>
    told({ type: 'attempt.succeeded', task: task(name), visit: 1, result: { status: 'succeeded', git } })
  const [first, second, third] = [merged('a', 'b'), merged('b', 'c'), merged('c', 'd')]
  const journal = [ended('three', third), ended('two', second), ended('one', own, worktree, created, first)]
  expect(gitOperationsSince(journal)).toEqual([created, first, second, third])
  expect(gitOperationsOf(journal)).toEqual([third, second, own, worktree, created, first])
  expect(isRefRecorded(journal.slice(0, 2), REF)).toBe(false)
  // Somebody else worked in between: the gap stays, and a rollback refuses.
  expect(gitOperationsSince([ended('three', third), ended('one', first)])).toEqual([third, first])
})
