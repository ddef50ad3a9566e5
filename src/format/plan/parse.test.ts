import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { next, plainHint } from '../../domain/hint.ts'
import type { TaskName } from '../../domain/id.ts'
import { checkGraph } from '../../domain/plan-rules/graph-rules.ts'
import { printDiagnostic } from '../text/print-diagnostic.fixture.ts'
import { EXAMPLE } from './example.fixture.ts'
import { type ParseOptions, parsePlan, planNameFrom } from './parse.ts'

const parsed = (text: string, options: ParseOptions = { fallbackName: 'test' }) => {
  const result = parsePlan(text, options)
  if (!result.ok) throw new Error(result.diagnostics.map(diagnostic => printDiagnostic(diagnostic)).join('\n'))
  return result
}
const complaints = (text: string, options: ParseOptions = { fallbackName: 'test' }): readonly string[] => {
  const result = parsePlan(text, options)
  if (result.ok) throw new Error('the plan was accepted')
  return result.diagnostics.map(
    ({ line, column, message, hint }) => `${line}:${column} ${message} (${plainHint(hint ?? 'no hint')})`,
  )
}
const LABEL_HINT = 'use letters, digits and . _ - /, at most 64 characters; write several as a list: [linux, gpu]'
const task = (lines: string): string => `planfold: 1\ntasks:\n  - id: a\n${lines.replace(/^/gm, '    ')}\n`

