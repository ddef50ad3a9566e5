// Rules about a task that no schema says well: one action key, and keys that only make sense beside another one. They look
// at the document as it was written, so they are told together with whatever else is wrong.

import { isMap, type Json } from '../../domain/json.ts'
import { suggest } from '../../domain/phrases.ts'
import { type Field, type GateType, LATER_ACTIONS } from '../../domain/plan.ts'
import { agentFault } from '../../domain/plan-rules/agent-request.ts'
import { fillIn, isPattern } from '../../domain/plan-rules/form.ts'
import { answerFault } from '../../domain/plan-rules/model-request.ts'
import type { DocumentFault, Path } from '../text/diagnostic.ts'
import { dbRules, httpRules, secretPlaces } from './request-rules.ts'
import { FAILURE_KINDS } from './schema-gates.ts'

// Gates, recovery and notices: which keys fit which gate, that a rule does exactly one thing, that a form can be filled in.

type Raw = { readonly [key: string]: unknown }

function* gateRules(task: Raw, path: Path): Generator<DocumentFault> {
  const { gate } = task
  const at = [...path, 'gate']
  if (typeof gate === 'string' && Object.hasOwn(MUST, gate))
    yield { path: at, message: `a gate of type '${gate}' must say more`, hint: EXAMPLES[gate as keyof typeof EXAMPLES] }
  if (!isMap(gate) || typeof gate.type !== 'string' || !Object.hasOwn(MAY, gate.type)) return
  const type = gate.type as GateType
  if (Object.hasOwn(gate, 'show') && Object.hasOwn(task, 'show'))
    yield stray([...path, 'show'], "'show' is said twice", 'keep one of them')
  for (const key of Object.keys(gate)) {
    const only = (Object.keys(MAY) as GateType[]).filter(one => MAY[one].includes(key))
    if (only.length === 0 || MAY[type].includes(key)) continue
    yield stray(
      [...at, key],
      `a gate of type '${type}' has no '${key}'`,
      `'${key}' belongs to a gate of type ${only.join(' or ')}`,
    )
  }
  const wanted: readonly (readonly string[])[] = Object.hasOwn(MUST, type) ? MUST[type as keyof typeof MUST] : []
  for (const keys of wanted) {
    if (keys.some(key => Object.hasOwn(gate, key))) continue
    const named = keys.map(key => `'${key}'`).join(' or ')
    yield {
      path: at,
      message: `a gate of type '${type}' needs ${named}`,
      hint: EXAMPLES[type as keyof typeof EXAMPLES],
    }
  }
  if (Object.hasOwn(gate, 'expired') && !Object.hasOwn(gate, 'expires'))
    yield stray(
      [...at, 'expired'],
      "'expired' only makes sense beside 'expires'",
      "add 'expires:', or remove 'expired:'",
    )
  if (Object.hasOwn(gate, 'unmet') && !Object.hasOwn(gate, 'checks') && !AUTOMATIC.has(type))
    yield stray([...at, 'unmet'], "'unmet' only makes sense beside 'checks'", "add 'checks:', or remove 'unmet:'")
  yield* twice(gate.options, 'id', [...at, 'options'])
  yield* formRules(gate.form, [...at, 'form'])
}

/** The keys that belong to some types only; all other keys fit every gate. */
const MAY: { readonly [K in GateType]: readonly string[] } = {
  approval: [],
  diff: [],
  decision: ['options'],
  question: ['question', 'form'],
  schema: ['file', 'against'],
  invariant: [],
  tests: [],
  budget: ['attempts', 'time'],
}
/** Of each list one. */
const MUST = {
  decision: [['options']],
  question: [['question', 'form']],
  schema: [['file'], ['against']],
  invariant: [['checks']],
  tests: [['checks']],
  budget: [['attempts', 'time']],
} as const
const EXAMPLES = {
  decision: 'write gate: { type: decision, options: [{ id: small }, { id: large }] }',
  question: 'write gate: { type: question, question: "Which port?", form: [{ name: port, type: number }] }',
  schema: 'write gate: { type: schema, file: out.json, against: out.schema.json }',
  invariant: 'write gate: { type: invariant, checks: [{ expect: tasks.a.exit == 0 }] }',
  tests: 'write gate: { type: tests, checks: [{ check: npm test }] }',
  budget: 'write gate: { type: budget, attempts: 40, time: 2h }',
}
/** Decided by what is checked, not by a person. */
const AUTOMATIC: ReadonlySet<GateType> = new Set(['schema', 'invariant', 'tests', 'budget'])

