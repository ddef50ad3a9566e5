// The scalar types of the schema: names, durations, money, file modes, plain JSON. Each converts the written form to the domain's
// value; each error has a hint in `params.hint`.

import { z } from 'zod'
import { PRICE_CURRENCY } from '../../domain/budget/amounts.ts'
import {
  type CheckpointName,
  isCheckpointName,
  isPlanName,
  isSha256,
  isTaskName,
  isWorkerLabel,
  NAME_MAX,
  type PlanName,
  type Sha256,
  type TaskName,
  WORKER_LABEL_MAX,
} from '../../domain/id.ts'
import type { Json, JsonObject } from '../../domain/json.ts'
import { DURATION_MAX_MS, PLACE_LABELS_MAX, TIMEOUT_MAX_MS } from '../../domain/limits.ts'
import type { Network } from '../../domain/plan.ts'
import { parseNetworkRule } from '../../domain/plan-rules/network-rule.ts'
import { FORM_HINTS } from '../text/schema-messages.ts'
import * as units from '../text/units.ts'

export const text = z.string()
export const line = z.string().min(1)
export const lines = z.array(line)
const address = line.transform(
  measure(value => {
    const parsed = parseNetworkRule(value)
    return parsed.ok ? { ok: true, value } : parsed
  }),
)
export const addresses = z.union([
  address.transform(one => [one]),
  z.array(address).register(FORM_HINTS, { hint: 'for example: [example.com]' }),
])
/** A plain list means the allowed addresses, as does an object without other keys. */
export const network = z
  .union([
    addresses,
    z
      .strictObject({
        allow: addresses.optional(),
        unknown: z
          .enum(['ask', 'deny'])
          .optional()
          .describe('What is done about any other address; deny when not said.'),
      })
      .transform(({ allow = [], unknown }): Network => (unknown === undefined ? allow : { allow, unknown })),
  ])
  .meta({
    description: 'Addresses that may be reached: a host, host:port, https://host, http://host/path*, tcp://host:port.',
    examples: [['https://example.org'], { allow: ['https://example.org'], unknown: 'ask' }],
  })
/** Path patterns. A plain name covers a file and a folder with its contents, since it does not tell which it is. */
export const scope = z
  .union([line.transform(one => (/[*?]|\/$/.test(one) ? [one] : [one, `${one}/**`])), lines])
  .meta({ examples: [['src/**']] })
/** Text, or a scalar that YAML parses as another type: environment variables are text in the end. */
export const scalar = z.union([z.string(), z.number().transform(String), z.boolean().transform(String)])

export const planName = z.string().transform(named(isPlanName)).meta({
  description: 'Short name, unique in the store.',
  pattern: '^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$',
  maxLength: NAME_MAX,
}) as z.ZodType<PlanName, string>
export const taskName = z.string().transform(named(isTaskName)).meta({
  description: 'Name of a task, unique in its plan.',
  pattern: '^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$',
  maxLength: NAME_MAX,
}) as z.ZodType<TaskName, string>
export const checkpointName = z.string().transform(named(isCheckpointName)).meta({
  description: 'Name of a checkpoint.',
  pattern: '^[A-Za-z0-9]([A-Za-z0-9._/-]*[A-Za-z0-9])?$',
  maxLength: NAME_MAX,
}) as z.ZodType<CheckpointName, string>
export const taskNames = z
  .union([taskName.transform(name => [name]), z.array(taskName)])
  .meta({ examples: [['build']] })

const workerLabel = z
  .string()
  .transform(measure(value => (isWorkerLabel(value) ? { ok: true, value } : notWorkerLabel(value))))
  .meta({ pattern: '^[A-Za-z0-9._/-]+$', maxLength: WORKER_LABEL_MAX })
export const place = z
  .union([
    workerLabel.transform(one => [one]),
    z.array(workerLabel).superRefine(checkLabels).meta({ maxItems: PLACE_LABELS_MAX, uniqueItems: true }),
  ])
  .meta({
    description: 'Labels that a worker must have, all of them, to drive the plan.',
    examples: [['linux', 'gpu']],
  })

