// Rules about tasks that the schema cannot express well: exactly one action key, and keys that depend on others. They check the
// unparsed document, so their errors are reported together with all others.

import { ACTIONS } from '../../domain/actions/actions.ts'
import { isMap, type Json } from '../../domain/json.ts'
import { suggest } from '../../domain/phrases.ts'
import { LATER_ACTIONS } from '../../domain/plan.ts'
import { judgeIn } from '../../domain/plan-rules/judge.ts'
import { FAILURE_KINDS } from '../../domain/plan-values.ts'
import type { Raw } from '../actions/action-format.ts'
import { ACTION_KEYS, UNDO_ACTIONS, WRITTEN_ACTIONS } from '../actions/actions.ts'
import { parseTemplate } from '../expression/template.ts'
import { type DocumentFault, type Path, stray } from '../text/diagnostic.ts'

function* recoverRules(task: Raw, path: Path): Generator<DocumentFault> {
  if (!Array.isArray(task.recover)) return
  const modes = (Array.isArray(task.failure_modes) ? (task.failure_modes as readonly unknown[]) : [])
    .filter(isMap)
    .flatMap(({ name }) => (typeof name === 'string' ? [name] : []))
  for (const [index, rule] of (task.recover as readonly unknown[]).entries()) {
    if (!isMap(rule)) continue
    const at = [...path, 'recover', index]
    yield* exactlyOne(rule, at, WAYS, 'a rule of recover does one thing')
    if (isMap(rule.replan)) yield* replanRules(rule.replan, [...at, 'replan'])
    const on = Array.isArray(rule.on) ? (rule.on as readonly unknown[]) : [rule.on]
    for (const [place, name] of on.entries()) {
      if (typeof name !== 'string' || KINDS.has(name) || modes.includes(name)) continue
      const near = suggest(name, [...KINDS, ...modes])
      yield {
        path: Array.isArray(rule.on) ? [...at, 'on', place] : [...at, 'on'],
        message: `'${name.slice(0, 60)}' is neither a class of failures nor a failure mode of this task`,
        hint: near === null ? `classes are ${FAILURE_KINDS.join(', ')}` : `did you mean '${near}'?`,
      }
    }
  }
}

function* reviewRules({ review }: Raw, path: Path): Generator<DocumentFault> {
  if (!isMap(review) || review.by === undefined) return
  const judge = judgeIn(review.by as Json)
  if (judge === null)
    yield {
      path: [...path, 'review', 'by'],
      message: 'this names nobody who could review',
      hint: 'write by: model, by: PROVIDER/NAME, the name of an agent, or { task: NAME }',
    }
  else if (judge.type !== 'model' && review.vote !== undefined)
    yield stray([...path, 'review', 'vote'], 'only a model is asked several times', "remove 'vote', or write by: model")
  else if (judge.type === 'task' && review.instruction !== undefined)
    yield stray(
      [...path, 'review', 'instruction'],
      'a task of the plan has an instruction of its own',
      'write it under that task',
    )
}

const KINDS: ReadonlySet<string> = new Set(FAILURE_KINDS)
const WAYS: readonly string[] = ['retry', 'alternate', 'repair', 'critic', 'replan', 'ask', 'abort']

function* replanRules(replan: Raw, path: Path): Generator<DocumentFault> {
  if (Object.keys(replan).some(key => key !== 'add' && key !== 'template')) return
  if (Object.keys(replan).length === 0)
    yield { path, message: "'replan' says nothing", hint: "write 'replan: true', or give it 'add:' or 'template:'" }
  else yield* exactlyOne(replan, path, ['add', 'template'], 'a revision comes from one place')
}

function* notifyRules(plan: Raw): Generator<DocumentFault> {
  if (!Array.isArray(plan.notify)) return
  for (const [index, notice] of (plan.notify as readonly unknown[]).entries())
    if (isMap(notice)) yield* exactlyOne(notice, ['notify', index], ['run', 'webhook'], 'a notice goes one way')
}