function* formRules(form: unknown, path: Path): Generator<DocumentFault> {
  yield* twice(form, 'name', path)
  for (const [index, field] of (Array.isArray(form) ? (form as readonly unknown[]) : []).entries())
    if (isMap(field)) yield* fieldRules(field, [...path, index])
}

function* fieldRules(field: Raw, path: Path): Generator<DocumentFault> {
  const type = typeof field.type === 'string' ? field.type : 'text'
  for (const [key, only] of FIELD_KEYS)
    if (Object.hasOwn(field, key) && type !== only)
      yield stray(
        [...path, key],
        `'${key}' is for a field of type '${only}', this one is '${type}'`,
        field.type === undefined
          ? `add type: ${only}, or remove '${key}:'`
          : `write type: ${only}, or remove '${key}:'`,
      )
  if (type === 'choice' && !Object.hasOwn(field, 'choices'))
    yield { path, message: "a field of type 'choice' needs 'choices'", hint: 'add choices: [a, b]' }
  const { min, max } = field
  if (typeof min === 'number' && typeof max === 'number' && min > max)
    yield { path: [...path, 'max'], message: `no number is at least ${min} and at most ${max}`, hint: 'exchange them' }
  if (typeof field.pattern === 'string' && !isPattern(field.pattern))
    yield {
      path: [...path, 'pattern'],
      message: 'the pattern cannot be used',
      hint: 'write a regular expression without look-around, back-references or groups that repeat',
    }
  const { name, default: usual } = field
  if (usual === undefined || usual === null || typeof name !== 'string') return
  const filled = fillIn([{ ...field, type } as unknown as Field], { [name]: usual as Json })
  if (!filled.ok)
    yield {
      path: [...path, 'default'],
      message: `the default is not a valid answer: ${filled.refusal.message}`,
      hint: filled.refusal.hint ?? 'write an answer that fits the field',
    }
}

const FIELD_KEYS = [
  ['choices', 'choice'],
  ['min', 'number'],
  ['max', 'number'],
  ['pattern', 'text'],
] as const

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
    // A slip of the finger is told as such, by the schema.
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

/** Two items of a list under one name. */
function* twice(list: unknown, key: string, path: Path): Generator<DocumentFault> {
  const seen = new Set<string>()
  for (const [index, item] of (Array.isArray(list) ? (list as readonly unknown[]) : []).entries()) {
    const name = isMap(item) ? item[key] : undefined
    if (typeof name !== 'string') continue
    if (seen.has(name))
      yield {
        path: [...path, index, key],
        message: `'${name.slice(0, 60)}' is there twice`,
        hint: 'rename one of them',
      }
    seen.add(name)
  }
}

function stray(path: Path, message: string, hint: string): DocumentFault {
  return { path, atKey: true, message, hint }
}

export const ACTION_KEYS: readonly string[] = [
  'run',
  'edit',
  'decide',
  'gate',
  'git',
  'checkpoint',
  'model',
  'http',
  'db',
  'agent',
  'runner',
  'subplan',
  ...LATER_ACTIONS,
]
const UNDO_KEYS: readonly string[] = ['run', 'edit', 'http', 'db', 'task']

/** `written` answers how the scalar at a path was typed. */
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