const DURATION = '[0-9]+(\\.[0-9]+)? ?(ms|s|m|h|d)'
export const timeout = measured(value => units.readDuration(value, TIMEOUT_MAX_MS), units.printDuration, {
  pattern: `^${DURATION}$`,
  description: 'A duration: 250ms, 5s, 30m, 2h, 1d.',
  hint: 'write a number and a unit: 5m',
})
export const duration = measured(value => units.readDuration(value, DURATION_MAX_MS), units.printDuration, {
  pattern: `^${DURATION}$`,
  description: 'A duration: 250ms, 5s, 30m, 2h, 1d.',
  hint: 'write a number and a unit: 30m',
})
export const durationRange = measured(
  value => units.readDurationRange(value, TIMEOUT_MAX_MS),
  units.printDurationRange,
  {
    pattern: `^${DURATION}( ?\\.\\. ?${DURATION})?$`,
    description: 'A duration or a range: 1s..30s.',
    hint: 'write a duration or a range: 1s..30s',
  },
)
export const size = measured(units.readSize, units.printSize, {
  pattern: '^[0-9]+(\\.[0-9]+)? ?(B|kB|KB|MB|GB|TB|KiB|MiB|GiB|TiB)$',
  description: 'A size: 500MB, 4GiB.',
  hint: 'write a number and a unit: 4GiB',
})
export const money = measured(units.readMoney, units.printMoney, {
  pattern: '^[0-9]+(\\.[0-9]+)? ?[A-Z]{3}$',
  description: 'An amount with its currency: 2 USD.',
  hint: 'write an amount and a currency: 2 USD',
})
/** Compared with the price of a single call, so only in the currency of prices. */
export const dollars = money.refine(({ currency }) => currency === PRICE_CURRENCY, {
  message: `the amount is not in ${PRICE_CURRENCY}, and prices are known in ${PRICE_CURRENCY}`,
  params: { hint: `write the amount in ${PRICE_CURRENCY}: 2 ${PRICE_CURRENCY}` },
})

export const amount = measuring(
  z.union([z.int(), z.string()]),
  value => units.readAmount(String(value)),
  units.printAmount,
).meta({
  description: 'A whole number: 1500, 500k, 2M.',
  examples: ['2M'],
})

export const sha256 = z
  .string()
  .transform(
    measure(value => (isSha256(value.toLowerCase()) ? { ok: true, value: value.toLowerCase() as Sha256 } : NOT_SHA256)),
  )

/** Octal, as for chmod: "755", "0755", or 0o755 in YAML. A bare 755 is refused in `actions/edit-action.ts`, which sees how it was typed. */
export const mode = measuring(z.union([z.string(), z.int()]), readMode, bits => bits.toString(8).padStart(3, '0')).meta(
  { description: 'Permissions in octal, quoted: "755".' },
)

export const deadline = z
  .string()
  .transform(measure(readDate))
  .describe('A date, 2026-01-31, or a date and time with zone, 2026-01-31T12:00:00Z.')

/** A tag name under `refs/tags/`. Computed ones are checked at run time. */
export const tagName = line.transform(
  measure(value => (value.includes('${{') || isRefName(value) ? { ok: true, value } : notRef(value, 'tag'))),
)
/** A branch, tag or commit; never an option. */
export const revision = line.transform(
  measure(value => (/^[^-\s][^\s]*$/.test(value) ? { ok: true, value } : notRef(value, 'revision'))),
)

/** The target of a notice. A password in it would be stored in every journal. */
export const webAddress = z
  .string()
  .transform(measure(readAddress))
  .meta({ description: 'An address: https://…', pattern: '^https?://' })

/** Any JSON but null: a key without a value is usually a mistake. */
export const json = z
  .unknown()
  .refine(value => value !== null && value !== undefined, {
    error: 'a value is missing',
    params: { hint: 'give it a value, or remove the key' },
  })
  .transform(value => value as Json)
  .describe('Any JSON value.')
/** Like `json`, but null is allowed. */
export const item = z.unknown().transform(value => value as Json)
export const jsonObject = z
  .record(z.string(), z.unknown())
  .transform(value => value as JsonObject)
  .meta({ examples: [{ version: '1.2' }] })

export function count(max: number): z.ZodNumber {
  return z.int().min(1).max(max)
}

/** Adapts a reader to a zod transform that reports its error with a hint. */
export function measure<I, T>(read: (value: I) => units.Read<T>): (value: I, context: z.RefinementCtx) => T {
  return (value, context) => {
    const result = read(value)
    if (result.ok) return result.value
    context.addIssue({ code: 'custom', message: result.message, params: { hint: result.hint } })
    return z.NEVER
  }
}

/** The pattern is for editors. Errors come from `read`; the hint is for values that are not text. */
function measured<T>(
  read: (value: string) => units.Read<T>,
  print: (value: T) => string,
  { hint, ...about }: { readonly pattern: string; readonly description: string; readonly hint: string },
) {
  return measuring(z.string(), read, print).meta(about).register(FORM_HINTS, { hint })
}

