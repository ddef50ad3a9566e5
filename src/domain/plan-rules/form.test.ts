import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cpuMs } from '../cpu-time.fixture.ts'
import type { Json, JsonObject } from '../json.ts'
import type { Field } from '../plan.ts'
import { fillIn, formFault, isPattern } from './form.ts'

const RUNS = Number(process.env.PLANFOLD_RUNS ?? 300)
const FORM: readonly Field[] = [
  { name: 'count', type: 'number', min: 1, max: 9 },
  { name: 'ok', type: 'boolean', default: false },
  { name: 'where', type: 'choice', choices: ['eu', 'us'] },
  { name: 'note', type: 'text', optional: true, pattern: '[a-z]+-[0-9]{2}' },
  { name: 'tags', type: 'list', optional: true },
]
const refusal = (answers: JsonObject): string => {
  const filled = fillIn(FORM, answers)
  return filled.ok ? 'filled' : filled.refusal.message
}

describe('a form', () => {
  it('takes answers of its types, with defaults for what is left out', () => {
    expect(fillIn(FORM, { count: 3, where: 'eu', note: 'ab-12', tags: ['x'] })).toEqual({
      ok: true,
      answers: { count: 3, ok: false, where: 'eu', note: 'ab-12', tags: ['x'] },
    })
  })

  it.each<[JsonObject, string]>([
    [{ where: 'eu' }, "'count' is not answered"],
    [{ count: '3', where: 'eu' }, "'count' must be a number"],
    [{ count: 10, where: 'eu' }, "'count' must be at most 9"],
    [{ count: 0, where: 'eu' }, "'count' must be at least 1"],
    [{ count: 1, where: 'asia' }, "'where' is not one of the choices"],
    [{ count: 1, where: 'eu', ok: 'yes' }, "'ok' must be true or false"],
    [{ count: 1, where: 'eu', note: 'ab-123' }, "'note' does not match [a-z]+-[0-9]{2}"],
    [{ count: 1, where: 'eu', tags: [1] }, "'tags' must be a list of texts"],
    [{ count: 1, where: 'eu', more: 1 }, "unknown field 'more'"],
  ])('refuses %j', (answers, message) => expect(refusal(answers)).toBe(message))

  it('lets nothing through that is not of its type, whatever is answered', () => {
    const value: fc.Arbitrary<Json> = fc.oneof(
      fc.string(),
      fc.double(),
      fc.boolean(),
      fc.constant(null),
      fc.array(fc.string(), { maxLength: 3 }),
      fc.constant({ a: 1 }),
      fc.constantFrom('eu', 'us', 1, 5, true),
    )
    const names = fc.constantFrom('count', 'ok', 'where', 'note', 'tags', '__proto__', 'constructor')
    fc.assert(
      fc.property(fc.dictionary(names, value), given => {
        const filled = fillIn(FORM, given)
        if (!filled.ok) return
        const { count, ok, where, note, tags } = filled.answers
        expect(typeof count === 'number' && count >= 1 && count <= 9).toBe(true)
        expect(typeof ok).toBe('boolean')
        expect(['eu', 'us']).toContain(where)
        if (note !== undefined) expect(note).toMatch(/^[a-z]+-[0-9]{2}$/)
        if (tags !== undefined) expect((tags as readonly Json[]).every(tag => typeof tag === 'string')).toBe(true)
        expect(Object.keys(filled.answers).every(name => FORM.some(field => field.name === name))).toBe(true)
      }),
      { numRuns: RUNS },
    )
  })

  it('that nobody could answer is none', () => {
    const text: Field = { name: 'a', type: 'text' }
    expect(formFault([text])).toBe(null)
    expect(formFault([])).toContain('needs a field')
    expect(formFault([text, text])).toContain('two fields')
    expect(formFault([{ name: 'a b', type: 'text' }])).toContain('not a valid field name')
    expect(formFault([{ name: 'a', type: 'choice' }])).toContain('nothing to choose')
    expect(formFault([{ name: 'a', type: 'number', default: 'x' }])).toContain('must be a number')
    expect(formFault([{ ...text, pattern: '(a+)+$' }])).toContain('cannot be used')
  })

  it('has only patterns that are judged in a moment', () => {
    for (const good of ['[a-z]+', '\\d+\\.\\d+\\.\\d+', 'v?[0-9]{1,3}', '(?:eu|us)-[0-9]+', '.*'])
      expect(isPattern(good), good).toBe(true)
    for (const bad of ['(a+)+', '(a|a)*', '(.*)*x', '(a)\\1', '(?=a)', '[', 'a*a*a*a*a*', '(?:a{1,9}){9}'])
      expect(isPattern(bad), bad).toBe(false)
    const field: Field = { name: 'a', type: 'text', pattern: '.*a.*a.*b' }
    const judging = () => expect(fillIn([field], { a: 'a'.repeat(200) }).ok).toBe(false)
    expect(cpuMs(judging, 1_000)).toBeLessThan(1_000)
  })
})