/** What a task of one's own sees of the home. */
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
  yield* beside(task, path, 'stdin', 'run')
  yield* beside(task, path, 'links', 'run')
  if (task.links !== undefined && typeof task.run === 'string')
    yield {
      path: [...path, 'links'],
      message: "'links' is for a command with a path as its last word, and this 'run' is a script",
      hint: "write the command as a list: 'run: [cat, --, notes.txt]'",
    }
  yield* beside(task, path, 'show', 'gate')
  if (task.effect === 'probed' && !Object.hasOwn(task, 'probe')) {
    yield {
      path: [...path, 'effect'],
      message: "'effect: probed' needs a 'probe'",
      hint: "add 'probe:' with a command that tells whether it happened",
    }
  }
  yield* homeRules(task, path)
  yield* modes(task.edit, [...path, 'edit'], written)
  yield* numbersInEnvironment(task, path, written)
  yield* computedFiles(task, path)
  yield* committedPaths(task, path)
  yield* gateRules(task, path)
  yield* modelRules(task, path)
  yield* httpRules(task, path)
  yield* dbRules(task, path)
  yield* secretPlaces(task, path)
  yield* agentRules(task, path)
  yield* recoverRules(task, path)
  const undo = task.compensate
  if (isMap(undo)) {
    yield* oneAction(undo, [...path, 'compensate'], UNDO_KEYS)
    yield* beside(undo, [...path, 'compensate'], 'stdin', 'run')
    yield* modes(undo.edit, [...path, 'compensate', 'edit'], written)
    yield* httpRules(undo, [...path, 'compensate'])
    yield* dbRules(undo, [...path, 'compensate'])
    if (!UNDO_KEYS.some(key => Object.hasOwn(undo, key))) {
      yield {
        path: [...path, 'compensate'],
        atKey: true,
        message: "'compensate' says nothing to do",
        hint: "give it 'run:', 'edit:', 'http:', 'db:' or 'task:'",
      }
    }
  }
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

/** Tasks that a rule of `recover` would add to the plan. */
function* addedTasks({ recover }: Raw): Generator<readonly [Path, Raw]> {
  const rules = Array.isArray(recover) ? (recover as readonly unknown[]) : []
  for (const [index, rule] of rules.entries()) {
    const tasks = isMap(rule) && isMap(rule.replan) && Array.isArray(rule.replan.add) ? rule.replan.add : []
    for (const [place, task] of (tasks as readonly unknown[]).entries())
      if (isMap(task)) yield [['recover', index, 'replan', 'add', place], task]
  }
}

/** What stands in braces and is no word of the template stays as it is. */
function* messageWords(git: unknown): Generator<DocumentFault> {
  const text = isMap(git) && typeof git.message === 'string' ? git.message : ''
  const strange = [...text.matchAll(/\{(\w+)\}/g)].map(([, word]) => word).find(word => !MESSAGE_WORDS.has(word!))
  if (strange === undefined) return
  const hint = "the words of a commit message are '{type}' and '{title}'"
  yield later(['git', 'message'], `'{${strange}}' is used literally`, hint)
}

const MESSAGE_WORDS: ReadonlySet<string> = new Set(['type', 'title'])