function* exactlyOne(map: Raw, path: Path, keys: readonly string[], rule: string): Generator<DocumentFault> {
  const present = Object.keys(map).filter(key => keys.includes(key))
  if (present.length === 1) return
  if (present.length === 0) {
    // Typing errors are reported by the schema.
    if (Object.keys(map).some(key => suggest(key, keys) !== null && !ALSO.has(key))) return
    yield { path, message: `${rule}, this one says nothing`, hint: `give it one of ${keys.join(', ')}` }
    return
  }
  yield stray(
    [...path, present[1]!],
    `${rule}, this one has ${present.map(key => `'${key}'`).join(' and ')}`,
    'keep one, or write two of them',
  )
}

const ALSO: ReadonlySet<string> = new Set(['on', 'times', 'every'])

/** `written` returns how the scalar at a path was typed. */
export function rulesBroken(value: unknown, written: (path: Path) => string | null): readonly DocumentFault[] {
  if (!isMap(value)) return []
  const tasks = Array.isArray(value.tasks) ? (value.tasks as readonly unknown[]) : []
  return [
    ...messageWords(value.git),
    ...notifyRules(value),
    ...tasks.flatMap((task, index) => (isMap(task) ? [...taskRules(task, ['tasks', index], written)] : [])),
    ...tasks.flatMap((task, index) => (isMap(task) ? [...placeRules(task, ['tasks', index], value.git)] : [])),
  ]
}

function* homeRules(task: Raw, path: Path): Generator<DocumentFault> {
  for (const [at, pattern] of (Array.isArray(task.read) ? (task.read as readonly unknown[]) : []).entries()) {
    if (typeof pattern !== 'string' || !pattern.startsWith('~/')) continue
    const rest = pattern
      .split('/')
      .slice(1)
      .filter(part => part !== '.')
    if (rest.join('') !== '' && !rest.includes('..') && !/[*?]/.test(pattern)) continue
    yield {
      path: [...path, 'read', at],
      message: `'${pattern}' is not a file or folder below your home`,
      hint: "write its path without '..' and wildcards, for instance ~/.npmrc",
    }
  }
}

function* taskRules(task: Raw, path: Path, written: (path: Path) => string | null): Generator<DocumentFault> {
  yield* oneAction(task, path, ACTION_KEYS)
  for (const { key, names } of WRITTEN_ACTIONS) for (const name of names.slice(1)) yield* beside(task, path, name, key)
  if (task.effect === 'probed' && !Object.hasOwn(task, 'probe')) {
    yield {
      path: [...path, 'effect'],
      message: "'effect: probed' needs a 'probe'",
      hint: "add 'probe:' with a command that tells whether it happened",
    }
  }
  yield* homeRules(task, path)
  if (Object.hasOwn(task, 'place'))
    yield stray(
      [...path, 'place'],
      "a task cannot have a 'place': tasks cannot be placed one by one yet",
      "put 'place:' on the plan, for all of its tasks",
    )
  yield* numbersInEnvironment(task, path, written)
  for (const { key, rules } of WRITTEN_ACTIONS)
    if (rules !== undefined && Object.hasOwn(task, key)) yield* rules(task, path, { written, isUndo: false })
  yield* secretPlaces(task, path)
  yield* recoverRules(task, path)
  yield* reviewRules(task, path)
  if (isMap(task.compensate)) yield* undoRules(task.compensate, [...path, 'compensate'], written)
  for (const key of LATER_ACTIONS) {
    if (Object.hasOwn(task, key))
      yield later(
        [...path, key],
        `'${key}' is checked, but this release does not carry it out`,
        'such a plan can be validated, not started',
      )
  }
  if (Object.hasOwn(task, 'for_each') && Object.hasOwn(task, 'matrix')) {
    yield {
      path: [...path, 'matrix'],
      atKey: true,
      message: "a task has 'for_each' or a 'matrix', not both",
      hint: 'put one of them into a subplan of the other',
    }
  }
  if (isMap(task.matrix) && Object.keys(task.matrix).length === 0) {
    yield {
      path: [...path, 'matrix'],
      message: "a 'matrix' has at least one axis",
      hint: 'write matrix: { os: [linux, mac] }, or remove it',
    }
  }
  yield* onlyForOthers(task, path)
  const steps = Array.isArray(task.subplan) ? (task.subplan as readonly unknown[]) : []
  for (const [index, step] of steps.entries())
    if (isMap(step)) yield* taskRules(step, [...path, 'subplan', index], written)
  for (const [at, added] of addedTasks(task)) yield* taskRules(added, [...path, ...at], written)
}

