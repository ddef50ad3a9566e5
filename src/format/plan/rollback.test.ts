import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { plainHint } from '../../domain/hint.ts'
import type { TaskName } from '../../domain/id.ts'
import type { Action, PlanDefinition } from '../../domain/plan.ts'
import { checkGraph } from '../../domain/plan-rules/graph-rules.ts'
import { name, plan, task } from '../../testing/index.ts'
import { planJsonSchema } from './json-schema.ts'
import { outputReads } from './output-reads.ts'
import { parsePlan } from './parse.ts'
import { ROLLBACK_PLAN as TEXT } from './plan-texts.fixture.ts'
import { printJson, printYaml } from './print.ts'
import { renameTasks } from './rename-tasks.ts'

const ONE = (body: string) => `planfold: 1\ntasks:\n  - id: a\n    ${body.replaceAll('\n', '\n    ')}\n  - id: b\n`
const HEAD = (body: string) => `planfold: 1\n${body}\ntasks: [{ id: a }]\n`

function parsed(text: string) {
  const result = parsePlan(text, { fallbackName: 'x', check: checkGraph })
  if (!result.ok) throw new Error(JSON.stringify(result.diagnostics))
  return result
}

function complaints(text: string): readonly string[] {
  const result = parsePlan(text, { fallbackName: 'x', check: checkGraph })
  return result.ok
    ? []
    : result.diagnostics.map(one => `${one.line}:${one.column} ${one.message} (${plainHint(one.hint ?? '')})`)
}

const actionOf = (definition: PlanDefinition, id: string): Action =>
  definition.tasks.find(each => each.id === id)!.action

describe('the words for checkpoints, git and compensation', () => {
  test('are read; what cannot be started is told', () => {
    const { definition, warnings } = parsed(TEXT)
    expect(warnings).toEqual([])
    expect(parsed(TEXT.replace('worktree: task', 'worktree: plan')).warnings.map(({ path }) => path)).toEqual([
      'tasks[6].git',
    ])
    const claimed = parsed('planfold: 1\ngit: { worktree: task }\ntasks: [{ id: a }, { id: b, run: [ls] }]\n').warnings
    expect(claimed.map(({ path, hint }) => [path, hint])).toEqual([
      ['tasks[0]', expect.stringMatching(/worktree: plan/)],
    ])
    expect(definition.policy).toEqual({
      checkpoints: { every: 5, before: 'unsafe', files: 'declared' },
      onFailure: 'keep',
    })
    expect(definition.git).toEqual({ commits: 'task', worktree: 'task', message: 'feat(plan): {title}', base: 'main' })
    expect(['safe', 'safer', 'safest'].map(id => actionOf(definition, id))).toEqual([
      { type: 'checkpoint', name: 'before-deploy' },
      { type: 'checkpoint', name: 'by-hand' },
      { type: 'checkpoint' },
    ])
    expect(['commit', 'mark', 'join'].map(id => actionOf(definition, id))).toEqual([
      {
        type: 'git',
        git: { do: 'commit', message: 'release ${{ tasks.build.outputs.version }}', paths: ['CHANGELOG.md'] },
      },
      { type: 'git', git: { do: 'tag', name: 'v1.2.0', message: 'first' } },
      { type: 'git', git: { do: 'merge', task: 'build', message: 'together' } },
    ])
    expect(definition.tasks.at(-2)?.compensate).toEqual({ type: 'task', task: 'undo-push' })
  })

  test('come back from both forms of the canonical text', () => {
    const { definition } = parsed(TEXT)
    expect(parsed(printYaml(definition)).definition).toEqual(definition)
    expect(parsed(printJson(definition)).definition).toEqual(definition)
  })

  test('are in the published schema, closed as everything else', () => {
    const validator = z.fromJSONSchema(planJsonSchema() as never)
    expect(validator.safeParse(parse(TEXT)).error).toBeUndefined()
    for (const wrong of [
      HEAD('git: { commits: all }'),
      HEAD('git: true'),
      HEAD('policy: { checkpoints: { every: 0 } }'),
      ONE('git: { commit: x, tag: y }'),
      ONE('checkpoint: false'),
    ]) {
      expect(validator.safeParse(parse(wrong)).success).toBe(false)
      expect(complaints(wrong)).not.toEqual([])
    }
  })

  test('follow when tasks are renamed, and are looked at for what they read', () => {
    const { definition } = parsed(TEXT)
    const renames = new Map(definition.tasks.map(({ id }) => [id, `n-${id}` as TaskName]))
    const renamed = renameTasks(definition, renames)
    const task = (id: string) => renamed.tasks.find(each => each.id === id)!
    expect(task('n-push').compensate).toEqual({ type: 'task', task: 'n-undo-push' })
    expect(task('n-join').action).toMatchObject({ git: { task: 'n-build' } })
    expect(task('n-commit').action).toMatchObject({
      git: { message: "release ${{ tasks['n-build'].outputs.version }}" },
    })
    expect(checkGraph(renamed)).toEqual([])
    expect(outputReads(definition)).toMatchObject([{ reader: 'commit', key: 'git', producer: 'build' }])
  })
})