/** Errors and hints come from `read`. */
function measuring<I extends string | number, T>(
  schema: z.ZodType<I>,
  read: (value: I) => units.Read<T>,
  print: (value: T) => string,
): z.ZodType<T> {
  return z.codec(schema, z.any(), {
    decode: (input, { issues }) => {
      const result = read(input)
      if (result.ok) return result.value
      const { message, hint } = result
      issues.push({ code: 'custom', input, message, params: { hint } })
      return z.NEVER
    },
    encode: value => print(value) as I,
  }) as z.ZodType<T>
}

function checkLabels(labels: readonly string[], context: z.RefinementCtx): void {
  const { length } = labels
  if (length > PLACE_LABELS_MAX) {
    const message = `'place' has ${length} labels, more than ${PLACE_LABELS_MAX}`
    context.addIssue({ code: 'custom', message, params: { hint: `list at most ${PLACE_LABELS_MAX}` } })
    return
  }
  for (const [at, label] of labels.entries()) {
    if (labels.indexOf(label) === at) continue
    const message = `the label '${label}' is there twice`
    context.addIssue({ code: 'custom', path: [at], message, params: { hint: 'list each label once' } })
  }
}

function named<T extends string>(is: (name: string) => name is T): (value: string, context: z.RefinementCtx) => T {
  return measure(value =>
    is(value) ? { ok: true, value } : { ok: false, message: `${quote(value)} cannot be a name`, hint: NAME_HINT },
  )
}

export function quote(value: string): string {
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}…` : value)
}

const NAME_HINT = `use letters and digits, with - _ . allowed inside, at most ${NAME_MAX} characters, for instance retry-core`
const notWorkerLabel = (value: string): units.Read<string> => ({
  ok: false,
  message: `${quote(value)} cannot be a label of a worker`,
  hint: `use letters, digits and . _ - /, at most ${WORKER_LABEL_MAX} characters; write several as a list: [linux, gpu]`,
})
const NOT_SHA256 = { ok: false, message: 'this is not a SHA-256', hint: 'write its 64 hexadecimal digits' } as const

/** Git's rules: no part is empty, hidden or ends in `.lock`, and no character has a meaning in revision syntax. */
function isRefName(text: string): boolean {
  if (text.startsWith('-') || text === '@' || text.includes('..') || text.includes('@{')) return false
  if (/[\p{Cc}\s~^:?*[\\]/u.test(text) || text.endsWith('.')) return false
  return text.split('/').every(part => part !== '' && !part.startsWith('.') && !part.endsWith('.lock'))
}

function notRef(value: string, word: 'tag' | 'revision'): units.Read<string> {
  const hint =
    word === 'tag' ? 'use letters, digits and - _ . /, for instance v1.2.0' : 'name a branch, a tag or a commit'
  return { ok: false, message: `${quote(value)} cannot be a git ${word}`, hint }
}

function readMode(value: string | number): units.Read<number> {
  const hint = 'write it in octal and in quotes: "755" or "644"'
  const bits = typeof value === 'number' ? value : /^0?[0-7]{3}$/.test(value) ? Number.parseInt(value, 8) : Number.NaN
  if (bits >= 0 && bits <= 0o777) return { ok: true, value: bits }
  return { ok: false, message: `${JSON.stringify(value)} is not a file mode`, hint }
}

function readAddress(text: string): units.Read<string> {
  const no = (message: string, hint: string): units.Read<string> => ({ ok: false, message, hint })
  const parsed = URL.canParse(text) ? new URL(text) : null
  if (parsed === null || !/^https?:$/.test(parsed.protocol))
    return no(`${quote(text)} is not a web address`, 'write it like https://example.org/hook')
  if (parsed.username !== '' || parsed.password !== '')
    return no('the address contains a user name or a password', 'remove it: everybody who sees the plan would see it')
  return { ok: true, value: text }
}

function readDate(value: string): units.Read<string> {
  const match = /^(\d{4})-(\d\d)-(\d\d)(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[-+]\d\d:\d\d))?$/.exec(value)
  const day = new Date(Date.UTC(Number(match?.[1]), Number(match?.[2]) - 1, Number(match?.[3])))
  const exists = match !== null && day.toISOString().startsWith(`${match[1]}-${match[2]}-${match[3]}`)
  if (exists && !Number.isNaN(Date.parse(value))) return { ok: true, value }
  return {
    ok: false,
    message: `${quote(value)} is not a date`,
    hint: 'write it like 2026-01-31 or 2026-01-31T12:00:00Z',
  }
}
