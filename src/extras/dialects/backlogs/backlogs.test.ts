import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PlanName, TaskName } from '../../../domain/id.ts'
import type { PlanDefinition, TaskDefinition } from '../../../domain/plan.ts'
import { printYaml } from '../../../format/plan/print.ts'
import { Source } from '../../../format/text/source.ts'
import { parsePlan } from '../dialects.fixture.ts'
import { DIALECTS } from '../dialects.ts'
import { backlogMd } from './backlog-md.ts'
import { FOLDER, print, read, SAMPLES } from './backlogs.fixture.ts'
import { settleNeeds } from './backlogs.ts'
import { beads } from './beads.ts'
import { specKit } from './spec-kit.ts'
import { taskMaster } from './task-master.ts'

describe('every backlog', () => {
  for (const { name, dialect, text } of SAMPLES) {
    it(`${name}: is known by its shape, and read as the golden says`, async () => {
      expect(DIALECTS.find(one => one.recognises(new Source(text)))?.name).toBe(dialect.name)
      const { definition, ended } = read(dialect, text)
      const golden = `${printYaml(definition)}\n# ended: ${[...ended].map(([task, status]) => `${task} ${status}`).join(', ')}\n`
      await expect(golden).toMatchFileSnapshot(`${FOLDER}golden/${name}.yaml`)
    })

    it(`${name}: goes out as it came in, byte for byte, and nothing is lost`, () => {
      expect(print(dialect, read(dialect, text))).toEqual({ text, lost: [] })
    })

    it(`${name}: survives the canonical document`, () => {
      const plan = read(dialect, text)
      const again = parsePlan(printYaml(plan.definition))
      expect(again).toMatchObject({ ok: true, definition: plan.definition })
      expect(print(dialect, { ...plan, definition: (again as { definition: PlanDefinition }).definition }).text).toBe(
        text,
      )
    })

    it(`${name}: a task that ends is written as ended, and only it changes`, () => {
      const plan = read(dialect, text)
      const open = plan.definition.tasks.find(task => !plan.ended.has(task.id))!
      const out = print(dialect, plan, { [open.id]: 'completed' })
      const again = read(dialect, out.text)
      expect(out.lost).toEqual([])
      expect(new Map(again.ended)).toEqual(new Map([...plan.ended, [open.id, 'completed']]))
      const bare = ({ extra, ...task }: TaskDefinition) => task
      expect(again.definition.tasks.map(bare)).toEqual(plan.definition.tasks.map(bare))
    })

    it(`${name}: broken in any place, it is read or refused with a place and a hint, never thrown`, () => {
      const junk = fc.constantFrom(
        '{',
        '}',
        '"',
        '\n',
        '---\n',
        '<!--',
        '__proto__',
        '\0',
        '\uD800',
        '- [ ] T001',
        '## ',
        '🙂',
        '[1,',
        'null',
        '&a *a',
      )
      fc.assert(
        fc.property(fc.nat(text.length), fc.nat(60), junk, (at, cut, put) => {
          const broken = text.slice(0, at) + put + text.slice(at + cut)
          const parsed = parsePlan(broken, { dialect, fallbackName: 'b' })
          for (const { line, column, message } of parsed.ok ? parsed.warnings : parsed.diagnostics) {
            expect(line).toBeGreaterThan(0)
            expect(column).toBeGreaterThan(0)
            expect(message).not.toBe('')
          }
          expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false)
        }),
        { numRuns: 40 },
      )
    })
  }
})

