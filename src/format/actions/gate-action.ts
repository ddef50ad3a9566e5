// `gate`: a point where the plan waits for a person or a check.

import { z } from 'zod'
import { isMap, type Json } from '../../domain/json.ts'
import type { Field, GateAction, GateType, Option } from '../../domain/plan.ts'
import { fillIn, isPattern } from '../../domain/plan-rules/form.ts'
import { GATE_TYPES } from '../../domain/plan-values.ts'
import { codec, flag, optional, record, sparse } from '../plan/codec.ts'
import { approvers, CAP_MAX, escalation, LIST_MAX, readApprovers } from '../plan/schema-gates.ts'
import { criteria, outcomeName, word } from '../plan/schema-parts.ts'
import * as value from '../plan/schema-values.ts'
import { type DocumentFault, type Path, stray } from '../text/diagnostic.ts'
import type { ActionFormat, Marked, Raw } from './action-format.ts'

const FIELD_TYPES = ['text', 'number', 'boolean', 'choice', 'list'] as const

const option = record<Option>()(
  {},
  {
    id: outcomeName.describe('The outcome when it is chosen.'),
    title: value.line.optional(),
    pros: value.lines.optional(),
    cons: value.lines.optional(),
    cost: value.line.optional(),
  },
)

export const field = record<Field>()(
  {},
  {
    name: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/)
      .describe('The answer is an output of this name.'),
    label: value.line.optional(),
    type: z
      .enum(FIELD_TYPES)
      .optional()
      .transform(type => type ?? 'text'),
    choices: value.lines.min(1).optional(),
    optional: flag.optional(),
    default: value.json.optional(),
    min: z.number().optional(),
    max: z.number().optional(),
    pattern: value.line.optional(),
  },
)

const gate = codec(
  z.union([
    word(GATE_TYPES),
    z.strictObject({
      type: z.enum(GATE_TYPES),
      show: optional(value.lines, 'What whoever decides must see.'),
      checks: optional(criteria.min(1), 'Judged before anybody is asked.'),
      unmet: optional(z.enum(['reject', 'ask']), 'When a check does not hold: reject, or let a person overrule it.'),
      file: optional(value.line, 'Of schema: a JSON file of the workspace.'),
      against: optional(value.line, 'Of schema: the file with the JSON Schema.'),
      attempts: optional(value.count(CAP_MAX), 'Of budget: attempts of the plan so far.'),
      time: optional(value.duration, 'Of budget: how long the plan has been working.'),
      ...approvers,
      expires: optional(value.duration, 'How long it asks.'),
      expired: z.enum(['reject', 'escalate']).optional(),
      escalate: escalation.optional(),
      options: optional(z.array(option).min(2).max(LIST_MAX), {
        description: 'Of decision: what may be chosen.',
        examples: [[{ id: 'small' }, { id: 'large' }]],
      }),
      question: value.text.min(1).optional(),
      form: optional(z.array(field).min(1).max(LIST_MAX), {
        description: 'Of question: one field for each answer.',
        examples: [[{ name: 'size', type: 'number' }]],
      }),
    }),
  ]),
  (written): Omit<GateAction, 'type'> => {
    if (typeof written === 'string') return { gate: written }
    const { type, file, against, attempts, time, role, count, expires, ...rest } = written
    return sparse<Omit<GateAction, 'type'>>({
      gate: type,
      ...rest,
      schema: file === undefined || against === undefined ? undefined : { file, against },
      within: attempts === undefined && time === undefined ? undefined : sparse({ attempts, timeMs: time }),
      approvers: readApprovers({ role, count }),
      expiresMs: expires,
    })
  },
  // Printed as a single word if there are no other keys.
  ({ gate: type, schema, within, approvers: who, expiresMs: expires, ...rest }) => {
    const { attempts, timeMs: time } = within ?? {}
    const more = sparse<object>({ ...rest, ...schema, attempts, time, ...who, expires })
    return Object.keys(more).length === 0 ? type : { type, ...more }
  },
).describe('A point the plan does not pass by itself.')

/** `show` is accepted beside the gate or inside it. */
export const GATE: ActionFormat<GateAction> = {
  keys: { gate, show: value.lines.describe('What a gate shows: diff, cost, …') },
  contents: { gate: 'criteria' },
  *places({ gate, show }, path) {
    yield { value: show, content: 'texts', path: [...path, 'show'] }
    if (!isMap(gate)) return
    yield { value: gate.checks, content: 'criteria', path: [...path, 'gate', 'checks'] }
    yield { value: gate.question, content: 'texts', path: [...path, 'gate', 'question'] }
    yield { value: gate.show, content: 'texts', path: [...path, 'gate', 'show'] }
  },
  read({ gate, show }) {
    const action = { type: 'gate', ...(gate as Omit<GateAction, 'type'>) } as const
    return show === undefined || action.show !== undefined ? action : { ...action, show: show as readonly string[] }
  },
  print: ({ type: _, show, ...gate }) => ({ gate, show }),
  rules,
  words,
}

function words(
  { gate: type, approvers: who = {}, options = [], question, form = [], schema }: GateAction,
  marked: Marked,
) {
  const { text, code } = marked
  const asked = `asks ${who.role === undefined ? 'a person' : `the role ${code(who.role)}`}`
  const many = who.count === undefined || who.count === 1 ? '' : `, ${who.count} of them`
  const words: { readonly [T in GateType]: string } = {
    approval: `${asked} for approval${many}`,
    diff: `${asked} to look at what changed${many}`,
    decision: `${asked} to choose: ${options.map(({ id, title }) => text(title ?? id)).join(', ')}`,
    question: `${asked}: ${text(question ?? form.map(({ label, name }) => label ?? name).join(', '))}`,
    schema: `checks ${code(schema?.file ?? '')} against ${code(schema?.against ?? '')}`,
    invariant: 'goes on when its checks hold',
    tests: 'goes on when its checks hold',
    budget: 'goes on when the budget is kept',
  }
  return words[type]
}

function* rules(task: Raw, path: Path): Generator<DocumentFault> {
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

/** Keys that belong to certain types only; all others are allowed for every gate. */
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
/** At least one key of each list is required. */
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
/** Decided by a check instead of a person. */
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
