// What a document says about judgement: gates, recovery, contracts, policy, notices. Read, printed, drawn, renamed, compared;
// and what is wrong with it is told in place.

import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { plainHint } from '../../domain/hint.ts'
import type { TaskName } from '../../domain/id.ts'
import type { GateAction, PlanDefinition } from '../../domain/plan.ts'
import { checkGraph } from '../../domain/plan-rules/graph-rules.ts'
import { semanticDiff } from '../../domain/revisions/semantic-diff.ts'
import { explainDiff, printDiff } from './diff-text.ts'
import { definitionHash } from './hash.ts'
import { planJsonSchema } from './json-schema.ts'
import { outputReads } from './output-reads.ts'
import { parsePlan } from './parse.ts'
import { RECOVERY_PLAN as TEXT } from './plan-texts.fixture.ts'
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

const taskOf = (definition: PlanDefinition, id: string) => definition.tasks.find(each => each.id === id)!
const gateOf = (definition: PlanDefinition, id: string) => taskOf(definition, id).action as GateAction

describe('the words of judgement', () => {
  const { definition, warnings } = parsed(TEXT)

  test('are read into the definition', () => {
    expect(warnings).toEqual([])
    expect(definition.policy).toEqual({
      onFailure: 'rollback',
      gates: { before: ['push', 'deploy'], approvers: { role: 'release', count: 2 }, validMs: 43_200_000 },
      roles: { release: ['ana', 'bo'], lead: ['cleo'] },
      replan: 'auto',
      escalate: { afterMs: 7_200_000, to: 'lead' },
      review: { windowMs: 1_800_000, max: 5 },
      breaker: { failures: 5, cooldownMs: 60_000 },
      limits: { attempts: 200, loops: 50 },
    })
    expect(definition.notify).toEqual([
      { on: ['waiting', 'failed'], send: { command: { argv: ['./tell.sh'] } } },
      { everyMs: 86_400_000, send: { webhook: 'https://example.org/hook' } },
    ])
    expect(taskOf(definition, 'build')).toMatchObject({
      timeboxMs: 1_800_000,
      postconditions: [
        { type: 'check', command: { script: 'test -f out/app' } },
        { type: 'prose', text: 'The old one is gone' },
      ],
      effects: ['out/**'],
      failureModes: [{ name: 'flaky-net', class: 'transient' }],
    })
    expect(taskOf(definition, 'build').recover).toEqual([
      { on: ['transient'], do: { type: 'retry', retry: { attempts: 5, backoffMs: { min: 1_000, max: 60_000 } } } },
      { on: ['logic', 'flaky-net'], do: { type: 'alternate', task: 'other-way' } },
      { times: 2, do: { type: 'repair', task: 'fixer' } },
      { do: { type: 'repair', task: 'fixer' } },
      { on: ['logic'], do: { type: 'replan' } },
      {
        on: ['logic'],
        do: {
          type: 'replan',
          add: [{ id: 'more', needs: ['build'], action: { type: 'run', command: { argv: ['ls'] } } }],
        },
      },
      { on: ['logic'], do: { type: 'replan', template: 'bugfix' } },
      { on: ['policy'], do: { type: 'ask', to: 'lead' } },
      { do: { type: 'ask' } },
      { do: JSON.parse('{ "type": "abort", "with": "rollback" }') },
    ])
    expect(gateOf(definition, 'review')).toEqual({
      type: 'gate',
      gate: 'approval',
      show: ['diff', 'cost'],
      checks: [{ type: 'check', command: { script: 'npm test' } }],
      unmet: 'ask',
      approvers: { role: 'release', count: 2 },
      expiresMs: 86_400_000,
      expired: 'escalate',
      escalate: { afterMs: 1_800_000, to: 'lead' },
    })
    expect(gateOf(definition, 'shape').schema).toEqual({ file: 'out/app.json', against: 'app.schema.json' })
    expect(gateOf(definition, 'purse').within).toEqual({ attempts: 40, timeMs: 7_200_000 })
    expect(gateOf(definition, 'size').options?.[0]).toEqual({
      id: 'small',
      title: 'One node',
      pros: ['cheap'],
      cons: ['slow'],
      cost: '3 EUR',
    })
    expect(gateOf(definition, 'port')).toMatchObject({
      question: 'Which port?',
      form: [
        { name: 'port', type: 'number', min: 1, max: 65_535, default: 80 },
        { name: 'why', type: 'text' },
      ],
    })
    expect(gateOf(definition, 'plain')).toEqual({ type: 'gate', gate: 'diff' })
  })

  test('are printed and read back, and follow the published schema', () => {
    expect(parsed(printYaml(definition)).definition).toEqual(definition)
    expect(parsed(printJson(definition)).definition).toEqual(definition)
    const validator = z.fromJSONSchema(planJsonSchema() as never)
    expect(validator.safeParse(parse(TEXT)).error).toBeUndefined()
    expect(validator.safeParse(parse(HEAD('policy: { gates: nune }'))).success).toBe(false)
    expect(validator.safeParse(parse(ONE('gate: aproval'))).success).toBe(false)
  })

  test('say all or nothing of gates in one word', () => {
    const gates = (text: string) => parsed(HEAD(`policy: { gates: ${text} }`)).definition.policy?.gates
    expect(gates('default')).toEqual({})
    expect(gates('none')).toEqual({ before: [] })
    expect(gates('{ before: deploy }')).toEqual({ before: ['deploy'] })
    expect(printYaml(parsed(HEAD('policy: { gates: { before: [] } }')).definition)).toContain('gates: none')
  })

  test('leave a document that uses none of them as it was, to the hash', () => {
    const old = parsed(`planfold: 1
name: old
policy: { on_failure: keep, write: [src/**] }
tasks:
  - { id: a, run: [make], failure_modes: [{ name: x, detect: prose, recover: b }] }
  - { id: b, gate: approval, show: [diff] }
`).definition
    expect(definitionHash(old)).toBe('f8d460c5997723a981bcba039b6f81e48d1cbdfb7f79d913e77aa632bcf9476c')
  })

  test('follow when tasks are renamed, and are looked at for what they read', () => {
    const renames = new Map(definition.tasks.map(({ id }) => [id, `n-${id}` as TaskName]))
    const renamed = renameTasks(definition, renames)
    const build = taskOf(renamed, 'n-build')
    expect(build.recover?.map(({ do: way }) => ('task' in way ? way.task : null)).slice(1, 4)).toEqual([
      'n-other-way',
      'n-fixer',
      'n-fixer',
    ])
    expect(build.recover?.[5]?.do).toMatchObject({ add: [{ id: 'more', needs: ['n-build'] }] })
    expect(checkGraph(renamed)).toEqual([])
    const back = renameTasks(renamed, new Map([...renames].map(([from, to]) => [to, from])))
    expect(back).toEqual(definition)
    const reads = outputReads(
      parsed(ONE('run: ls\npostconditions: [{ expect: outputs.n > 1 }]\noutputs: { n: stdout }')).definition,
    )
    expect(reads).toMatchObject([{ reader: 'a', key: 'postconditions', output: 'n' }])
  })

  test('are compared: what changed is told in the words of the document', () => {
    const after = parsed(
      TEXT.replace('timebox: 30m', 'timebox: 45m')
        .replace('alternate: other-way', 'alternate: fixer')
        .replace('effects: ["out/**"]', 'effects: ["out/**", "log/**"]')
        .replace('count: 2, valid: 12h', 'count: 1, valid: 12h')
        .replace('type: budget, attempts: 40', 'type: budget, attempts: 50'),
    ).definition
    const diff = semanticDiff(definition, after)
    expect(printDiff(diff)).toBe(
      ['~ policy.gates', '~ task build: effects, recover, timebox', '~ task purse: gate'].join('\n'),
    )
    expect(diff.changed[0]?.changes.map(({ key, kind }) => [key, kind])).toEqual([
      ['effects', 'scope'],
      ['recover', 'route'],
      ['timeboxMs', 'budget'],
    ])
    const text = explainDiff(diff)
    for (const said of ['policy.gates.count: 2 → 1', 'timebox: "30m" → "45m"', 'gate.attempts: 40 → 50'])
      expect(text).toContain(said)
  })

  test('a renamed remedy is a renaming, not a change of whom it helps', () => {
    const before = parsed(ONE('run: ls\nrecover: [{ alternate: b }]')).definition
    const [a, b] = before.tasks
    const helper = { ...b!, title: 'the other way' }
    const diff = semanticDiff(
      { ...before, tasks: [a!, helper] },
      renameTasks({ ...before, tasks: [a!, helper] }, new Map([[b!.id, 'c' as TaskName]])),
    )
    expect(diff).toMatchObject({ renamed: [{ from: 'b', to: 'c' }], changed: [] })
  })
})

