import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { EPOCH, numberedPlanId, sequentialPlanIds } from '../testing/index.ts'
import {
  isActor,
  isPlanId,
  isPlanName,
  isSha256,
  isTaskName,
  isUuid,
  isWorkerLabel,
  nameKey,
  parseTaskId,
  planId,
  taskId,
} from './id.ts'

const random = fc.uint8Array({ minLength: 10, maxLength: 10 })

describe('ids', () => {
  it('a plan id is a UUIDv7 that carries its time and leaves eight digits for ordinals', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 48 - 1 }), random, (now, bytes) => {
        const id = planId(now, bytes)
        expect(isUuid(id) && isPlanId(id)).toBe(true)
        expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(now)
      }),
    )
  })

  it('a task id leads back to its plan and its ordinal', () => {
    fc.assert(
      fc.property(random, fc.integer({ min: 1, max: 0xffffffff }), (bytes, ordinal) => {
        const plan = planId(EPOCH, bytes)
        const id = taskId(plan, ordinal)
        expect(parseTaskId(id)).toEqual({ plan, ordinal })
        expect(isPlanId(id)).toBe(false)
        expect([id as string, plan as string].sort()).toEqual([plan, id])
      }),
    )
  })

  it('what is no task id is parsed to null', () => {
    for (const text of [
      '',
      'a',
      numberedPlanId(1),
      `${numberedPlanId(1)}0`,
      numberedPlanId(1).toUpperCase().replace(/0$/, 'A'),
    ]) {
      expect(parseTaskId(text)).toBeNull()
    }
  })

  it('ids made in sequence are all different', () => {
    const next = sequentialPlanIds()
    const ids = Array.from({ length: 300 }, next)
    expect(new Set(ids).size).toBe(300)
    expect(ids.every(isPlanId)).toBe(true)
  })

  it('a hash is sixty-four lowercase hexadecimal digits', () => {
    expect([isSha256('a'.repeat(64)), isSha256('A'.repeat(64)), isSha256('a'.repeat(63))]).toEqual([true, false, false])
  })
})

describe('names', () => {
  it('are plain, bounded, and never those of the object machinery', () => {
    const good = ['a', 'retry-core', 'v1.2_x', 'A9', 'toString']
    const bad = [
      '',
      '-a',
      'a-',
      '.a',
      'a..b',
      'a b',
      'ä',
      'a'.repeat(101),
      '__proto__',
      'constructor',
      'prototype',
      numberedPlanId(1),
      'a\u0000',
    ]
    expect(good.filter(text => !isTaskName(text) || !isPlanName(text))).toEqual([])
    expect(bad.filter(text => isTaskName(text) || isPlanName(text))).toEqual([])
  })

  it('of expanded tasks may hold a slash, of plans not', () => {
    expect([isTaskName('check-db/1'), isTaskName('a//b'), isTaskName('/a'), isPlanName('check-db/1')]).toEqual([
      true,
      false,
      false,
      false,
    ])
  })

  it('of actors are free text, all of which can be seen', () => {
    for (const name of ['Ana <ana@example.com>', 'Zoë 王', 'crash test']) expect(isActor(name)).toBe(true)
    const unseen = [
      '\n',
      '\u001b',
      '\u009b',
      '\u2028',
      '\u200b',
      '\u202e',
      '\u2066',
      '\ufeff',
      '\u00ad',
      '\u3164',
      '\ud800',
    ]
    for (const sign of unseen) expect(isActor(`a${sign}b`)).toBe(false)
    for (const name of ['', ' ', 'ana ', '\u00a0ana', 'x'.repeat(201)]) expect(isActor(name)).toBe(false)
  })

  it('of actors are the same however they are written', () => {
    expect(new Set(['ana', 'ana ', 'ANA', 'ａｎａ'].map(nameKey)).size).toBe(1)
    expect(nameKey('ana')).not.toBe(nameKey('anna'))
  })
})

describe('a label of a worker', () => {
  it.each([
    ['gpu', true],
    ['eu/west_1.a-b', true],
    ['1', true],
    ['x'.repeat(64), true],
    ['x'.repeat(65), false],
    ['', false],
    ['a b', false],
    ['gpu\n', false],
    ['größe', false],
    ['a,b', false],
  ])('%j: %s', (text, is) => {
    expect(isWorkerLabel(text)).toBe(is)
  })
})