describe('a document becomes a definition', () => {
  test('the example is lowered to canonical form', () => {
    expect(parsed(EXAMPLE).definition).toEqual({
      name: 'partial-retries',
      title: 'Add partial retries to the HTTP client',
      goal: 'A failed transfer resumes from the failed part instead of starting over',
      done: [
        { type: 'check', command: { script: 'npm test' } },
        { type: 'expect', expression: 'tasks.baseline.outputs.report.total >= 12' },
        { type: 'prose', text: 'No caller has to change' },
      ],
      policy: {
        write: ['src/**', 'test/**'],
        network: ['https://git.example.com'],
        budget: { timeMs: 1_800_000, cost: { amount: 2, currency: 'USD' }, attempts: 40 },
      },
      concurrency: 4,
      defaults: { timeoutMs: 300_000, retry: { attempts: 3, backoffMs: { min: 1000, max: 30_000 } } },
      tasks: [
        {
          id: 'baseline',
          title: 'Record what fails today',
          kind: 'validate',
          action: { type: 'run', command: { argv: ['npm', 'test'] } },
          network: [],
          expect: 'exit == 1',
          outputs: { report: { from: 'file', file: 'test/report.json' } },
        },
        {
          id: 'retry-core',
          kind: 'implement',
          action: {
            type: 'edit',
            edits: [{ type: 'replace', file: 'src/client.ts', find: 'attempt(url)', replace: 'attempt(url, part)' }],
          },
          needs: ['baseline'],
          write: ['src/client.ts'],
          accept: [{ type: 'check', command: { script: 'npx tsc --noEmit' } }],
        },
        {
          id: 'review',
          action: { type: 'gate', gate: 'approval', show: ['diff', 'cost'] },
          needs: ['retry-core'],
          on: { rejected: ['retry-core'] },
        },
        {
          id: 'push',
          action: {
            type: 'run',
            command: { argv: ['git', 'push', 'origin', "${{ tasks['retry-core'].outputs.branch }}"] },
          },
          needs: ['review'],
          effect: 'idempotent',
          compensate: { type: 'run', command: { argv: ['git', 'push', 'origin', '--delete', 'plan/partial-retries'] } },
        },
      ],
    })
  })

  test('YAML and JSON say the same', () => {
    const json = '{\n\t"planfold": 1,\n\t"name": "x",\n\t"tasks": [ { "id": "a", "run": ["ls"] } ]\n}'
    expect(parsed(json).definition).toEqual(parsed('planfold: 1\nname: x\ntasks: [{id: a, run: [ls]}]').definition)
  })

  test('sequential chains only the tasks that have no needs', () => {
    const { definition } = parsed(
      'planfold: 1\nsequential: true\ntasks: [{id: a}, {id: b}, {id: c, needs: []}, {id: d}]',
    )
    expect(definition.tasks.map(({ needs }) => needs)).toEqual([undefined, ['a'], [], ['c']])
    expect(definition).not.toHaveProperty('sequential')
  })

  test('a place is a label or a list of labels', () => {
    const placed = (place: string) => parsed(`planfold: 1\nplace: ${place}\ntasks: [{id: a}]`).definition.place
    expect(placed('linux')).toEqual(['linux'])
    expect(placed('[linux, eu/west_1.a-b, "1.5"]')).toEqual(['linux', 'eu/west_1.a-b', '1.5'])
    expect(placed('[]')).toEqual([])
    expect(parsed(task('labels: [gpu]\ncapabilities: [gpu]')).definition).not.toHaveProperty('place')
  })

  test('every kind of edit is understood, with modes in octal', () => {
    const edits = `edit:
  - {file: a, create: "x", mode: "0755"}
  - {file: a, create: "x", mode: 0o644}
  - {file: a, find: x, replace: "", all: true}
  - {file: a, patch: "@@"}
  - {file: a, move: b}
  - {file: a, delete: true, sha256: ${'AB'.repeat(32)}}
  - {file: a, chmod: "600"}`
    expect(parsed(task(edits)).definition.tasks[0]?.action).toEqual({
      type: 'edit',
      edits: [
        { type: 'create', file: 'a', content: 'x', mode: 0o755 },
        { type: 'create', file: 'a', content: 'x', mode: 0o644 },
        { type: 'replace', file: 'a', find: 'x', replace: '', all: true },
        { type: 'patch', file: 'a', diff: '@@' },
        { type: 'move', file: 'a', to: 'b' },
        { type: 'delete', file: 'a', sha256: 'ab'.repeat(32) },
        { type: 'chmod', file: 'a', mode: 0o600 },
      ],
    })
  })

  test('a plan without a name takes the fallback, or the name of its file', () => {
    const text = 'planfold: 1\ntasks: [{id: a}]'
    expect(parsed(text, { fallbackName: 'given' }).definition.name).toBe('given')
    expect(parsed(text, { fileName: '/x/Partial Retries.plan.yaml' }).definition.name).toBe('partial-retries')
    expect(complaints(text, {})).toEqual([
      "1:1 the plan has no name (add 'name:' with a short name, for instance name: partial-retries)",
    ])
    expect(planNameFrom('???.yaml')).toBeNull()
  })

  test('what this release does not carry out is kept, with a warning', () => {
    const { definition, warnings } = parsed(task('research: {topic: x}\nfor_each: [1, 2]'))
    expect(definition.tasks[0]).toEqual({
      id: 'a',
      action: { type: 'research', spec: { topic: 'x' } },
      forEach: { items: [1, 2] },
    })
    expect(warnings.map(({ severity, line, message }) => [severity, line, message])).toEqual([
      ['warning', 4, "'research' is checked, but this release does not carry it out"],
    ])
  })

  test('a request is kept as it is written, and is checked: where it goes, what it holds, where secrets stand', () => {
    const release =
      'http: { method: POST, url: "https://api.example.com/r", headers: { authorization: "Bearer ${{ secrets.API }}" }, json: { tag: v1 }, key: auto }\nsecrets: [API]\nexpect: status == 201'
    const { definition, warnings } = parsed(task(release))
    expect(definition.tasks[0]?.action).toMatchObject({ type: 'http', spec: { method: 'POST', key: 'auto' } })
    expect(warnings).toEqual([])
    const faults = (text: string) => complaints(task(text)).map(said => said.replace(/^\d+:\d+ /, ''))
    expect(faults('http: {url: "ftp://x"}')).toEqual(["'ftp://x' is not a web address (write https://host/path)"])
    expect(faults('http: "https://user:word@x/"')[0]).toContain('the address contains a user or a password')
    expect(faults('http: {url: "https://x", headers: {host: y}}')[0]).toContain(
      "the header 'host' is set by Planfold itself",
    )
    expect(faults('http: {url: "https://x", headers: {x: "a\\nb"}}')[0]).toContain(
      'a character that is not allowed in a header',
    )
    expect(faults('http: {url: "https://x", json: 1}')[0]).toContain("a GET request has no 'json'")
    expect(faults('http: {url: "https://x", method: POST, json: 1, body: x}')[0]).toContain('are both a body')
    expect(faults('http: {url: "https://x/${{ secrets.API }}"}\nsecrets: [API]')[0]).toContain(
      'a secret is not put in here',
    )
    expect(faults('run: [echo, "${{ secrets.API }}"]\nsecrets: [API]')[0]).toContain('a secret is not put in here')
    expect(faults('http: {url: "https://x", headers: {a: "${{ secrets.API }}"}}')[0]).toContain(
      "does not name the secret 'API'",
    )
    expect(
      faults('http: {url: "https://x", headers: {a: "${{ secrets.API + outputs.x }}"}}\nsecrets: [API]')[0],
    ).toContain('a secret must be alone in its braces')
    expect(faults('http: "https://x"\noutputs: { a: { file: a }, b: { file: b } }')[0]).toContain('goes into one file')
  })

  test('what a database is asked is kept as it is written, and is checked: one thing, and no value in its text', () => {
    const count = 'db: { url: "sqlite:app.db", query: "select count(*) as n from users where active = ?", values: [1] }'
    expect(parsed(task(count)).definition.tasks[0]?.action).toMatchObject({ type: 'db', spec: { values: [1] } })
    const faults = (text: string) => complaints(task(text)).map(said => said.replace(/^\d+:\d+ /, ''))
    expect(faults('db: {url: "postgres://x/y", query: select 1}')[0]).toContain(
      "'postgres://x/y' is not a database address",
    )
    expect(faults('db: {url: "sqlite:a.db"}')[0]).toContain("'db' says nothing to do")
    expect(faults('db: {url: "sqlite:a.db", query: select 1, execute: delete from x}')[0]).toContain('two things to do')
    expect(faults('db: {url: "sqlite:a.db", query: "select ${{ inputs.x }}"}')[0]).toContain(
      'a value is never put into a statement',
    )
    expect(faults('db: {url: "sqlite:a.db", migrate: a.sql, values: [1]}')[0]).toContain(
      "'values' belongs to one statement",
    )
  })

  test('a model task is kept as it is written, and is checked: its prompt, its name, the shape of its answer', () => {
    const { definition, warnings } = parsed(
      task('model: { use: local/llama3, answer: { severity: low | high } }\ninstruction: "How severe?"'),
    )
    expect(definition.tasks[0]).toEqual({
      id: 'a',
      action: { type: 'model', spec: { use: 'local/llama3', answer: { severity: 'low | high' } } },
      instruction: 'How severe?',
    })
    expect(warnings).toEqual([])
    expect(complaints(task('model: { use: llama3, answer: { severity: text } }'))).toEqual([
      "4:5 a 'model' task needs an 'instruction' (write what the model is asked under `instruction:`)",
      "4:19 'llama3' is not the name of a model (write PROVIDER/NAME, for instance local/llama3)",
      expect.stringContaining("'answer' is not valid: 'text' is not a type"),
    ])
  })

  test('a number in the environment is text, and one path alone is a scope', () => {
    const { definition } = parsed(
      task('run: [ls]\nenv: { PORT: 8080, DEBUG: true, NAME: x }\nwrite: src\nnetwork: example.com'),
    )
    expect(definition.tasks[0]).toMatchObject({
      env: { PORT: '8080', DEBUG: 'true', NAME: 'x' },
      // A file or a folder: nobody can see from its name which it is.
      write: ['src', 'src/**'],
      network: ['example.com'],
    })
    expect(parsed(task('run: [ls]\nwrite: src/*.ts')).definition.tasks[0]?.write).toEqual(['src/*.ts'])
    expect(parsed(task('run: [ls]\nwrite: dist/')).definition.tasks[0]?.write).toEqual(['dist/'])
    expect(complaints(task('run: [ls]\nenv: { VERSION: 1.10 }'))).toEqual([
      '5:21 the number 1.10 would be handed on as 1.1 (put it in quotes: "1.10")',
    ])
  })

  test('a network is a list, or says what becomes of any other address', () => {
    const read = (network: string) => parsed(task(`run: [ls]\nnetwork: ${network}`)).definition.tasks[0]?.network
    expect(read('{ allow: [a.example] }')).toEqual(['a.example'])
    expect(read('{ allow: a.example, unknown: deny }')).toEqual({ allow: ['a.example'], unknown: 'deny' })
    expect(read('{ unknown: ask }')).toEqual({ allow: [], unknown: 'ask' })
    expect(complaints(task('run: [ls]\nnetwork: [a.example, ftp://b.example]'))).toEqual([
      "5:26 'ftp://b.example': the scheme 'ftp' is not known here (write http, https or tcp)",
    ])
    expect(complaints(task('run: [ls]\nnetwork: { allow: ["user@b.example"], unknown: ask }'))).toEqual([
      "5:24 'user@b.example' names a user (leave out the part before the @)",
    ])
  })

  test('what people are advised to write earns no warning', () => {
    expect(parsed(EXAMPLE).warnings).toEqual([])
    expect(parsed(task('run: [ls]\nnetwork: []\nwrite: [out/**]\nbudget: { attempts: 3 }')).warnings).toEqual([])
  })
})