describe('what is wrong with them is told in place', () => {
  test.each([
    ['an unknown word', HEAD('git: { comits: task }'), ["2:8 unknown key 'comits' (did you mean 'commits'?)"]],
    [
      'another frequency of commits',
      HEAD('git: { commits: plan }'),
      ['2:17 unknown value "plan" for \'commits\' (write task)'],
    ],
    [
      'a base that would be an option',
      HEAD('git: { base: --all }'),
      ['2:14 "--all" cannot be a git revision (name a branch, a tag or a commit)'],
    ],
    [
      'checkpoints after no task at all',
      HEAD('policy: { checkpoints: { every: 0 } }'),
      ["2:33 'every' must be at least 1, not 0 (write 1 or more)"],
    ],
    [
      'an unknown way to fail',
      HEAD('policy: { on_failure: compensat }'),
      [
        "2:23 unknown value \"compensat\" for 'on_failure' (did you mean 'compensate'? known: compensate, keep, rollback)",
      ],
    ],
    [
      'two things for one git task',
      ONE('git: { commit: x, tag: v1 }'),
      ["4:10 'git' mixes 'tag' and 'commit' (keep one of them)"],
    ],
    [
      'a git task that says nothing',
      ONE('git: {}'),
      ["4:10 'git' does not say what to do (give it one of commit, tag, merge)"],
    ],
    [
      'something git never does for a plan',
      ONE('git: { push: origin }'),
      ["4:12 unknown key 'push' (known here: commit, paths, tag, message, merge)"],
    ],
    [
      'a tag that git would refuse',
      ONE('git: { tag: "v1..2" }'),
      ['4:17 "v1..2" cannot be a git tag (use letters, digits and - _ . /, for instance v1.2.0)'],
    ],
    [
      'a merge of nobody',
      ONE('git: { merge: bb }'),
      ["4:10 task 'a' merges 'bb', which does not exist (did you mean 'b'?)"],
    ],
    [
      'a name no checkpoint can have',
      ONE('checkpoint: "before deploy"'),
      [
        '4:17 "before deploy" cannot be a name (use letters and digits, with - _ . allowed inside, at most 100 characters, for instance retry-core)',
      ],
    ],
    [
      'a checkpoint of a number',
      ONE('checkpoint: 3'),
      ['4:17 \'checkpoint\' must be true or text or a map, not 3 (put it in quotes: "3")'],
    ],
    [
      'an action beside a checkpoint',
      ONE('checkpoint: true\nrun: ls'),
      ["5:5 a task has one action, this one has 'checkpoint' and 'run' (keep one, or make two tasks)"],
    ],
    [
      'two ways to undo',
      ONE('run: ls\ncompensate: { task: b, run: ls }'),
      [
        "5:28 a task has one action, this one has 'task' and 'run' (keep one, or make two tasks)",
        expect.stringContaining("6:9 'b' compensates 'a'"),
      ],
    ],
    [
      'no way to undo',
      ONE('run: ls\ncompensate: {}'),
      ["5:5 'compensate' says nothing to do (give it 'run:', 'edit:', 'http:', 'db:' or 'task:')"],
    ],
    [
      'a compensating task that an agent would do',
      ONE('run: ls\ncompensate: { task: b }'),
      [
        "6:9 'b' compensates 'a' and has the action 'external' (give it run, edit or git: nobody is asked while something is undone)",
      ],
    ],
    [
      'an expression inside a commit message',
      ONE('git: { commit: "x ${{ tasks.zz.outputs.y }}" }'),
      ["4:33 there is no task 'zz' (name a task of this plan)"],
    ],
  ])('%s', (_, text, expected) => {
    expect(complaints(text)).toEqual(expected)
  })

  test('a word in braces that no message knows is taken as it stands, with a warning', () => {
    const { definition, warnings } = parsed(HEAD('git: { message: "{kind}: {title}" }'))
    expect(definition.git).toEqual({ message: '{kind}: {title}' })
    expect(warnings.map(({ line, message, hint }) => [line, message, hint])).toEqual([
      [2, "'{kind}' is used literally", "the words of a commit message are '{type}' and '{title}'"],
    ])
  })
})

test('a plan stored when git and checkpoint tasks said anything is printed, renamed and checked', () => {
  const old = plan(
    'p',
    task('a', { action: { type: 'git', spec: { push: 'origin' } } as unknown as Action }),
    task('b', { action: { type: 'checkpoint', spec: { keep: 3 } } as unknown as Action }),
    task('c', { compensate: { type: 'task', task: name('a') } }),
  )
  expect(printYaml(old)).toContain('git:\n      push: origin')
  expect(printYaml(old)).toContain('checkpoint:\n      keep: 3')
  expect(renameTasks(old, new Map([[name('a'), name('z')]])).tasks[0]?.action).toEqual(old.tasks[0]?.action)
  expect(checkGraph(old).map(({ message }) => message)).toEqual(["'a' compensates 'c' and has the action 'git'"])
})