describe('what is wrong with them is told in place', () => {
  test.each([
    [
      'an unknown key of the policy',
      HEAD('policy: { gats: none }'),
      ["2:11 unknown key 'gats' (did you mean 'gates'?)"],
    ],
    [
      'an impact nobody knows',
      HEAD('policy: { gates: { before: [deplo] } }'),
      [
        "2:29 unknown value \"deplo\" for 'before' (did you mean 'deploy'? known: push, deploy, delete, migrate, spend, send, data, outside, instructions)",
      ],
    ],
    [
      'gates in another word',
      HEAD('policy: { gates: all }'),
      ['2:18 unknown value "all" for \'gates\' (write one of: default, none)'],
    ],
    [
      'no approvals at all',
      HEAD('policy: { gates: { count: 0 } }'),
      ["2:27 'count' must be at least 1, not 0 (write 1 or more)"],
    ],
    [
      'an approval that is void at once',
      HEAD('policy: { gates: { valid: 0s } }'),
      ["2:27 a duration of '0s' would end at once (write 1ms or more, or leave the key out)"],
    ],
    [
      'a duration without a unit',
      HEAD('policy: { escalate: { after: 30, to: lead } }'),
      ["2:30 'after' has no unit: 30 (write a number and a unit: 30m)"],
    ],
    ['an escalation to nobody', HEAD('policy: { escalate: { after: 30m } }'), ["2:21 'to' is missing (add 'to:')"]],
    ['a role nobody has', HEAD('policy: { roles: { lead: [] } }'), ["2:26 'lead' is empty (name at least one)"]],
    [
      'an absurd cap',
      HEAD('policy: { limits: { attempts: 10000000 } }'),
      ["2:31 'attempts' is more than the limit of 1000000 (write at most 1000000)"],
    ],
    [
      'a breaker that never closes',
      HEAD('policy: { breaker: { failures: 3 } }'),
      ["2:20 'cooldown' is missing (add 'cooldown:')"],
    ],
    [
      'a negative window',
      HEAD('policy: { review: { window: -5m } }'),
      ["2:29 '-5m' is not a duration (write a number and a unit: 250ms, 5s, 30m, 2h or 1d)"],
    ],
    [
      'a notice that goes nowhere',
      HEAD('notify: [{ on: failed }]'),
      ['2:10 a notice goes one way, this one says nothing (give it one of run, webhook)'],
    ],
    [
      'a notice that goes two ways',
      HEAD('notify: [{ run: [tell], webhook: "https://a.example" }]'),
      ["2:25 a notice goes one way, this one has 'run' and 'webhook' (keep one, or write two of them)"],
    ],
    [
      'a webhook with a password in it',
      HEAD('notify: [{ webhook: "https://me:secret@a.example" }]'),
      ['2:21 the address contains a user name or a password (remove it: everybody who sees the plan would see it)'],
    ],
    [
      'a webhook that is none',
      HEAD('notify: [{ webhook: "file:///etc" }]'),
      ['2:21 "file:///etc" is not a web address (write it like https://example.org/hook)'],
    ],
    [
      'a kind of notice nobody sends',
      HEAD('notify: [{ on: [waitng], run: [tell] }]'),
      [
        "2:17 unknown value \"waitng\" for 'on' (did you mean 'waiting'? known: waiting, escalated, expired, failed, completed, cancelled, digest)",
      ],
    ],
    [
      'a gate of no type',
      ONE('gate: aproval'),
      [
        "4:11 unknown value \"aproval\" for 'gate' (did you mean 'approval'? known: approval, diff, decision, question, schema, invariant, tests, budget)",
      ],
    ],
    [
      'a gate that is just there',
      ONE('gate: true'),
      [
        "4:11 'gate' must be text or a map, not true (write one of: approval, diff, decision, question, schema, invariant, tests, budget)",
      ],
    ],
    [
      'gates that are just there',
      HEAD('policy: { gates: true }'),
      ["2:18 'gates' must be text or a map, not true (write one of: default, none)"],
    ],
    [
      'an impact that is no word',
      HEAD('policy: { gates: { before: [true] } }'),
      [
        "2:29 item 1 of 'before' must be text, not true (write one of: push, deploy, delete, migrate, spend, send, data, outside, instructions)",
      ],
    ],
    [
      'a rule that asks nobody',
      ONE('recover: [{ ask: false }]'),
      ["4:22 'ask' must be true or text, not false (write true or text)"],
    ],
    [
      'a role that is no name',
      HEAD('policy: { roles: { "a b": [ana] } }'),
      ["2:20 'a b' cannot be a name here (use letters, digits, _ and -, beginning with a letter)"],
    ],
    [
      'a field that is no name',
      ONE('gate: { type: question, question: x, form: [{ name: "a b" }] }'),
      ['4:57 "a b" cannot be a name here (use letters, digits, _ and -, beginning with a letter)'],
    ],
    [
      'a field of a long name',
      ONE(`gate: { type: question, question: x, form: [{ name: ${'x'.repeat(65)} }] }`),
      [`4:57 "${'x'.repeat(59)}… cannot be a name here (use at most 64 characters)`],
    ],
    [
      'two fields of one name',
      ONE('gate: { type: question, question: x, form: [{ name: a }, { name: a }] }'),
      ["4:70 'a' is there twice (rename one of them)"],
    ],
    [
      'an option that is no name',
      ONE('gate: { type: decision, options: [{ id: "a b" }, { id: y }] }'),
      ['4:45 "a b" cannot be a name here (use letters, digits, _ and -, beginning with a letter)'],
    ],
    [
      'an option without a name',
      ONE('gate: { type: decision, options: [{ title: a }, { id: y }] }'),
      ["4:39 'id' is missing (add 'id:')"],
    ],
    [
      'a failure mode that is no name',
      ONE('failure_modes: [{ name: "a b", detect: y }]'),
      ['4:29 "a b" cannot be a name here (use letters, digits, _ and -, beginning with a letter)'],
    ],
    [
      'a gate that must say more',
      ONE('gate: tests'),
      ["4:11 a gate of type 'tests' must say more (write gate: { type: tests, checks: [{ check: npm test }] })"],
    ],
    [
      'a schema gate without a schema',
      ONE('gate: { type: schema, file: a.json }'),
      [
        "4:11 a gate of type 'schema' needs 'against' (write gate: { type: schema, file: out.json, against: out.schema.json })",
      ],
    ],
    [
      'a key of another gate',
      ONE('gate: { type: approval, options: [{ id: x }, { id: y }] }'),
      ["4:29 a gate of type 'approval' has no 'options' ('options' belongs to a gate of type decision)"],
    ],
    [
      'a choice of one',
      ONE('gate: { type: decision, options: [{ id: x }] }'),
      ["4:38 'options' has 1 item, and needs 2 (name at least 2)"],
    ],
    [
      'two options of one name',
      ONE('gate: { type: decision, options: [{ id: x }, { id: x }] }'),
      ["4:56 'x' is there twice (rename one of them)"],
    ],
    [
      'an end of nothing',
      ONE('gate: { type: approval, expired: reject }'),
      ["4:29 'expired' only makes sense beside 'expires' (add 'expires:', or remove 'expired:')"],
    ],
    [
      'a choice without choices',
      ONE('gate: { type: question, question: x, form: [{ name: a, type: choice }] }'),
      ["4:49 a field of type 'choice' needs 'choices' (add choices: [a, b])"],
    ],
    [
      'choices of something else',
      ONE(
        'gate: { type: question, question: x, form: [{ name: a, choices: [b] }, { name: c, type: list, choices: [d] }] }',
      ),
      [
        "4:60 'choices' is for a field of type 'choice', this one is 'text' (add type: choice, or remove 'choices:')",
        "4:99 'choices' is for a field of type 'choice', this one is 'list' (write type: choice, or remove 'choices:')",
      ],
    ],
    [
      'a default that is no answer',
      ONE('gate: { type: question, question: x, form: [{ name: a, type: number, default: no }] }'),
      ["4:83 the default is not a valid answer: 'a' must be a number (give a number)"],
    ],
    [
      'a number that cannot be',
      ONE('gate: { type: question, question: x, form: [{ name: a, type: number, min: 9, max: 1 }] }'),
      ['4:87 no number is at least 9 and at most 1 (exchange them)'],
    ],
    [
      'a pattern that could take for ever',
      ONE('gate: { type: question, question: x, form: [{ name: a, pattern: "(a+)+" }] }'),
      [
        '4:69 the pattern cannot be used (write a regular expression without look-around, back-references or groups that repeat)',
      ],
    ],
    [
      'show said twice',
      ONE('gate: { type: approval, show: [diff] }\nshow: [cost]'),
      ["5:5 'show' is said twice (keep one of them)"],
    ],
    [
      'a rule that does nothing',
      ONE('recover: [{ on: logic }]'),
      [
        '4:15 a rule of recover does one thing, this one says nothing (give it one of retry, alternate, repair, critic, replan, ask, abort)',
      ],
    ],
    [
      'a rule that does two things',
      ONE('recover: [{ retry: 3, ask: true }]'),
      ["4:27 a rule of recover does one thing, this one has 'retry' and 'ask' (keep one, or write two of them)"],
    ],
    [
      'a slip in a rule, told once',
      ONE('recover: [{ alternat: b }]'),
      ["4:17 unknown key 'alternat' (did you mean 'alternate'?)"],
    ],
    [
      'a class of failures nobody knows',
      ONE('recover: [{ on: [logic, transent], ask: true }]'),
      ["4:29 'transent' is neither a class of failures nor a failure mode of this task (did you mean 'transient'?)"],
    ],
    [
      'a rule for no visit',
      ONE('recover: [{ ask: true, times: 0 }]'),
      ["4:35 'times' must be at least 1, not 0 (write 1 or more)"],
    ],
    [
      'an alternate that is not there',
      ONE('recover: [{ alternate: bb }]'),
      ["4:28 task 'a' recovers by 'bb', which does not exist (did you mean 'b'?)"],
    ],
    [
      'its own alternate',
      ONE('recover: [{ ask: true }, { alternate: a }]'),
      ["4:43 task 'a' would take its own place (name another task; to try again, write 'retry:')"],
    ],
    [
      'a repair that waits for what it repairs',
      `${ONE('recover: [{ repair: b }]')}    needs: [c]\n  - { id: c, needs: [a] }\n`,
      ["4:25 'b' would repair 'a', but needs it (remove what it needs of 'a': it is woken when that has failed)"],
    ],
    [
      'a plan that would change by nothing',
      ONE('recover: [{ replan: {} }]'),
      ["4:25 'replan' says nothing (write 'replan: true', or give it 'add:' or 'template:')"],
    ],
    [
      'a task added twice',
      ONE('recover: [{ replan: { add: [{ id: c }, { id: c }] } }]'),
      ["4:50 task 'a' would add 'c' twice (give it an id of its own)"],
    ],
    [
      'an added task that needs nobody who is there',
      ONE('recover: [{ replan: { add: [{ id: c, needs: [zz] }] } }]'),
      [
        "4:49 'c', which 'a' would add, needs 'zz', which does not exist (name a task of this plan, or one that is added with it)",
      ],
    ],
    [
      'an expression inside an added task',
      ONE('recover: [{ replan: { add: [{ id: c, when: "tasks.zz.exit == 0" }] } }]'),
      ["4:55 there is no task 'zz' (name a task of this plan)"],
    ],
    [
      'a class that is none',
      ONE('failure_modes: [{ name: x, detect: y, class: logical }]'),
      [
        "4:50 unknown value \"logical\" for 'class' (did you mean 'logic'? known: transient, logic, policy, resource, cancelled, unknown)",
      ],
    ],
    [
      'a timebox of no time',
      ONE('timebox: 0s'),
      ["4:14 a duration of '0s' would end at once (write 1ms or more, or leave the key out)"],
    ],
    [
      'a postcondition that cannot be read',
      ONE('postconditions: [{ expect: "exit ==" }]'),
      [expect.stringMatching(/^4:\d+ /)],
    ],
  ])('%s', (_, text, expected) => {
    expect(complaints(text)).toEqual(expected)
  })

  // Fed to every key: what the schema library says by itself is not for people.
  test('whatever stands at a key, the answer is in our words and says what to do', () => {
    const strange: readonly unknown[] = [null, true, -1, 1.5, 1e12, '', 'a b', 'x'.repeat(300), '0s', [], [null], [1]]
    const values = [...strange, [''], ['a b'], [[]], [{}], {}, { x: 1 }, { 'a b': 1 }]
    const raw = parse(TEXT) as Tree
    let fed = 0
    // Each place gets some of them, all of them on request.
    const step = process.env.PLANFOLD_RUNS === undefined ? 6 : 1
    for (const [at, path] of [...paths(raw)].entries()) {
      for (const value of values.filter((_, index) => (at + index) % step === 0)) {
        const result = parsePlan(JSON.stringify(replaced(raw, path, value)), { check: checkGraph })
        for (const { message, hint } of result.ok ? [] : result.diagnostics) {
          fed++
          const told = `${path.join('.')} = ${JSON.stringify(value)}: ${message}`
          expect(hint, told).toBeTypeOf('string')
          expect(told).not.toMatch(/Invalid|\bexpected|Unrecognized|Too (?:big|small)|pattern \//)
        }
      }
    }
    expect(fed).toBeGreaterThan(500)
  })
})

type Tree = { readonly [key: string | number]: unknown }

/** Every place of a document that is about judgement. */
function* paths(tree: unknown, above: readonly (string | number)[] = []): Generator<readonly (string | number)[]> {
  if (tree === null || typeof tree !== 'object') return
  const entries = Array.isArray(tree) ? [...tree.entries()] : Object.entries(tree)
  for (const [key, value] of entries) {
    yield [...above, key]
    yield* paths(value, [...above, key])
  }
}

function replaced(tree: unknown, [key, ...rest]: readonly (string | number)[], value: unknown): unknown {
  if (key === undefined) return value
  if (Array.isArray(tree)) return tree.with(Number(key), replaced(tree[Number(key)], rest, value))
  return { ...(tree as Tree), [key]: replaced((tree as Tree)[key], rest, value) }
}