/** A model needs a prompt, and a shape of its answer that it can follow. */
function* modelRules(task: Raw, path: Path): Generator<DocumentFault> {
  if (!Object.hasOwn(task, 'model')) return
  if (typeof task.instruction !== 'string' || task.instruction.trim() === '')
    yield {
      path: [...path, 'model'],
      atKey: true,
      message: "a 'model' task needs an 'instruction'",
      hint: 'write what the model is asked under `instruction:`',
    }
  const use = isMap(task.model) ? task.model.use : task.model
  if (typeof use === 'string' && !/\/|\$\{\{/.test(use))
    yield {
      path: isMap(task.model) ? [...path, 'model', 'use'] : [...path, 'model'],
      message: `'${use.slice(0, 60)}' is not the name of a model`,
      hint: 'write PROVIDER/NAME, for instance local/llama3',
    }
  const answer = isMap(task.model) ? task.model.answer : undefined
  const fault = answer === undefined ? null : answerFault(answer as Json)
  if (fault !== null)
    yield {
      path: [...path, 'model', 'answer'],
      message: `'answer' is not valid: ${fault}`,
      hint: 'write answer: { severity: low | high, files: [string] }',
    }
}

/** An agent needs a prompt, and one of the names we know or a command. */
function* agentRules(task: Raw, path: Path): Generator<DocumentFault> {
  if (!Object.hasOwn(task, 'agent')) return
  if (typeof task.instruction !== 'string' || task.instruction.trim() === '')
    yield {
      path: [...path, 'agent'],
      atKey: true,
      message: "an 'agent' task needs an 'instruction'",
      hint: 'write what the agent is to do under `instruction:`',
    }
  const spec = task.agent
  const fault = agentFault(spec as Json)
  if (fault === null) return
  const key = isMap(spec) && fault.key !== null ? [fault.key] : []
  yield { path: [...path, 'agent', ...key], message: fault.message, hint: fault.hint }
}

/** Words for whoever claims the task say nothing to a runner. */
function* onlyForOthers(task: Raw, path: Path): Generator<DocumentFault> {
  const action = Object.keys(task).find(key => ACTION_KEYS.includes(key))
  if (action === undefined || action === 'agent' || action === 'model' || !Object.hasOwn(task, 'instruction')) return
  yield {
    path: [...path, 'instruction'],
    atKey: true,
    message: `'instruction' is for the agent or person who claims a task, but this one is run by '${action}'`,
    hint: "call it 'description', or remove the action",
  }
}

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

/** A number is handed on as it was typed; where reading it has changed it (`1.10`, `0x10`, `007`), it must be said as text. */
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

/** What is captured before an edit must be known before it: a computed file name needs a declared scope. */
function* computedFiles(task: Raw, path: Path): Generator<DocumentFault> {
  if (Object.hasOwn(task, 'write') || !Object.hasOwn(task, 'edit')) return
  const edits = Array.isArray(task.edit) ? (task.edit as readonly unknown[]) : [task.edit]
  const computed = (value: unknown) => typeof value === 'string' && value.includes('${{')
  if (!edits.some(edit => isMap(edit) && (computed(edit.file) || computed(edit.move)))) return
  yield {
    path: [...path, 'edit'],
    atKey: true,
    message: 'an edit of a computed file needs a declared scope',
    hint: "add 'write:' with the files it may touch",
  }
}

/** What stands outside of the workspace no plan commits; a path that is computed is looked at when it is known. */
function* committedPaths({ git }: Raw, path: Path): Generator<DocumentFault> {
  const paths = isMap(git) && Array.isArray(git.paths) ? (git.paths as readonly unknown[]) : []
  for (const [index, pattern] of paths.entries()) {
    if (typeof pattern !== 'string' || pattern.includes('${{')) continue
    const isOutside = /^(?:\/|~|[a-z]:)/i.test(pattern) || pattern.split(/[\\/]/).includes('..')
    const isGit = pattern.split('/')[0]?.toLowerCase() === '.git'
    if (!isOutside && !isGit) continue
    yield {
      path: [...path, 'git', 'paths', index],
      message: `'${pattern.slice(0, 200)}' ${isGit ? 'is the repository itself, which cannot be committed' : 'is outside of the workspace'}`,
      hint: "name paths of the workspace, for instance 'src/**'",
    }
  }
}

/** A bare 755 is seven hundred and fifty-five, not rwxr-xr-x. */
function* modes(edits: unknown, path: Path, written: (path: Path) => string | null): Generator<DocumentFault> {
  const list = Array.isArray(edits)
    ? edits.map((edit, index) => [edit, [...path, index]] as const)
    : [[edits, path] as const]
  for (const [edit, at] of list) {
    if (!isMap(edit)) continue
    for (const key of ['mode', 'chmod']) {
      const text = typeof edit[key] === 'number' ? written([...at, key]) : null
      if (text === null || /^0o/.test(text)) continue
      yield {
        path: [...at, key],
        message: `the file mode ${text} is not written in octal`,
        hint: `put it in quotes: "${text}"`,
      }
    }
  }
}

/** Where tasks have worktrees of their own, only the engine works in them; where they have none, there is nothing to merge. */
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
