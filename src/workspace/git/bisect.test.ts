// The search for the first bad one: right, quick, and honest about what was skipped.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type BisectVerdict, judgeProbe, nextProbe, startBisection } from './bisect.ts'
import { AT, BRANCH, busySetup, commitOf, no, text, value, work } from './repository.fixture.ts'

function search(length: number, culprit: number, skips: ReadonlySet<number>, last: 'known' | 'unknown' = 'known') {
  let state = startBisection(
    Array.from({ length }, (_, index) => index),
    { last },
  )
  const probed: number[] = []
  for (let guard = 0; guard <= length + 1; guard++) {
    const step = nextProbe(state)
    if (step.status !== 'probe') return { step, probes: state.probes, probed }
    probed.push(step.index)
    const verdict: BisectVerdict = skips.has(step.index) ? 'skip' : step.index >= culprit ? 'bad' : 'good'
    state = judgeProbe(state, verdict)
  }
  throw new Error('the search does not end')
}

describe('a bisection', () => {
  test('finds the culprit in at most log2 n probes, and tries nothing twice', () => {
    const cases = fc.integer({ min: 1, max: 5000 }).chain(length => fc.tuple(fc.constant(length), fc.nat(length - 1)))
    fc.assert(
      fc.property(cases, ([length, culprit]) => {
        const { step, probes, probed } = search(length, culprit, new Set())
        expect(step).toEqual({ status: 'found', index: culprit, culprit })
        expect(probes).toBeLessThanOrEqual(Math.ceil(Math.log2(length)))
        expect(new Set(probed).size).toBe(probed.length)
      }),
      { numRuns: 300 },
    )
  })

  test('with skips finds it, or names suspects that hold it, and never more than it must', () => {
    const cases = fc
      .integer({ min: 1, max: 60 })
      .chain(length => fc.tuple(fc.constant(length), fc.nat(length - 1), fc.uniqueArray(fc.nat(length - 1))))
    fc.assert(
      fc.property(cases, ([length, culprit, list]) => {
        const skips = new Set(list.filter(index => index !== length - 1))
        const { step, probed } = search(length, culprit, skips)
        expect(new Set(probed).size).toBe(probed.length)
        // The suspects reach from behind the last good one to the first bad one that can be tried.
        let [from, to] = [culprit, culprit]
        while (skips.has(from - 1)) from--
        while (skips.has(to)) to++
        const suspects = Array.from({ length: to - from + 1 }, (_, index) => from + index)
        if (suspects.length === 1) expect(step).toEqual({ status: 'found', index: culprit, culprit })
        else expect(step).toEqual({ status: 'narrowed', suspects })
      }),
      { numRuns: 500 },
    )
  })

  test('leaves a wide field that cannot be tried after a few skips', () => {
    const skips = new Set(Array.from({ length: 400 }, (_, index) => 300 + index))
    const { step, probes } = search(1000, 900, skips)
    expect(step).toMatchObject({ status: 'found', index: 900 })
    expect(probes).toBeLessThan(20)
  })

  test('tries the last first when nobody knows it, and says when nothing is bad', () => {
    expect(search(10, 99, new Set(), 'unknown')).toMatchObject({ step: { status: 'clean' }, probes: 1 })
    expect(search(10, 4, new Set(), 'unknown').step).toMatchObject({ status: 'found', index: 4 })
    expect(search(3, 9, new Set([2]), 'unknown').step).toEqual({ status: 'narrowed', suspects: [2] })
    expect(nextProbe(startBisection([]))).toEqual({ status: 'clean' })
    expect(nextProbe(startBisection(['only']))).toEqual({ status: 'found', index: 0, culprit: 'only' })
    const ended = startBisection(['only'])
    expect(judgeProbe(ended, 'good')).toBe(ended)
  })

  test('over real commits finds the one that broke it', async () => {
    const { git, sh } = busySetup()
    await work(git)
    for (let index = 0; index < 9; index++) {
      const content = `${index}${index >= 5 ? ' broken' : ''}`
      value(
        await git.commitPaths(
          commitOf({ f: text(content) }, { message: `chore(plan): ${index}`, at: AT + index * 1000 }),
        ),
      )
    }
    const commits = value(await git.commitsBetween({ good: 'main', bad: 'plan/upgrade' }))
    expect(commits.map(({ subject }) => subject)).toEqual(
      Array.from({ length: 9 }, (_, index) => `chore(plan): ${index}`),
    )
    let state = startBisection(commits)
    for (let step = nextProbe(state); step.status === 'probe'; step = nextProbe(state)) {
      state = judgeProbe(state, sh('show', `${step.candidate.commit}:f`).includes('broken') ? 'bad' : 'good')
    }
    expect(nextProbe(state)).toMatchObject({ status: 'found', culprit: { commit: sh('rev-parse', `${BRANCH}~3`) } })
    expect(no(await git.commitsBetween({ good: 'plan/upgrade', bad: 'main' }))).toMatch(
      /not an ancestor.*git merge-base/,
    )
  })
})