describe('what is wrong is told in place, with what to do', () => {
  test.each([
    [
      'unknown keys, with the word that was meant',
      'planfold: 1\ntitel: x\ntasks: [{id: a, depends_on: [b]}]',
      ["2:1 unknown key 'titel' (did you mean 'title'?)", "3:17 unknown key 'depends_on' (did you mean 'needs'?)"],
    ],
    [
      'two actions, by name',
      task('run: ls\nedit: {file: a, delete: true}'),
      ["5:5 a task has one action, this one has 'run' and 'edit' (keep one, or make two tasks)"],
    ],
    ['no version', 'tasks: [{id: a}]', ["1:1 'planfold' is missing (begin the document with 'planfold: 1')"]],
    [
      'another version',
      'planfold: 2\ntasks: [{id: a}]',
      ['1:11 version 2 of the format is not known (this release reads planfold: 1; a newer one may read more)'],
    ],
    [
      'a version in quotes',
      'planfold: "1"\ntasks: [{id: a}]',
      ['1:11 the version is written as text (write it without quotes: planfold: 1)'],
    ],
    ['no tasks', 'planfold: 1\ntasks: []', ["2:8 a plan needs at least one task (add '- id: …' to tasks)"]],
    [
      'a task without an id',
      'planfold: 1\ntasks: [{title: x}]',
      ['2:9 the task has no id (add a short name that is unique in the plan, for instance id: build)'],
    ],
    [
      'numbers in argv',
      task('run: [sleep, 5, yes, true]'),
      [
        '4:18 item 2 of \'run\' must be text, not 5 (put it in quotes: "5")',
        '4:26 item 4 of \'run\' must be text, not true (put it in quotes: "true")',
      ],
    ],
    [
      'text instead of a map or a list',
      task('compensate: rm x\noutputs: { o: file }\nlabels: a'),
      [
        "4:17 'compensate' must be a map, not text (for example: compensate: { run: rm out.txt })",
        "5:19 'o' must be 'stdout' or a map, not text (for example: o: { file: report.json })",
        "6:13 'labels' must be a list, not text (for example: labels: [a, b])",
      ],
    ],
    [
      'a duration without a unit',
      task('timeout: 5'),
      ["4:14 'timeout' has no unit: 5 (write a number and a unit: 5m)"],
    ],
    [
      'a duration of nothing',
      task('timeout: 0s'),
      ["4:14 a duration of '0s' would end at once (write 1ms or more, or leave the key out)"],
    ],
    [
      'a mode that is not octal',
      task('edit: {file: a, chmod: 755}'),
      ['4:28 the file mode 755 is not written in octal (put it in quotes: "755")'],
    ],
    [
      'an edit that says nothing',
      task('edit: {file: a}'),
      ["4:11 'edit' does not say what to do (give it one of create, find, replace, patch, move, delete, chmod)"],
    ],
    [
      'a misspelt key inside a form',
      task('edit: {file: a, find: x, replce: y}'),
      ["4:30 unknown key 'replce' (did you mean 'replace'?)"],
    ],
    [
      'stdin without run',
      task('stdin: x'),
      ["4:5 'stdin' only makes sense beside 'run' (add 'run:', or remove 'stdin:')"],
    ],
    [
      'a large call in another currency',
      task('budget: {large: 50 EUR}'),
      ['4:21 the amount is not in USD, and prices are known in USD (write the amount in USD: 2 USD)'],
    ],
    ['a key without a value', task('title:'), ["4:5 'title' has no value (give it a value, or remove the key)"]],
    [
      'an unknown effect',
      task('effect: pur'),
      [
        "4:13 unknown value \"pur\" for 'effect' (did you mean 'pure'? known: pure, workspace, idempotent, probed, model, unsafe)",
      ],
    ],
    [
      'a date that is none',
      task('deadline: 2026-02-30'),
      ['4:15 "2026-02-30" is not a date (write it like 2026-01-31 or 2026-01-31T12:00:00Z)'],
    ],
    [
      'a bad name of a variable',
      task('env: {"A-B": x}'),
      ["4:11 'A-B' cannot be a name here (use letters, digits and _; PLANFOLD_VALUE_… is taken)"],
    ],
    [
      'negative counts',
      task('retry: -1\nvisits: 0'),
      [
        "4:12 'retry' must be at least 1, not -1 (write 1 or more)",
        "5:13 'visits' must be at least 1, not 0 (write 1 or more)",
      ],
    ],
    [
      'absurd counts',
      'planfold: 1\nconcurrency: 1000000\ntasks: [{id: a}]',
      ["2:14 'concurrency' is more than the limit of 1000 (write at most 1000)"],
    ],
    [
      'labels of a worker that are none',
      'planfold: 1\nplace: [linux, a b, 3]\ntasks: [{id: a}]',
      [
        `2:16 "a b" cannot be a label of a worker (${LABEL_HINT})`,
        `2:21 item 3 of 'place' must be text, not 3 (put it in quotes: "3")`,
      ],
    ],
    [
      'several labels written as one',
      'planfold: 1\nplace: linux, gpu\ntasks: [{id: a}]',
      [`2:8 "linux, gpu" cannot be a label of a worker (${LABEL_HINT})`],
    ],
    [
      'a label that is too long',
      `planfold: 1\nplace: ${'x'.repeat(65)}\ntasks: [{id: a}]`,
      [`2:8 "${'x'.repeat(60)}…" cannot be a label of a worker (${LABEL_HINT})`],
    ],
    [
      'a label that is there twice',
      'planfold: 1\nplace: [linux, gpu, linux]\ntasks: [{id: a}]',
      ["2:21 the label 'linux' is there twice (list each label once)"],
    ],
    [
      'too many labels',
      `planfold: 1\nplace: [${Array.from({ length: 33 }, (_, at) => `l${at}`).join(', ')}]\ntasks: [{id: a}]`,
      ["2:8 'place' has 33 labels, more than 32 (list at most 32)"],
    ],
    [
      'a place of another type',
      'planfold: 1\nplace: { linux: true }\ntasks: [{id: a}]',
      ["2:8 'place' must be text or a list, not a map (for example: place: [linux, gpu])"],
    ],
    [
      'a place of a task, of a step, and of a task that a rule would add',
      task('place: gpu\nsubplan: [{ id: b, place: [gpu] }]\nrecover: [{ replan: { add: [{ id: c, place: gpu }] } }]'),
      ['4:5', '5:24', '6:42'].map(
        at =>
          `${at} a task cannot have a 'place': tasks cannot be placed one by one yet (put 'place:' on the plan, for all of its tasks)`,
      ),
    ],
  ])('%s', (_, text, expected) => {
    expect(complaints(text)).toEqual(expected)
  })

  test('an expression is told at the character that is wrong', () => {
    expect(complaints(task('when: exit = 0\nexpect: "exitt == 0"\nrun: [echo, "a ${{ tasks.zz.outputs }}"]'))).toEqual([
      '4:16 the expression cannot be read: unexpected character: = (write == to compare)',
      "5:14 'exitt' is not known in expressions (did you mean 'exit'?)",
      "6:30 there is no task 'zz' (name a task of this plan)",
    ])
  })

  test('a hyphenated task gets the bracket form as a hint', () => {
    expect(complaints('planfold: 1\ntasks: [{id: retry-core}, {id: b, when: tasks.retry-core.outputs.x > 1}]')).toEqual(
      ["2:41 'tasks.retry-core' is read as a subtraction (write tasks['retry-core'])"],
    )
  })

  test("another tool's templates get the way to write them literally", () => {
    const [first] = complaints(task('edit: {file: ci.yml, create: "ref: ${{ github.ref }}"}'))
    expect(first).toContain("write '$${{' for the characters themselves")
    expect(parsed(task('edit: {file: ci.yml, create: "ref: $${{ github.ref }}"}')).ok).toBe(true)
  })

  test('what is recorded can be put into titles, descriptions, instructions and questions', () => {
    const fine = task(
      'title: "On ${{ plan.name }}"\ndescription: "${{ inputs.x }}"\ninstruction: "see ${{ tasks.a.status }}"\ninputs: { x: 1 }',
    )
    expect(parsed(fine).definition.tasks[0]).toMatchObject({ title: 'On ${{ plan.name }}' })
    expect(parsed(task('gate: { type: question, question: "Is ${{ plan.name }} good?" }')).ok).toBe(true)
    expect(complaints(task('title: "On ${{ plan.nme }}"'))).toEqual([
      expect.stringContaining("the plan has no 'nme' in expressions (did you mean 'name'?"),
    ])
  })

  test('where nothing is put in, that is told', () => {
    const text = [
      'planfold: 1',
      'name: p',
      'goal: "${{ plan.name }}"',
      'extra: { of: "${{ others }}" }',
      'tasks:',
      '  - id: a',
      '    write: ["${{ inputs.x }}"]',
      '    when: ${{ 1 == 1 }}',
      '    rationale: "$${{ is fine }}"',
      '    accept: ["${{ plan.name }} is good", "as ${{ github.ref }} says"]',
      '',
    ].join('\n')
    expect(complaints(text)).toEqual([
      expect.stringMatching(/^3:8 nothing is put in for '\$\{\{ … \}\}' in 'goal' \(it works in a task's title, /),
      expect.stringMatching(/^7:14 nothing is put in for .* in 'write'/),
      "8:11 'when' is an expression already (leave out '${{' and '}}')",
      expect.stringMatching(/^10:15 nothing is put in for .* in 'accept'/),
    ])
  })

  test('a fault found by the domain is told at its task and key', () => {
    const check = () => [
      { message: 'needs itself', hint: 'remove it', task: 'b' as TaskName, key: 'needs' },
      { message: 'whole plan' },
    ]
    expect(
      complaints('planfold: 1\ntasks:\n  - id: a\n  - id: b\n    needs: [b]\n', { fallbackName: 'x', check }),
    ).toEqual(['1:1 whole plan (no hint)', '5:12 needs itself (remove it)'])
  })

  test('JSON is told about in the same places as YAML', () => {
    const json =
      '{\n  "planfold": 1,\n  "titel": "x",\n  "tasks": [\n    {"id": "a", "run": ["ls", 5], "when": "exitt == 1"},\n    {"id": "b" , "edit": [{"file": "x", "chmod": 755}]}\n  ]\n}'
    expect(complaints(json)).toEqual([
      "3:3 unknown key 'titel' (did you mean 'title'?)",
      '5:31 item 2 of \'run\' must be text, not 5 (put it in quotes: "5")',
      "5:44 'exitt' is not known in expressions (did you mean 'exit'?)",
      '6:50 the file mode 755 is not written in octal (put it in quotes: "755")',
    ])
    expect(complaints(json)).toEqual(
      complaints(`# not JSON any more\n${json}`).map(line =>
        line.replace(/^\d+/, number => String(Number(number) - 1)),
      ),
    )
  })

  test('one fault does not hide the others: every line that is wrong is told at once', () => {
    const text = [
      'planfold: 1',
      'name: many',
      'tasks:',
      '  - id: a',
      '    run: [ls]',
      '    run: [pwd]',
      '    timeout: 5',
      '  - id: b',
      '    titel: x',
      '    needs:',
      '      - a',
      '      - gone',
      '    when: tasks.a.output.x == 1',
      '  - id: c',
      '    needs: [b]',
      '    on: { failure: nowhere }',
      '    run: echo ${{ tasks.elsewhere.outputs.x }}',
      '',
    ].join('\n')
    expect(complaints(text, { check: checkGraph })).toEqual([
      "6:5 the key 'run' is there twice (remove one of the two)",
      "7:14 'timeout' has no unit: 5 (write a number and a unit: 5m)",
      "9:5 unknown key 'titel' (did you mean 'title'?)",
      "12:9 task 'b' needs 'gone', which does not exist (name a task of this plan)",
      "13:18 a task has no 'output' in expressions (did you mean 'outputs'?)",
      "16:20 task 'c' routes to 'nowhere', which does not exist (name a task of this plan)",
      "17:25 there is no task 'elsewhere' (name a task of this plan)",
    ])
  })

  test('what may only seem wrong because a part cannot be read is not told', () => {
    // The task has lost its name: whoever needs it may be right.
    expect(
      complaints('planfold: 1\nname: x\ntasks:\n  - name: build\n  - id: b\n    needs: [build]\n', {
        check: checkGraph,
      }),
    ).toEqual(["4:5 unknown key 'name' (did you mean 'id'?)"])
    // The second list of tasks is not read: its names are not known.
    expect(
      complaints('planfold: 1\nname: x\ntasks:\n  - { id: a, needs: [b] }\ntasks:\n  - { id: b }\n', {
        check: checkGraph,
      }),
    ).toEqual(["5:1 the key 'tasks' is there twice (remove one of the two)"])
  })

  test('not more is told than anyone reads', () => {
    const many = Array.from({ length: 150 }, (_, index) => `{id: t${index}, nonsense: 1}`).join(', ')
    expect(complaints(`planfold: 1\ntasks: [${many}]`)).toHaveLength(100)
  })
})

test('whatever the text, the answer is a value', () => {
  const words = [
    'planfold: 1\n',
    'tasks:\n',
    '  - id: a\n',
    '    run: ',
    '[',
    ']',
    '{',
    '}',
    ': ',
    '- ',
    '&a ',
    '*a',
    '!!x ',
    '\t',
    '"',
    "'",
    '|',
    '>',
    '#',
    '\n',
    '${{',
    '}}',
    '%',
    '---\n',
    '\0',
    '\uFEFF',
    '<<: ',
    '? ',
    '1e999',
    '🙂',
  ]
  const soup = fc
    .array(fc.oneof(fc.constantFrom(...words), fc.string({ unit: 'binary', maxLength: 5 })), { maxLength: 25 })
    .map(parts => parts.join(''))
  const json = fc.json().map(text => text.replaceAll('"a"', '"tasks"'))
  const cut = fc
    .tuple(fc.nat(EXAMPLE.length), fc.nat(EXAMPLE.length), soup)
    .map(([from, to, middle]) => EXAMPLE.slice(0, from) + middle + EXAMPLE.slice(to))
  fc.assert(
    fc.property(fc.oneof(soup, json, cut), text => {
      const result = parsePlan(text, { fallbackName: 'x' })
      if (result.ok) return true
      return result.diagnostics.length > 0 && result.diagnostics.every(({ line, column }) => line >= 1 && column >= 1)
    }),
    { numRuns: 250 },
  )
})

test('a fault inside a subplan or a matrix is told at the place it is written', () => {
  const text = `planfold: 1
name: p
tasks:
  - id: m
    matrix: { os: [linux, mac] }
    subplan:
      - { id: a, run: [a] }
      - id: b
        run: [b]
        needs: [c]
  - id: g
    subplan:
      - { id: x, run: [x], needs: [y] }
      - { id: y, run: [y], needs: [x] }
`
  const result = parsePlan(text, { check: checkGraph })
  expect(result.ok || result.diagnostics.map(({ line, message }) => [line, message])).toEqual([
    [10, "task 'm/1/b' needs 'c', which does not exist beside it"],
    [14, 'dependency cycle: g/y → g/x → g/y'],
  ])
})

test('faults of two tasks with one name are told where each is written', () => {
  const text = `planfold: 1
name: p
tasks:
  - { id: a, run: [a] }
  - id: b
    run: [b]
    needs: [c]
  - id: b
    run: [b]
    needs: [a]
`
  const result = parsePlan(text, { check: checkGraph })
  expect(result.ok || result.diagnostics.map(({ line, message }) => [line, message])).toEqual([
    [7, "task 'b' needs 'c', which does not exist"],
    [8, "two tasks are called 'b'"],
  ])
})

test('a template is told to be one', () => {
  const parsed = parsePlan('planfold-template: 2\nname: x\nplan: {}\n')
  expect(parsed.ok ? [] : parsed.diagnostics).toMatchObject([
    {
      line: 1,
      column: 1,
      message: 'this is a template, not a plan',
      hint: expect.arrayContaining([next('new-from-template')]),
    },
  ])
})