/** Plans a backlog has words for. */
function plans(
  names: fc.Arbitrary<string>,
  extra: fc.Arbitrary<Partial<TaskDefinition>>,
  needs: 'any' | 'chain',
): fc.Arbitrary<PlanDefinition> {
  return fc
    .uniqueArray(names, { minLength: 1, maxLength: 8 })
    .chain(ids =>
      fc.tuple(
        fc.constant(ids),
        fc.array(extra, { minLength: ids.length, maxLength: ids.length }),
        fc.array(fc.array(fc.nat(7), { maxLength: 3 }), { minLength: ids.length, maxLength: ids.length }),
      ),
    )
    .map(([ids, extras, edges]) => ({
      name: 'backlog' as PlanName,
      tasks: ids.map((id, index) => {
        const any = [...new Set(edges[index]!.filter(at => at < index))].map(at => ids[at] as TaskName)
        const chain = index === 0 ? [] : [ids[index - 1] as TaskName]
        const wanted = needs === 'any' ? any : chain
        return {
          id: id as TaskName,
          ...extras[index]!,
          action: { type: 'external' as const },
          ...(wanted.length === 0 ? {} : { needs: wanted }),
        }
      }),
    }))
}
const line = fc.oneof(
  fc.constantFrom('Do it', '[P] no', '# x', 'a: b', "it's", '- y', 'true', '1e3', '@me', '`x`', 'ä 🙂', 'T1 (x)'),
  fc.stringMatching(/^[a-zA-Z#:&*!'"{}[\],-][ -~]{0,20}[a-z!]$/),
)
const texts = fc.array(line, { minLength: 1, maxLength: 3 }).map(lines => lines.join('\n'))
const priority = fc.constantFrom(20, 10, 0, -10)
const optional = <T extends { [key: string]: fc.Arbitrary<unknown> }>(keys: T) =>
  fc.record(keys, { requiredKeys: [] }) as fc.Arbitrary<Partial<TaskDefinition>>
const prose = (text: string) => ({ type: 'prose' as const, text })

describe('plans a backlog can express come back the same', () => {
  const cases = [
    {
      dialect: taskMaster,
      plan: plans(
        fc.oneof(
          fc.nat(99).map(n => String(n + 1)),
          fc.stringMatching(/^[a-z]{1,5}$/),
        ),
        optional({
          title: line,
          description: texts,
          instruction: texts,
          priority,
          accept: texts.map(text => [prose(text)]),
        }),
        'any',
      ),
    },
    {
      dialect: beads,
      plan: plans(
        fc.stringMatching(/^bd-[a-z0-9]{1,4}$/),
        optional({
          title: line,
          description: texts,
          instruction: texts,
          kind: fc.constantFrom('task', 'bug', 'epic'),
          assignee: line,
          labels: fc.array(line, { minLength: 1, maxLength: 2 }),
          priority: fc.oneof(priority, fc.constant(-20)),
          estimateMs: fc.integer({ min: 1, max: 5_000 }).map(minutes => minutes * 60_000),
        }),
        'any',
      ),
    },
    {
      dialect: backlogMd,
      plan: plans(
        fc.nat(99).map(n => `task-${n + 1}`),
        optional({
          title: line,
          description: texts.filter(text => !text.includes('```') && text === text.trim()),
          accept: fc.array(line.filter(text => !/^#\d+ /.test(text)).map(prose), { minLength: 1, maxLength: 3 }),
          assignee: line,
          labels: fc.array(line, { minLength: 1, maxLength: 2 }),
          milestone: line,
          priority,
        }),
        'any',
      ),
    },
    {
      dialect: specKit,
      plan: plans(
        fc.nat(998).map(n => `T${String(n + 1).padStart(3, '0')}`),
        fc.record({ title: line.filter(text => !/^\[|depends|T\d/.test(text)) }) as fc.Arbitrary<
          Partial<TaskDefinition>
        >,
        'chain',
      ),
    },
  ]
  for (const { dialect, plan } of cases) {
    it(dialect.name, () => {
      fc.assert(
        fc.property(plan, definition => {
          const out = dialect.print!(definition, () => 'pending')
          expect(out.lost).toEqual([])
          expect(dialect.recognises(new Source(out.text))).toBe(true)
          const again = read(dialect, out.text)
          expect(dialect.print!(again.definition, () => 'pending').text).toBe(out.text)
          expect(again.definition).toEqual(definition)
        }),
        { numRuns: 60 },
      )
    })
  }
})

describe('needs that only follow from how tasks stand together', () => {
  const names = (...list: string[]) => list as TaskName[]
  it('are left out where they would close a circle, and only there', () => {
    const [a, b, c] = names('a', 'b', 'c') as [TaskName, TaskName, TaskName]
    expect([
      ...settleNeeds([
        { name: a, hard: [], soft: [b, c] },
        { name: b, hard: [a], soft: [] },
        { name: c, hard: [], soft: [] },
      ]),
    ]).toEqual([
      [a, [c]],
      [b, [a]],
      [c, []],
    ])
  })

  it('are found without recursion, however long the chain', () => {
    const chain = Array.from({ length: 20_000 }, (_, index) => `t${index}` as TaskName)
    const settled = settleNeeds(
      chain.map((name, index) => ({ name, hard: [], soft: index === 0 ? [] : [chain[index - 1]!] })),
    )
    expect(settled.get(chain.at(-1)!)).toEqual([chain.at(-2)])
  })
})
