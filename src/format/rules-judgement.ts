// Rules about gates, recovery and notices that no schema says well: which keys fit which gate, that a rule does exactly one
// thing, that a form can be filled in. They look at the document as it was written, like rules.ts.

import { fillIn, isPattern } from '../domain/form.ts'
import type { Json } from '../domain/json.ts'
import type { Field, GateType } from '../domain/plan.ts'
import { suggest } from '../domain/suggest.ts'
import type { Complaint, Path } from './diagnostic.ts'
import { FAILURE_KINDS } from './schema-judgement.ts'

type Raw = { readonly [key: string]: unknown }

export function* gateRules(task: Raw, path: Path): Generator<Complaint> {
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

function* formRules(form: unknown, path: Path): Generator<Complaint> {
  yield* twice(form, 'name', path)
  for (const [index, field] of (Array.isArray(form) ? (form as readonly unknown[]) : []).entries())
    if (isMap(field)) yield* fieldRules(field, [...path, index])
}

function* fieldRules(field: Raw, path: Path): Generator<Complaint> {
  const type = typeof field.type === 'string' ? field.type : 'text'
  for (const [key, only] of FIELD_KEYS)
    if (Object.hasOwn(field, key) && type !== only)
      yield stray(
        [...path, key],
        `'${key}' is for a field of type '${only}', this one is '${type}'`,
        `remove '${key}:'`,
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
      message: `the default is no answer: ${filled.refusal.message}`,
      hint: filled.refusal.hint ?? 'write an answer that fits the field',
    }
}

const FIELD_KEYS = [
  ['choices', 'choice'],
  ['min', 'number'],
  ['max', 'number'],
  ['pattern', 'text'],
] as const

export function* recoverRules(task: Raw, path: Path): Generator<Complaint> {
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

function* replanRules(replan: Raw, path: Path): Generator<Complaint> {
  if (Object.keys(replan).some(key => key !== 'add' && key !== 'template')) return
  if (Object.keys(replan).length === 0)
    yield { path, message: "'replan' says nothing", hint: "write 'replan: true', or give it 'add:' or 'template:'" }
  else yield* exactlyOne(replan, path, ['add', 'template'], 'a revision comes from one place')
}

export function* notifyRules(plan: Raw): Generator<Complaint> {
  if (!Array.isArray(plan.notify)) return
  for (const [index, notice] of (plan.notify as readonly unknown[]).entries())
    if (isMap(notice)) yield* exactlyOne(notice, ['notify', index], ['run', 'webhook'], 'a notice goes one way')
}

function* exactlyOne(map: Raw, path: Path, keys: readonly string[], rule: string): Generator<Complaint> {
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
function* twice(list: unknown, key: string, path: Path): Generator<Complaint> {
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

function stray(path: Path, message: string, hint: string): Complaint {
  return { path, atKey: true, message, hint }
}

function isMap(value: unknown): value is Raw {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