function* undoRules(undo: Raw, path: Path, written: (path: Path) => string | null): Generator<DocumentFault> {
  yield* oneAction(undo, path, UNDO_KEYS)
  for (const { key, undo: names = [], rules } of UNDO_ACTIONS) {
    for (const name of names.slice(1)) yield* beside(undo, path, name, key)
    if (rules !== undefined && Object.hasOwn(undo, key)) yield* rules(undo, path, { written, isUndo: true })
  }
  if (UNDO_KEYS.some(key => Object.hasOwn(undo, key))) return
  const [last, ...others] = UNDO_KEYS.map(key => `'${key}:'`).reverse()
  yield stray(path, "'compensate' says nothing to do", `give it ${others.reverse().join(', ')} or ${last}`)
}

const UNDO_KEYS: readonly string[] = [...UNDO_ACTIONS.map(({ key }) => key), 'task']

/** Tasks that a rule of `recover` would add to the plan. */
function* addedTasks({ recover }: Raw): Generator<readonly [Path, Raw]> {
  const rules = Array.isArray(recover) ? (recover as readonly unknown[]) : []
  for (const [index, rule] of rules.entries()) {
    const tasks = isMap(rule) && isMap(rule.replan) && Array.isArray(rule.replan.add) ? rule.replan.add : []
    for (const [place, task] of (tasks as readonly unknown[]).entries())
      if (isMap(task)) yield [['recover', index, 'replan', 'add', place], task]
  }
}

/** Unknown placeholders in braces are literal text. */
function* messageWords(git: unknown): Generator<DocumentFault> {
  const text = isMap(git) && typeof git.message === 'string' ? git.message : ''
  const strange = [...text.matchAll(/\{(\w+)\}/g)].map(([, word]) => word).find(word => !MESSAGE_WORDS.has(word!))
  if (strange === undefined) return
  const hint = "the words of a commit message are '{type}' and '{title}'"
  yield later(['git', 'message'], `'{${strange}}' is used literally`, hint)
}

const MESSAGE_WORDS: ReadonlySet<string> = new Set(['type', 'title'])

