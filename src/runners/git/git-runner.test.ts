// What the git runner asks of the repository, and what it makes of the answer.

import { describe, expect, test } from 'vitest'
import type { TaskName } from '../../domain/id.ts'
import type { GitAction } from '../../domain/plan.ts'
import type { GitOperation } from '../../domain/plan-rules/git-operation.ts'
import { setup, stopBy } from '../attempt.fixture.ts'
import type { GitDone, GitHand } from '../runner.ts'
import { gitRunner } from './git-runner.ts'

const operation = { type: 'commit.created' } as GitOperation

async function carryOut(git: GitAction, answer: GitDone) {
  const { tools, attempt, going } = setup()
  const asked: unknown[] = []
  const hand = (name: keyof GitHand) => async (request: unknown) => {
    asked.push([name, request])
    return answer
  }
  const given = { ...tools, git: { commit: hand('commit'), tag: hand('tag'), merge: hand('merge') } as GitHand }
  return { outcome: await gitRunner().attempt(attempt({ type: 'git', git }), given, going), asked }
}

describe('a git task', () => {
  const done: GitDone = { ok: true, operations: [operation], outputs: { commit: 'c' } }

  test('asks for exactly what it says, and hands on what was done', async () => {
    for (const action of [
      { do: 'commit', message: 'm', paths: ['src/**'] },
      { do: 'tag', name: 'v1' },
      { do: 'merge', task: 'build' as TaskName },
    ] as const satisfies readonly GitAction[]) {
      const { outcome, asked } = await carryOut(action, done)
      expect(outcome).toEqual({ type: 'done', outputs: { commit: 'c' }, git: [operation] })
      expect(asked).toEqual([[action.do, action]])
    }
  })

  test('that fails halfway still says what was done', async () => {
    const failure = { class: 'logic', message: 'no', retryable: false } as const
    const { outcome } = await carryOut({ do: 'tag', name: 'v1' }, { ok: false, failure, operations: [operation] })
    expect(outcome).toEqual({ type: 'failed', failure, git: [operation] })
  })

  test('does nothing once it is stopped, and says so where git is not used', async () => {
    const { tools, attempt, going } = setup()
    const made = attempt({ type: 'git', git: { do: 'tag', name: 'v1' } })
    expect(await gitRunner().attempt(made, tools, stopBy(AbortSignal.abort()))).toEqual({ type: 'interrupted' })
    expect(await gitRunner().attempt(made, tools, going)).toMatchObject({
      type: 'failed',
      failure: { message: 'git is not used here', hint: expect.any(String) },
    })
  })

  test('tells beforehand what it would do', async () => {
    const { tools, attempt, going } = setup()
    const shown = async (git: GitAction) =>
      (await gitRunner().preview!(attempt({ type: 'git', git }), tools, going.signal)).text
    expect(await shown({ do: 'commit', message: 'all\n\nof it' })).toBe(
      'commit all that the plan wrote on the branch of the plan: all',
    )
    expect(await shown({ do: 'tag', name: 'v1' })).toBe('tag the last commit of the plan as v1')
    expect(await shown({ do: 'merge', task: 'build' as TaskName })).toBe(
      'merge the branch of build into that of the plan',
    )
  })
})