/** A secret must be the only content of its braces, in a header or the body of the http task that names it. */
function* secretPlaces(task: Raw, path: Path): Generator<DocumentFault> {
  const named: readonly unknown[] = Array.isArray(task.secrets) ? task.secrets : []
  for (const [at, text] of textsIn(task, [])) {
    if (!text.includes('${{') || !text.includes('secrets')) continue
    const parsed = parseTemplate(text)
    if (!parsed.ok) continue
    const isPlace = REQUESTS.has(at[0]!) && (at[1] === 'headers' || at[1] === 'body')
    for (const part of parsed.parts) {
      if (part.type !== 'expression' || !/(?<![\w.'"])secrets\s*[.[]/.test(part.source)) continue
      const name = /^secrets\.([A-Za-z_]\w*)$/.exec(part.source)?.[1]
      const fault = !isPlace
        ? [
            'a secret is not put in here',
            "an http task puts it into 'headers' or 'body'; a command finds it in its environment, as $NAME",
          ]
        : name === undefined
          ? ['a secret must be alone in its braces', 'write ${{ secrets.NAME }}']
          : !named.includes(name)
            ? [`the task does not name the secret '${name.slice(0, 60)}'`, `add 'secrets: [${name.slice(0, 60)}]'`]
            : null
      if (fault === null) continue
      yield { path: [...path, ...at], message: fault[0]!, hint: fault[1]!, within: { text: part.source, offset: 0 } }
    }
  }
}

/** Keys with requests, where a secret stays a placeholder until sending. */
const REQUESTS: ReadonlySet<string | number> = new Set(
  WRITTEN_ACTIONS.flatMap(({ contents }) => Object.keys(contents).filter(key => contents[key] === 'request')),
)

function* textsIn(value: unknown, path: readonly (string | number)[]): Generator<readonly [Path, string]> {
  if (typeof value === 'string') yield [path, value]
  else if (Array.isArray(value)) for (const [index, one] of value.entries()) yield* textsIn(one, [...path, index])
  else if (isMap(value))
    // Nested tasks are checked separately.
    for (const [key, one] of Object.entries(value))
      if (key !== 'subplan' && key !== 'recover' && key !== 'extra') yield* textsIn(one, [...path, key])
}

/** An `instruction` is for whoever claims the task, or for a model. Other actions would ignore it. */
function* onlyForOthers(task: Raw, path: Path): Generator<DocumentFault> {
  const action = Object.keys(task).find(key => ACTION_KEYS.includes(key))
  if (action === undefined || PROMPTED.has(action) || !Object.hasOwn(task, 'instruction')) return
  yield {
    path: [...path, 'instruction'],
    atKey: true,
    message: `'instruction' is for the agent or person who claims a task, but this one is run by '${action}'`,
    hint: "call it 'description', or remove the action",
  }
}

const PROMPTED: ReadonlySet<string> = new Set(
  WRITTEN_ACTIONS.flatMap(({ type, key }) => (ACTIONS[type].prompts === true ? [key] : [])),
)

function* oneAction(task: Raw, path: Path, keys: readonly string[]): Generator<DocumentFault> {
  const present = Object.keys(task).filter(key => keys.includes(key))
  if (present.length < 2) return
  const named = present.map(key => `'${key}'`).join(' and ')
  yield {
    path: [...path, present[1] as string],
    atKey: true,
    message: `a task has one action, this one has ${named}`,
    hint: 'keep one, or make two tasks',
  }
}

function* beside(task: Raw, path: Path, key: string, other: string): Generator<DocumentFault> {
  if (!Object.hasOwn(task, key) || Object.hasOwn(task, other)) return
  yield {
    path: [...path, key],
    atKey: true,
    message: `'${key}' only makes sense beside '${other}'`,
    hint: `add '${other}:', or remove '${key}:'`,
  }
}

/** A number is passed on as its value. If that is not what was typed (`1.10`, `0x10`, `007`), it must be quoted. */
function* numbersInEnvironment(
  { env }: Raw,
  path: Path,
  written: (path: Path) => string | null,
): Generator<DocumentFault> {
  if (!isMap(env)) return
  for (const [name, value] of Object.entries(env)) {
    if (typeof value !== 'number') continue
    const at = [...path, 'env', name]
    const typed = written(at)
    if (typed === null || typed === String(value)) continue
    yield {
      path: at,
      message: `the number ${typed.slice(0, 60)} would be handed on as ${value}`,
      hint: `put it in quotes: "${typed.slice(0, 60)}"`,
    }
  }
}

/** With worktrees, only the engine works in them; without, there is nothing to merge. */
function* placeRules(task: Raw, path: Path, git: unknown): Generator<DocumentFault> {
  const apart = isMap(git) && git.worktree === 'task'
  if (!apart && isMap(task.git) && Object.hasOwn(task.git, 'merge'))
    yield later(
      [...path, 'git'],
      "'merge' is checked, but no task of this plan has a branch of its own",
      "such a plan can be validated, not started; 'git: {worktree: task}' gives every task one",
    )
  if (apart && !ACTION_KEYS.some(key => Object.hasOwn(task, key)) && !Array.isArray(task.tasks))
    yield later(
      path,
      "with 'worktree: task' no agent can claim a task",
      "such a plan can be validated, not started; give it an action, or use 'worktree: plan'",
    )
}

function later(path: Path, message: string, hint: string): DocumentFault {
  return { severity: 'warning', path, atKey: true, message, hint }
}
